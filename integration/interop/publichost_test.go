package interop

import (
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/node"
)

const (
	publicHost = "mcp.example.com"
	page       = "https://chatgpt.com" // a browser page that may use the endpoint
)

// TestPublicHost stands with a public name before servers that listen on
// loopback and refuse every Host and Origin but their own, as the SDKs have
// them do against DNS rebinding. They stay as they come.
func TestPublicHost(t *testing.T) {
	sessionless := notes
	sessionless.Updated = ""
	withSessions := notes
	withSessions.Resume, withSessions.want.AfterClose = true, 404
	servers := []struct {
		name   string
		start  func(t *testing.T) upstream
		legacy plan
	}{
		{"Go", func(t *testing.T) upstream { return upstream{handler: goServer(t)} }, withSessions},
		{"TypeScript", func(t *testing.T) upstream { return upstream{address: startDualServer(t, node.Require(t))} }, sessionless},
	}
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			g := start(t, server.start(t), setup{
				resource: "http://" + publicHost + "/mcp",
				policy:   notesPolicy,
				more:     "hosts " + publicHost + "\n\t\torigins " + page,
			})
			t.Run("the server refuses it", func(t *testing.T) {
				status, _ := initialize(t, http.DefaultTransport, "http://"+g.upstream+"/mcp", func(r *http.Request) { r.Host = publicHost })
				if status != http.StatusForbidden {
					t.Errorf("asked for %s without the gateway, the server says %d, want 403", publicHost, status)
				}
			})
			for revision, p := range map[string]plan{legacy: server.legacy, modern: notes} {
				t.Run(revision, func(t *testing.T) {
					p := p.in(revision)
					p.check(t, walk(t, g.wire(t), g.url, revision, p))
				})
			}
			t.Run("an allowed page", func(t *testing.T) {
				status, header := initialize(t, g.wire(t), g.url, func(r *http.Request) { r.Header.Set("Origin", page) })
				if status != http.StatusOK || header.Get("Access-Control-Allow-Origin") != page {
					t.Errorf("got %d with Access-Control-Allow-Origin %q, want 200 with %q", status, header.Values("Access-Control-Allow-Origin"), page)
				}
			})
			for what, forge := range map[string]func(r *http.Request){
				"another page": func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
				// Safe to the server, but not what this endpoint is called.
				"another name": func(r *http.Request) { r.Host = "localhost" },
			} {
				t.Run(what, func(t *testing.T) {
					if status, _ := initialize(t, g.wire(t), g.url, forge); status/100 != 4 {
						t.Errorf("got %d, want a refusal", status)
					}
				})
			}
		})
	}
}

// initialize begins a legacy session with a request of the test's making and
// returns the answer without its body.
func initialize(t *testing.T, transport http.RoundTripper, url string, forge func(*http.Request)) (status int, header http.Header) {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"interop","version":"1"}}}`
	r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	forge(r)
	resp := must(transport.RoundTrip(r))(t)
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header
}
