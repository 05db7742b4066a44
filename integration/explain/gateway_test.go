package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// caddyfile is the configuration of these tests. Its logs are routed as the
// README shows.
const caddyfile = `{
	admin unix/{$ADMIN}
	auto_https off
	persist_config off
	grace_period 1s
	log {
		output {$GATEWAY_LOG}
		level DEBUG
		exclude http.log.access http.handlers.mcp_app.audit
	}
	log audit {
		output file {$AUDIT_LOG}
		include http.handlers.mcp_app.audit
	}
}
http://*.localhost:{$GATEWAY_PORT} {
	bind 127.0.0.1
	log {
		output file {$ACCESS_LOG}
	}
	mcp_app /mcp {$WORKSPACE} {
		resource http://{http.request.host.labels.1}.localhost:{$GATEWAY_PORT}/mcp
		auth {
			issuer {$ISSUER} {
				jwks_url {$ISSUER}/keys
			}
			scopes mcp.use
		}
		tenant {
			claim org_id
			require {http.request.host.labels.1}
			allow acme globex
			header X-Tenant
			members file {$MEMBERS}
		}
		policy {
			roles_claim roles
			tool workspace.*
			tool workspace.tray {
				when ` + "`principal.subject.startsWith(\"erin\")`" + `
			}
			tool list_decks
			tool create_deck {
				scopes decks.write
				on_missing_scope challenge
			}
			tool settings.* {
				scopes settings.write
			}
			tool admin.* {
				roles admin
			}
			tool gone.*
			validate_arguments
		}
		openai {
			entrypoint workspace.home global
			settings settings.read settings.update
		}
		rate_limit 2 1h per principal tools workspace.navigate
		audit {
			allow all
			arguments create_deck title
			argument_bytes 64
		}
	}
}
`

const members = `{"members":[
	{"issuer":"ISSUER","subject":"erin@acme","tenant":"acme"},
	{"issuer":"ISSUER","subject":"victor@acme","tenant":"acme"},
	{"issuer":"ISSUER","subject":"rita@acme","tenant":"acme"},
	{"issuer":"ISSUER","subject":"nina@acme","tenant":"acme","scopes":["mcp.use"]},
	{"issuer":"ISSUER","subject":"erin@globex","tenant":"globex"}
]}`

type gateway struct {
	*stack.Stack
	dir           string
	client, admin *http.Client
}

// start runs the stack with a Caddyfile, in which texts may be replaced.
func start(t *testing.T, oldnew ...string) *gateway {
	t.Helper()
	g := &gateway{dir: t.TempDir()}
	// A socket's path must be short.
	sockets, err := os.MkdirTemp("", "x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	socket := filepath.Join(sockets, "a.sock")
	for name, value := range map[string]string{
		"ADMIN": socket, "AUDIT_LOG": g.file("audit.log"), "ACCESS_LOG": g.file("access.log"), "MEMBERS": g.file("members.json"),
	} {
		t.Setenv(name, value)
	}
	g.write(t, "members.json", `{"members":[]}`)
	if g.Stack, err = stack.Start(t.Context(), stack.Config{Caddyfile: text(oldnew...)}); err != nil {
		t.Fatal(err)
	}
	g.write(t, "members.json", strings.ReplaceAll(members, "ISSUER", g.Issuer.URL))
	transport := g.Transport()
	g.client = &http.Client{Transport: transport}
	adminTransport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	g.admin = &http.Client{Transport: adminTransport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		adminTransport.CloseIdleConnections()
		if err := g.Close(); err != nil {
			t.Errorf("closing the stack: %v", err)
		}
	})
	g.awaitMembers(t)
	return g
}

func text(oldnew ...string) []byte { return []byte(strings.NewReplacer(oldnew...).Replace(caddyfile)) }

func (g *gateway) file(name string) string { return filepath.Join(g.dir, name) }

func (g *gateway) write(t *testing.T, name, content string) {
	t.Helper()
	temporary := g.file(name) + ".new"
	if err := os.WriteFile(temporary, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, g.file(name)); err != nil {
		t.Fatal(err)
	}
}

// awaitMembers waits until the members, whose issuer was not known before the
// start, are read.
func (g *gateway) awaitMembers(t *testing.T) {
	t.Helper()
	token := g.token(t, "erin@acme", "acme", "mcp.use")
	for range 100 {
		if status, _, _ := g.call(t, "acme", token, "tools/list", "", nil, http.Header{"X-Org": {"acme"}}); status != http.StatusForbidden {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the members were never read")
}

func (g *gateway) token(t *testing.T, subject, tenant string, scopes ...string) string {
	t.Helper()
	return g.issue(t, issuer.Grant{Subject: subject, Audience: []string{g.URL(tenant)}, Scopes: scopes, Claims: map[string]any{"org_id": tenant}})
}

func (g *gateway) issue(t *testing.T, grant issuer.Grant) string {
	t.Helper()
	token, err := g.Issuer.Issue(grant)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

const modern = "2026-07-28"

// call sends one message of the modern era.
func (g *gateway) call(t *testing.T, tenant, token, method, name string, params map[string]any, header http.Header) (int, http.Header, string) {
	t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	all := http.Header{"Mcp-Protocol-Version": {modern}, "Mcp-Method": {method}}
	if name != "" {
		all.Set("Mcp-Name", name)
	}
	maps.Copy(all, header)
	return g.post(t, tenant, token, method, params, all)
}

// legacy sends one message of the legacy era, outside a session.
func (g *gateway) legacy(t *testing.T, tenant, token, method string, params map[string]any) (int, http.Header, string) {
	t.Helper()
	return g.post(t, tenant, token, method, params, http.Header{"Mcp-Protocol-Version": {"2025-06-18"}})
}

func (g *gateway) post(t *testing.T, tenant, token, method string, params map[string]any, header http.Header) (int, http.Header, string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL(tenant), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := g.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(answer)
}

// tool calls a tool.
func (g *gateway) tool(t *testing.T, tenant, token, name string, arguments map[string]any, header http.Header) (int, http.Header, string) {
	t.Helper()
	return g.call(t, tenant, token, "tools/call", name, map[string]any{"name": name, "arguments": arguments}, header)
}

// ask sends a request to the admin endpoint and decodes the answer.
func (g *gateway) ask(t *testing.T, method, path string, body, into any) int {
	t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://admin"+path, bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := g.admin.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
	return resp.StatusCode
}

// lines reads a log of JSON lines that may still be written.
func (g *gateway) lines(t *testing.T, name string) []map[string]any {
	t.Helper()
	content, err := os.ReadFile(g.file(name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var lines []map[string]any
	for line := range strings.Lines(string(content)) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%s: %v in %q", name, err, line)
		}
		lines = append(lines, entry)
	}
	return lines
}
