package caddymodule

import (
	"strings"
	"testing"
)

// Blocks that load, to be spoiled.
const (
	strictAuth = "resource https://gw.example/mcp\nauth {\nissuer https://id.example\n}\n"
	showAll    = "policy {\ntool *\n}\n"
	hostLabel  = "{http.request.host.labels.2}"
)

// refused are blocks that would be insecure or useless, and what to write
// instead.
var refused = []struct{ name, lines, want string }{
	{"no issuer", "resource https://gw.example/mcp\n" + showAll, "auth: an endpoint with tokens needs an issuer; write auth { issuer https://… }, or auth { mode none }"},
	{"two ways to the issuer's metadata", strings.Replace(strictAuth, "auth {\n", "auth {\nmetadata_redirect\nmetadata_proxy\n", 1) + showAll, "auth: metadata_redirect and metadata_proxy exclude each other: keep one"},
	{"no resource", "auth {\nissuer https://id.example\n}\n" + showAll, "resource: an endpoint with tokens needs its public URL; write resource https://your.host/mcp"},
	{"no policy", strictAuth, "policy: no rules and default deny show nothing to anybody; write policy { tool * } to show all tools"},
	{"empty policy", strictAuth + "policy {\n}\n", "write policy { tool * }"},
	{"tenants without tokens", "auth {\nmode none\n}\ntenant {\nclaim org\n}\n" + showAll, "tenant: without tokens nobody's tenant is known; remove auth { mode none } or the tenant block"},
	{"tenant without a claim", strictAuth + "tenant {\nallow acme\n}\n" + showAll, "tenant: name the claim that holds the tenant; write tenant { claim org_id }"},
	{"everything for every tenant", strictAuth + "tenant {\nclaim org\n}\npolicy {\ndefault allow\n}\n", "policy: default allow beside a tenant block shows every tool a server update adds to every tenant; name the tools, or write tool *"},
	{"tenant from a cookie", strictAuth + "tenant {\nclaim org\nrequire {http.request.cookie.tenant}\n}\n" + showAll, "tenant: require must not be something every client can write"},
	{"tenant from the query", strictAuth + "tenant {\nclaim org\nrequire {http.request.uri.query.tenant}\n}\n" + showAll, "tenant: require must not be something every client can write"},
	{"rule for tenants without tenants", strictAuth + "policy {\ntool x {\ntenants acme\n}\n}\n", "policy: tool x names tenants, but there is no tenant block"},
	{"rule for a tenant not served", strictAuth + "tenant {\nclaim org\nallow acme\n}\npolicy {\ntool x {\ntenants globex\n}\n}\n", `policy: tool x names tenant "globex", which tenant { allow } does not list`},
	{
		"resource of a tenant that anybody may invent", "resource https://" + hostLabel + ".example.com/mcp\nauth {\nissuer https://id.example\n}\ntenant {\nclaim org\nrequire " + hostLabel + "\n}\n" + showAll,
		"list the tenants with tenant { allow … }, so that no Host header can invent one",
	},
	{"audience of such a tenant", strictAuth[:len(strictAuth)-2] + "audience " + hostLabel + "\n}\ntenant {\nclaim org\nrequire " + hostLabel + "\n}\n" + showAll, "list the tenants with tenant { allow … }"},
	{"resource with another placeholder", "resource https://{http.request.host}/mcp\nauth {\nissuer https://id.example\n}\n" + showAll, "the only placeholder allowed here is that of tenant.require"},
	{"resource with a fragment", "resource https://gw.example/mcp#x\nauth {\nissuer https://id.example\n}\n" + showAll, "resource: "},
	{"resource that is no URL", "resource gw.example/mcp\nauth {\nissuer https://id.example\n}\n" + showAll, "resource: "},
	{"issuer over plain http", "resource https://gw.example/mcp\nauth {\nissuer http://id.example\n}\n" + showAll, "http://id.example"},
	{"keys over plain http", "resource https://gw.example/mcp\nauth {\nissuer https://id.example {\njwks_url http://id.example/keys\n}\n}\n" + showAll, "http://id.example/keys"},
	{"the same issuer twice", "resource https://gw.example/mcp\nauth {\nissuer https://id.example\nissuer https://id.example\n}\n" + showAll, "https://id.example"},
	{"origin with a path", open + "origins https://chatgpt.com/", `origins: "https://chatgpt.com/" is not an origin; write scheme and host only, such as https://chatgpt.com`},
	{"any origin", open + "origins *", `origins: "*" is not an origin`},
	{"origin null", open + "origins null", `origins: "null" is not an origin`},
	{"origin without a scheme", open + "origins chatgpt.com", `origins: "chatgpt.com" is not an origin`},
	{"bad key", open + "seal_keys not-base64", "key 2 is not the base64 of 32 bytes; make one with: openssl rand -base64 32"},
	{"short key", open + "seal_keys AAAA", "key 2 is not the base64 of 32 bytes"},
	{"key from nowhere", open + "seal_keys {env.MCP_APP_NO_SUCH_VARIABLE}", "MCP_APP_NO_SUCH_VARIABLE"},
	{"an empty method", open + `methods ""`, "methods: "},
}

