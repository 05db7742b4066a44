package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// gateway is everything that runs for one test, and a plain client for it.
type gateway struct {
	*stack.Stack
	client *http.Client
}

// start runs a stack until the test ends. Caddy is one per process, so tests of
// this package never run in parallel.
func start(t *testing.T, c stack.Config) *gateway {
	t.Helper()
	s, err := stack.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	transport := s.Transport()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Errorf("closing the stack: %v", err)
		}
	})
	return &gateway{s, &http.Client{Transport: transport}}
}

// quiet is the example without settings, for tests that count what reaches the
// server: the gateway then has no question of its own to ask.
func quiet(t *testing.T) []byte {
	t.Helper()
	return example(t, "			settings settings.read settings.update\n", "")
}

// exampleConfig is the example file before the sample server as it comes.
func exampleConfig(t *testing.T) stack.Config {
	t.Helper()
	return stackFor(example(t))
}

// stackFor is a Caddyfile before the sample server as it comes.
func stackFor(caddyfile []byte) stack.Config { return stack.Config{Caddyfile: caddyfile} }

// stackWith is a Caddyfile before a handler that plays the server.
func stackWith(caddyfile []byte, upstream http.Handler) stack.Config {
	return stack.Config{Caddyfile: caddyfile, Upstream: upstream}
}

// startBefore runs the gateway with a site body before a handler that plays the
// server.
func startBefore(t *testing.T, upstream http.Handler, body string) *gateway {
	t.Helper()
	return start(t, stackWith(site(body), upstream))
}

// example returns Caddyfile.example with texts replaced, in pairs of old and
// new; an old text that is not there fails the test.
func example(t *testing.T, oldnew ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "Caddyfile.example"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(text, oldnew[i]) {
			t.Fatalf("Caddyfile.example does not contain %q", oldnew[i])
		}
		text = strings.ReplaceAll(text, oldnew[i], oldnew[i+1])
	}
	return []byte(text)
}

// site returns a Caddyfile whose one site, for all tenants, has the given body.
func site(body string) []byte { return siteAt("http://*.localhost:{$GATEWAY_PORT}", body) }

// siteAt is site at another address.
func siteAt(address, body string) []byte {
	return []byte(`{
	admin off
	auto_https off
	persist_config off
	grace_period 1s
	log {
		output {$GATEWAY_LOG:stderr}
		level INFO
	}
}

` + address + ` {
	bind 127.0.0.1
` + body + `
}
`)
}

// Parts of Caddyfiles that most tests share.
const (
	resource = `resource http://{http.request.host.labels.1}.localhost:{$GATEWAY_PORT}/mcp
`
	auth = `auth {
	issuer {$ISSUER} {
		jwks_url {$ISSUER}/keys
	}
	scopes mcp.use
}
`
	tenants = `tenant {
	claim org_id
	require {http.request.host.labels.1}
	allow acme globex
}
`
	// secured is all of them.
	secured = resource + auth + tenants
)

// endpoint is a mcp_app directive before {$WORKSPACE} that lets every tool
// through, with more lines in its block.
func endpoint(more string) string {
	return "mcp_app /mcp {$WORKSPACE} {\n" + secured + more + "\n}\n"
}

// allTools is the policy of tests that are not about the policy.
const allTools = "policy {\n\ttool *\n\tprompt *\n\tresource *\n\ttemplate *\n}\n"

// person is somebody with an account at the issuer.
type person struct {
	subject, tenant string
	scopes          []string
}

func editor(tenant string) person {
	return person{"erin@" + tenant, tenant, []string{"mcp.use", "decks.write", "settings.write"}}
}

func viewer(tenant string) person {
	return person{"victor@" + tenant, tenant, []string{"mcp.use"}}
}

// grant is what the issuer would sign for a person's client, for the endpoint
// of the person's own tenant.
func (g *gateway) grant(p person) issuer.Grant {
	return issuer.Grant{
		Subject: p.subject, Audience: []string{g.URL(p.tenant)}, Scopes: p.scopes,
		Claims: map[string]any{"org_id": p.tenant},
	}
}

// issue signs a grant.
func (g *gateway) issue(t *testing.T, grant issuer.Grant) string {
	t.Helper()
	token, err := g.Issuer.Issue(grant)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (g *gateway) token(t *testing.T, p person) string {
	t.Helper()
	return g.issue(t, g.grant(p))
}

// log returns what the gateway has logged so far.
func (g *gateway) log(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(g.LogFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}
