package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

// The eras, by the revision that stands for each.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

var eras = []string{legacy, modern}

// caller sends raw messages of one era, so that a test sees the very bytes that
// come back.
type caller struct {
	client *http.Client
	url    string
	era    string
	header http.Header // of every request
}

// caller begins as a person at their own tenant's endpoint; in the legacy era
// that opens a session.
func (g *gateway) caller(t *testing.T, era string, p person) *caller {
	t.Helper()
	c := &caller{g.client, g.URL(p.tenant), era, http.Header{"Authorization": {"Bearer " + g.token(t, p)}}}
	c.open(t)
	return c
}

// direct begins at the server itself, around the gateway, with the identity
// that the gateway would assert.
func (g *gateway) direct(t *testing.T, era string, p person) *caller {
	t.Helper()
	c := &caller{http.DefaultClient, "http://" + os.Getenv("WORKSPACE") + "/mcp", era, http.Header{
		workspace.TenantHeader: {p.tenant}, workspace.SubjectHeader: {p.subject},
	}}
	c.open(t)
	return c
}

func (c *caller) open(t *testing.T) {
	t.Helper()
	if c.era == modern {
		c.header.Set("Mcp-Protocol-Version", modern)
		return
	}
	a := c.call(t, "initialize", "", map[string]any{
		"protocolVersion": legacy, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "e2e", "version": "1"},
	})
	if a.status != http.StatusOK || !a.message.Get("result").Exists() {
		t.Fatalf("initialize: %s", a)
	}
	c.header.Set("Mcp-Protocol-Version", legacy)
	if id := a.header.Get("Mcp-Session-Id"); id != "" {
		c.header.Set("Mcp-Session-Id", id)
	}
	if a := c.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil); a.status != http.StatusAccepted {
		t.Fatalf("notifications/initialized: %s", a)
	}
}

// call sends a request with the id 7; name is mirrored in Mcp-Name in the
// modern era.
func (c *caller) call(t *testing.T, method, name string, params map[string]any) *answer {
	t.Helper()
	body, header := c.message(t, method, name, params)
	return c.post(t, body, header)
}

// raw sends a request with the id 7 whose parameters are written out, so that
// they may be wrong.
func (c *caller) raw(t *testing.T, method, name, params string) *answer {
	t.Helper()
	header := http.Header{}
	if c.era == modern {
		params = strings.TrimSuffix(params, "}") + `,"_meta":` + modernMeta + `}`
		header.Set("Mcp-Method", method)
		header.Set("Mcp-Name", name)
	}
	return c.post(t, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`, header)
}

// member writes a member of an object after others, or nothing if it has no
// value.
func member(name, value string) string {
	if value == "" {
		return ""
	}
	return `,"` + name + `":` + value
}

// modernMeta is the part that every modern request carries.
const modernMeta = `{"io.modelcontextprotocol/protocolVersion":"` + modern + `",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"e2e","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// initializeBody begins a legacy session.
const initializeBody = `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`

// message builds a request and the headers that go with it.
func (c *caller) message(t *testing.T, method, name string, params map[string]any) (string, http.Header) {
	t.Helper()
	all := map[string]any{}
	for key, value := range params {
		all[key] = value
	}
	header := http.Header{}
	if c.era == modern {
		all["_meta"] = json.RawMessage(modernMeta)
		header.Set("Mcp-Method", method)
		if name != "" {
			header.Set("Mcp-Name", name)
		}
	}
	return string(marshal(t, map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": all})), header
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// tool calls a tool.
func (c *caller) tool(t *testing.T, name string, arguments map[string]any) *answer {
	t.Helper()
	return c.call(t, "tools/call", name, map[string]any{"name": name, "arguments": arguments})
}

// read reads a resource.
func (c *caller) read(t *testing.T, uri string) *answer {
	t.Helper()
	return c.call(t, "resources/read", uri, map[string]any{"uri": uri})
}

// handshake sends the request whose answer advertises capabilities.
func (c *caller) handshake(t *testing.T) *answer {
	t.Helper()
	if c.era == modern {
		return c.call(t, "server/discover", "", nil)
	}
	fresh := *c
	fresh.header = c.header.Clone()
	fresh.header.Del("Mcp-Session-Id")
	fresh.header.Del("Mcp-Protocol-Version")
	return fresh.call(t, "initialize", "", map[string]any{
		"protocolVersion": legacy, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "e2e", "version": "1"},
	})
}

// post sends a body with more headers.
func (c *caller) post(t *testing.T, body string, header http.Header) *answer {
	t.Helper()
	return c.send(t, http.MethodPost, c.url, body, header)
}

// send sends any request. Given headers replace the caller's own; a nil value
// removes one.
func (c *caller) send(t *testing.T, method, url, body string, header http.Header) *answer {
	t.Helper()
	response, err := c.client.Do(c.request(t, method, url, body, header))
	if err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, response)
}

// request builds what send sends.
func (c *caller) request(t *testing.T, method, url, body string, header http.Header) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range []http.Header{c.header, header} {
		for name, values := range h {
			if values == nil {
				delete(r.Header, name)
				continue
			}
			r.Header[name] = values
		}
	}
	return r
}
