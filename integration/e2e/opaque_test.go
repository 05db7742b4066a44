package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// introspecting is an auth block for tokens that say nothing by themselves.
func introspecting(lines string) string {
	return `auth {
	introspect {$ISSUER}/introspect {
		client_id gateway
		client_secret {env.E2E_CLIENT_SECRET}
		issuer {$ISSUER}
		` + lines + `
	}
	scopes mcp.use
}
`
}

// startOpaque runs an endpoint that asks about tokens, before a server that
// answers everything.
func startOpaque(t *testing.T, lines string) (*gateway, *recorder) {
	t.Helper()
	t.Setenv("E2E_CLIENT_SECRET", "correct horse")
	server := pong()
	g := startBefore(t, server, "mcp_app /mcp {$WORKSPACE} {\n"+resource+introspecting(lines)+tenants+allTools+"}\n")
	g.Issuer.Register("gateway", "correct horse")
	return g, server
}

// opaque is a caller with a token that only introspection understands.
func (g *gateway) opaque(t *testing.T, p person) (*caller, string) {
	t.Helper()
	token, err := g.Issuer.IssueOpaque(g.grant(p))
	if err != nil {
		t.Fatal(err)
	}
	return &caller{g.client, g.URL(p.tenant), legacy, http.Header{"Authorization": {"Bearer " + token}}}, token
}

const pingMessage = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

func TestAnOpaqueTokenIsThatOfTheSameCaller(t *testing.T) {
	g, server := startOpaque(t, "")
	c, token := g.opaque(t, viewer("acme"))
	wantStatus(t, "a good token", c.post(t, pingMessage, nil), http.StatusOK)
	seen := server.seen()
	if len(seen) != 1 {
		t.Fatalf("the server saw %d requests", len(seen))
	}
	for name, want := range map[string]string{"Issuer": g.Issuer.URL, "Subject": "victor@acme", "Tenant": "acme", "Scopes": "mcp.use"} {
		if got := seen[0].header.Get("X-Mcp-App-" + name); got != want {
			t.Errorf("the server is told %s %q, want %q", name, got, want)
		}
	}
	if got := seen[0].header.Get("Authorization"); got != "" {
		t.Error("the server was shown the token")
	}
	elsewhere, _ := g.opaque(t, viewer("globex"))
	elsewhere.url = g.URL("acme")
	wantStatus(t, "a token for the other tenant's URL", elsewhere.post(t, pingMessage, nil), http.StatusUnauthorized)
	poor, _ := g.opaque(t, person{"zoe@acme", "acme", nil})
	a := poor.post(t, pingMessage, nil)
	wantStatus(t, "a token without scopes", a, http.StatusForbidden)
	if params := challengeOf(t, a); params["error"] != "insufficient_scope" || params["scope"] != "mcp.use" {
		t.Errorf("challenge %v", params)
	}
	invented := &caller{g.client, g.URL("acme"), legacy, http.Header{"Authorization": {"Bearer opaque_invented"}}}
	a = invented.post(t, pingMessage, nil)
	wantStatus(t, "an invented token", a, http.StatusUnauthorized)
	if params := challengeOf(t, a); params["error"] != "invalid_token" || params["resource_metadata"] != g.document("acme", "/mcp") {
		t.Errorf("challenge %v", params)
	}
	if log := g.log(t); strings.Contains(log, token) || strings.Contains(log, "correct horse") {
		t.Error("the log holds a token or the secret")
	}
}

// The issuer is not asked about every message, and a token revoked there works
// for no longer than the cache says.
func TestIntrospectionIsCachedAndRevocationsThereAreFound(t *testing.T) {
	g, _ := startOpaque(t, "cache_ttl 1s")
	c, token := g.opaque(t, viewer("acme"))
	for range 20 {
		wantStatus(t, "a good token", c.post(t, pingMessage, nil), http.StatusOK)
	}
	if got := g.Issuer.Fetches(issuer.Introspection); got > 5 {
		t.Errorf("the issuer was asked %d times for 20 messages", got)
	}
	g.Issuer.Revoke(token)
	eventually(t, "the revoked token is refused", func() bool { return c.post(t, pingMessage, nil).status == http.StatusUnauthorized })
}

func TestEveryMessageIsAskedAboutWithoutACache(t *testing.T) {
	g, _ := startOpaque(t, "cache_ttl 0s")
	c, token := g.opaque(t, viewer("acme"))
	for range 3 {
		wantStatus(t, "a good token", c.post(t, pingMessage, nil), http.StatusOK)
	}
	if got := g.Issuer.Fetches(issuer.Introspection); got != 3 {
		t.Errorf("the issuer was asked %d times for 3 messages", got)
	}
	g.Issuer.Revoke(token)
	wantStatus(t, "the next message", c.post(t, pingMessage, nil), http.StatusUnauthorized)
}

// Nobody is told that a good token is bad while nobody can know.
func TestAnIntrospectionOutageIsNobodysFault(t *testing.T) {
	for _, fault := range []issuer.Fault{issuer.Down, issuer.BrokenJSON, issuer.Throttled, issuer.Endless, issuer.NotFound, issuer.Moved} {
		t.Run(string(fault), func(t *testing.T) {
			g, server := startOpaque(t, "timeout 2s")
			known, _ := g.opaque(t, editor("acme"))
			wantStatus(t, "before the outage", known.post(t, pingMessage, nil), http.StatusOK)
			server.forget()
			g.Issuer.SetFault(issuer.Introspection, fault)
			c, _ := g.opaque(t, viewer("acme"))
			a := c.post(t, pingMessage, nil)
			wantStatus(t, "during the outage", a, http.StatusServiceUnavailable)
			if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 {
				t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
			}
			if got := a.header.Get("WWW-Authenticate"); got != "" {
				t.Errorf("the client is sent to log in again: %q", got)
			}
			if got := server.seen(); len(got) != 0 {
				t.Errorf("%d requests reached the server", len(got))
			}
			wantStatus(t, "a token that was asked about before", known.post(t, pingMessage, nil), http.StatusOK)
			g.Issuer.SetFault(issuer.Introspection, issuer.None)
			eventually(t, "the token is accepted", func() bool { return c.post(t, pingMessage, nil).status == http.StatusOK })
		})
	}
}

// A gateway with the wrong secret locks its callers out, but says whose fault
// that is.
func TestAWrongClientSecretIsTheOperatorsFault(t *testing.T) {
	g, _ := startOpaque(t, "")
	g.Issuer.Register("gateway", "another secret")
	c, _ := g.opaque(t, viewer("acme"))
	wantStatus(t, "a good token", c.post(t, pingMessage, nil), http.StatusServiceUnavailable)
	if log := g.log(t); !strings.Contains(log, "cannot judge tokens") || strings.Contains(log, "correct horse") {
		t.Errorf("the log: %s", log)
	}
}
