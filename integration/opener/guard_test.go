package opener

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// The eras, by the revision that stands for each.
var eras = []string{"2025-11-25", "2026-07-28"}

// linkServer is a server that links to its own pages, also to those it should
// not, and notes where the page went.
type linkServer struct {
	server *mcp.Server
	went   chan string
}

type navigateInput struct {
	URL string `json:"url"`
}

type searchOutput struct {
	Open   string   `json:"open"`
	Others []string `json:"others"`
}

func newLinkServer() *linkServer {
	s := &linkServer{mcp.NewServer(&mcp.Implementation{Name: "links", Version: "1"}, nil), make(chan string, 8)}
	navigate := func(_ context.Context, _ *mcp.CallToolRequest, in navigateInput) (*mcp.CallToolResult, any, error) {
		s.went <- in.URL
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "there"}}}, nil, nil
	}
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s.server, &mcp.Tool{Name: "navigate", Annotations: readOnly}, navigate)
	mcp.AddTool(s.server, &mcp.Tool{Name: "careless"}, navigate)
	nothing := func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	}
	mcp.AddTool(s.server, &mcp.Tool{Name: "board", Annotations: readOnly}, nothing)
	mcp.AddTool(s.server, &mcp.Tool{Name: "secret", Annotations: readOnly}, nothing)
	mcp.AddTool(s.server, &mcp.Tool{Name: "search", Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, searchOutput, error) {
		const board, secret = "codex://plugins/shop/app/board?path=%2Ft%2Facme", "codex://plugins/shop/app/secret"
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ResourceLink{URI: board, Name: "board"}, &mcp.ResourceLink{URI: secret, Name: "secret"},
		}}, searchOutput{Open: board, Others: []string{secret, "codex://plugins/shop/app/board?path=x", "codex://plugins/other/app/secret"}}, nil
	})
	return s
}

// startLinks runs the gateway before it, with more lines in its links block.
func startLinks(t *testing.T, s *linkServer, lines string) *stack.Stack {
	t.Helper()
	config := strings.NewReplacer(
		"tool *", "tool *\n\t\t\ttool secret {\n\t\t\t\tdeny\n\t\t\t}",
		"workspace.home", "board",
		"plugin workspace", "plugin shop\n\t\t\t"+lines,
	).Replace(caddyfile)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.server }, nil)
	running, err := stack.Start(t.Context(), stack.Config{Caddyfile: []byte(config), Upstream: handler})
	t.Cleanup(func() { _ = running.Close() })
	if err != nil {
		t.Fatal(err)
	}
	return running
}

func connect(t *testing.T, s *stack.Stack, era string) *mcp.ClientSession {
	t.Helper()
	token, err := s.Issuer.Issue(issuer.Grant{Subject: "alice", Audience: []string{s.URL("acme")}, Claims: map[string]any{"org_id": "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "opener", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.URL("acme"), HTTPClient: &http.Client{Transport: bearer{token, s.Transport()}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// TestNavigateStaysInTheTenant: a page that follows a link cannot be sent to
// another tenant's part of the application.
func TestNavigateStaysInTheTenant(t *testing.T) {
	server := newLinkServer()
	s := startLinks(t, server, "navigate navigate")
	for _, era := range eras {
		session := connect(t, s, era)
		for url, reaches := range map[string]bool{
			"/t/acme/parts?tag=bolt": true,
			"/t/globex/parts":        false,
			"/t/acme/../globex":      false,
			"/":                      false,
		} {
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "navigate", Arguments: map[string]any{"url": url}})
			if (err == nil) != reaches {
				t.Errorf("%s: %s: %v", era, url, err)
			}
			if err != nil && !strings.Contains(err.Error(), "-32602") && !strings.Contains(err.Error(), "url") && !strings.Contains(err.Error(), "path") {
				t.Errorf("%s: %s: the error %q tells nothing", era, url, err)
			}
			select {
			case got := <-server.went:
				if !reaches || got != url {
					t.Errorf("%s: %s: the server saw %q", era, url, got)
				}
			default:
				if reaches {
					t.Errorf("%s: %s: the server saw nothing", era, url)
				}
			}
		}
	}
}

// TestNavigateNeedsAReadOnlyTool: following a link must change nothing.
func TestNavigateNeedsAReadOnlyTool(t *testing.T) {
	server := newLinkServer()
	s := startLinks(t, server, "navigate careless")
	for _, era := range eras {
		_, err := connect(t, s, era).CallTool(t.Context(), &mcp.CallToolParams{Name: "careless", Arguments: map[string]any{"url": "/t/acme/parts"}})
		if err == nil || !strings.Contains(err.Error(), "not read-only") {
			t.Errorf("%s: %v", era, err)
		}
		if len(server.went) > 0 {
			t.Errorf("%s: the server saw %q", era, <-server.went)
		}
	}
}

// TestResultsDoNotLeadToHiddenTools, and lead where they should.
func TestResultsDoNotLeadToHiddenTools(t *testing.T) {
	const (
		board   = "codex://plugins/shop/app/board?path=%2Ft%2Facme"
		foreign = "codex://plugins/other/app/secret"
	)
	for mode, want := range map[string]string{
		"drop":  fmt.Sprint([]string{board}, board, []any{"", "", foreign}),
		"check": fmt.Sprint([]string{board, "codex://plugins/shop/app/secret"}, board, []any{"codex://plugins/shop/app/secret", "codex://plugins/shop/app/board?path=x", foreign}),
	} {
		t.Run(mode, func(t *testing.T) {
			s := startLinks(t, newLinkServer(), "results "+mode)
			for _, era := range eras {
				result, err := connect(t, s, era).CallTool(t.Context(), &mcp.CallToolParams{Name: "search"})
				if err != nil {
					t.Fatal(err)
				}
				var linked []string
				for _, block := range result.Content {
					if link, ok := block.(*mcp.ResourceLink); ok {
						linked = append(linked, link.URI)
					}
				}
				structured, _ := result.StructuredContent.(map[string]any)
				if got := fmt.Sprint(linked, structured["open"], structured["others"]); got != want {
					t.Errorf("%s:\n got %s\nwant %s", era, got, want)
				}
			}
		})
	}
}
