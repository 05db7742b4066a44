package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

const caddyfile = `{
	admin unix/{$ADMIN}
	auto_https off
	persist_config off
	grace_period 1s
	log {
		output {$GATEWAY_LOG}
		level DEBUG
	}
}
http://*.localhost:{$GATEWAY_PORT} {
	bind 127.0.0.1
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
		}
		policy {
			roles_claim roles
			tool workspace.*
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
		}
		openai {
			entrypoint workspace.home global
			settings settings.read settings.update
		}
		audit {
			allow all
		}
	}
}
http://127.0.0.1:{$GATEWAY_PORT} {
	bind 127.0.0.1
	mcp_app /strange {$STRANGE} {
		resource http://127.0.0.1:{$GATEWAY_PORT}/strange
		auth mode none
		policy {
			default allow
		}
	}
}
`

// gateway is a running Caddy with two endpoints: one before the sample server,
// one before a server that does as a test says.
type gateway struct {
	*stack.Stack
	socket  string
	strange *strange
}

func start(t *testing.T) *gateway {
	t.Helper()
	// A socket's path must be short.
	dir, err := os.MkdirTemp("", "x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &gateway{socket: filepath.Join(dir, "a.sock"), strange: newStrange(t)}
	t.Setenv("ADMIN", g.socket)
	t.Setenv("STRANGE", g.strange.address)
	if g.Stack, err = stack.Start(t.Context(), stack.Config{Caddyfile: []byte(caddyfile)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("closing the stack: %v", err)
		}
	})
	return g
}

func (g *gateway) token(t *testing.T, subject, tenant string, scopes ...string) string {
	t.Helper()
	token, err := g.Issuer.Issue(issuer.Grant{Subject: subject, Audience: []string{g.URL(tenant)}, Scopes: scopes, Claims: map[string]any{"org_id": tenant}})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// call sends one message of the modern era, as a client would.
func (g *gateway) call(t *testing.T, token, method, name string, params map[string]any) int {
	t.Helper()
	const modern = "2026-07-28"
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL("acme"), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"Mcp-Protocol-Version": {modern}, "Mcp-Method": {method}, "Authorization": {"Bearer " + token},
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	transport := g.Transport()
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// strange is a server of the older era that lists what it is told to, or
// misbehaves.
type strange struct {
	address string
	asked   atomic.Int64     // how often it was asked for its tools
	left    chan struct{}    // told when a client leaves while it hangs
	mu      sync.Mutex       // of the rest
	answer  http.HandlerFunc // to a request for its tools; nil for the list
	list    []map[string]any // its tools
}

func newStrange(t *testing.T) *strange {
	t.Helper()
	s := &strange{left: make(chan struct{}, 8)}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.address = strings.TrimPrefix(server.URL, "http://")
	return s
}

func (s *strange) lists(tools ...map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.answer = append([]map[string]any{}, tools...), nil
}

func (s *strange) answers(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// hangs until the client leaves.
func (s *strange) hangs() {
	s.answers(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			s.left <- struct{}{}
		case <-time.After(time.Minute):
		}
	})
}

// isLeft waits until a client has left while it hung.
func (s *strange) isLeft(t *testing.T) {
	t.Helper()
	select {
	case <-s.left:
	case <-time.After(20 * time.Second):
		t.Fatal("the server is not told that nobody waits any more")
	}
}

func (s *strange) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var message struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&message) != nil || r.Header.Get("Mcp-Protocol-Version") > "2026" {
		http.Error(w, "Bad Request: Unsupported protocol version", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	list, answer := s.list, s.answer
	s.mu.Unlock()
	var result any
	switch message.Method {
	case "initialize":
		result = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "strange <b>server</b>", "version": "\u202e1"}}
	case "tools/list":
		s.asked.Add(1)
		if answer != nil {
			answer(w, r)
			return
		}
		result = map[string]any{"tools": list}
	default:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": message.ID, "result": result})
}

func tool(name, description string) map[string]any {
	return map[string]any{"name": name, "description": description, "inputSchema": map[string]any{"type": "object"}}
}

func number(n int) string { return fmt.Sprint(n) }
