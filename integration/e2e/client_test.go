package e2e

import (
	"net/http"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

// bearerTransport adds a token to every request.
type bearerTransport struct {
	token string
	next  http.RoundTripper
}

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// connect opens a session of the Go SDK's client in an era, as a person at
// their own tenant's endpoint.
func (g *gateway) connect(t *testing.T, era string, p person) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint:   g.URL(p.tenant),
		HTTPClient: &http.Client{Transport: bearerTransport{g.token(t, p), g.client.Transport}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() {
		// Also ends the stream on which the server talks first.
		if err := session.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
	})
	if got := session.InitializeResult().ProtocolVersion; got != era {
		t.Fatalf("negotiated %s, want %s", got, era)
	}
	return session
}

// wires are the ways in which the sample server can put its answers.
var wires = []struct {
	name   string
	config workspace.Config
}{
	{"streams", workspace.Config{}},
	{"JSON", workspace.Config{JSON: true}},
	{"streams, one item a page", workspace.Config{PageSize: 1}},
	{"JSON, one item a page", workspace.Config{JSON: true, PageSize: 1}},
}

// everywhere runs a test in both eras before a server that answers in every
// way, each way with a gateway of its own.
func everywhere(t *testing.T, caddyfile []byte, test func(t *testing.T, g *gateway, era string)) {
	t.Helper()
	for _, wire := range wires {
		t.Run(wire.name, func(t *testing.T) {
			g := start(t, stack.Config{Caddyfile: caddyfile, Workspace: wire.config})
			for _, era := range eras {
				t.Run(era, func(t *testing.T) { test(t, g, era) })
			}
		})
	}
}

// collect reads all elements of a listing of the client.
func collect[T any](t *testing.T, elements func(func(T, error) bool), name func(T) string) []string {
	t.Helper()
	names := []string{}
	for element, err := range elements {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name(element))
	}
	slices.Sort(names)
	return names
}

func toolNames(t *testing.T, s *mcp.ClientSession) []string {
	t.Helper()
	return collect(t, s.Tools(t.Context(), nil), func(tool *mcp.Tool) string { return tool.Name })
}

// findTool returns one tool of the client's listing.
func findTool(t *testing.T, s *mcp.ClientSession, name string) *mcp.Tool {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if tool.Name == name {
			return tool
		}
	}
	t.Fatalf("%s is not listed", name)
	return nil
}