func TestDangerousAndUselessCombinationsAreRefused(t *testing.T) {
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.lines)
			if err == nil {
				t.Fatalf("accepted, want %q", tt.want)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %q, want it to say %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "not-base64") {
				t.Error("the error shows a key")
			}
		})
	}
}

// All mistakes of a block are named at once.
func TestAllProblemsAreNamedTogether(t *testing.T) {
	_, err := load(t, "tenant {\nallow acme\n}\norigins *")
	for _, want := range []string{"auth: ", "resource: ", "tenant: ", "policy: ", "origins: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want it to name %q", err, want)
		}
	}
}

// The same combinations in JSON, where no Caddyfile stands before.
func TestJSONIsHeldToTheSameRules(t *testing.T) {
	for name, m := range map[string]*Handler{
		"no path":      {Auth: &Auth{Mode: modeNone}},
		"path no path": {Path: "mcp", Auth: &Auth{Mode: modeNone}},
		"unknown mode": {Path: "/mcp", Auth: &Auth{Mode: "lax"}},
		"nothing":      {},
	} {
		ctx := newConfiguration(t, t.TempDir()).Context
		if err := m.Provision(ctx); err == nil {
			t.Errorf("%s: accepted", name)
		}
		// Caddy cleans up after a failed Provision as well.
		if err := m.Cleanup(); err != nil {
			t.Errorf("%s: cleaning up: %v", name, err)
		}
	}
}

func TestWhatIsUnusualButRightIsAccepted(t *testing.T) {
	for name, lines := range map[string]string{
		"loopback issuer":        "resource http://127.0.0.1:8080/mcp\nauth {\nissuer http://127.0.0.1:9000\n}\n" + showAll,
		"everything, no tenants": strictAuth + "policy {\ndefault allow\n}\n",
		"tenant without a route": strictAuth + "tenant {\nclaim org.id\n}\n" + showAll,
		"literal tenant":         strictAuth + "tenant {\nclaim org\nrequire acme\n}\n" + showAll,
		"tenant from a header":   strictAuth + "tenant {\nclaim org\nrequire {http.request.header.X-Tenant}\n}\n" + showAll,
		"resource is the host":   "resource https://gw.example\nauth {\nissuer https://id.example\n}\n" + showAll,
		"no leeway":              strictAuth[:len(strictAuth)-2] + "leeway 0s\n}\n" + showAll,
		"only a prompt":          strictAuth + "policy {\nprompt help\n}\n",
	} {
		if _, err := load(t, lines); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Provision asks nobody: an issuer that is down keeps no configuration from
// loading, and a cleaned up handler can be cleaned up again.
func TestLoadingNeedsNoIssuer(t *testing.T) {
	m := mustLoad(t, "resource http://127.0.0.1:1/mcp\nauth {\nissuer http://127.0.0.1:1\n}\n"+showAll)
	for range 2 {
		if err := m.Cleanup(); err != nil {
			t.Error(err)
		}
	}
}
