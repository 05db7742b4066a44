package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
)

// eras are the protocol revisions every promise is kept on.
var eras = []string{"2025-11-25", "2026-07-28"}

// eachEra runs a test once per era against one server, as one connected caller.
func eachEra(t *testing.T, who store.Caller, test func(t *testing.T, s *Server, c *mcp.ClientSession)) {
	t.Helper()

	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s, base := start(t, Config{})
			test(t, s, connect(t, base, era, who))
		})
	}
}

// start opens a workspace and serves it on a loopback port until the test ends.
func start(t *testing.T, cfg Config) (*Server, string) {
	t.Helper()

	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}

	return s, newWeb(t, s).URL + Endpoint
}

// newWeb serves a workspace until the test ends, and then closes it.
func newWeb(t *testing.T, s *Server) *httptest.Server {
	t.Helper()

	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		// The workspace first: its open streams would keep the web server waiting.
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})

	return web
}

// connect opens a session of the given era with a caller's identity headers.
func connect(t *testing.T, endpoint, era string, who store.Caller) *mcp.ClientSession {
	t.Helper()

	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint:   endpoint,
		HTTPClient: &http.Client{Transport: identified{who}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })

	if got := session.InitializeResult().ProtocolVersion; got != era {
		t.Fatalf("negotiated %s, want %s", got, era)
	}

	return session
}

// identified adds the identity headers the proxy would set.
type identified struct{ who store.Caller }

func (i identified) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if i.who.Tenant != "" {
		r.Header.Set(TenantHeader, i.who.Tenant)
	}
	if i.who.Subject != "" {
		r.Header.Set(SubjectHeader, i.who.Subject)
	}

	return http.DefaultTransport.RoundTrip(r)
}

// call calls a tool that must succeed and decodes its structured content.
func call[Out any](t *testing.T, c *mcp.ClientSession, tool string, arguments any) Out {
	t.Helper()

	out, err := tryCall[Out](t.Context(), c, tool, arguments)
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// tryCall is call for any goroutine and for calls that may fail. A tool error
// becomes an error with its text.
func tryCall[Out any](ctx context.Context, c *mcp.ClientSession, tool string, arguments any) (out Out, err error) {
	res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return out, fmt.Errorf("calling %s: %w", tool, err)
	}
	if res.IsError {
		return out, toolError(res.Content[0].(*mcp.TextContent).Text)
	}

	encoded, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return out, err
	}

	return out, json.Unmarshal(encoded, &out)
}

type toolError string

func (e toolError) Error() string { return string(e) }

// refused calls a tool that must answer with a tool error and returns its text.
func refused(t *testing.T, c *mcp.ClientSession, tool string, arguments any) string {
	t.Helper()

	out, err := tryCall[any](t.Context(), c, tool, arguments)
	text, ok := err.(toolError)
	if !ok {
		t.Fatalf("%s %v: want a tool error, got %v, %v", tool, arguments, out, err)
	}

	return string(text)
}

var (
	editor = store.Caller{Tenant: "acme", Subject: "ada"}
	viewer = store.Caller{Tenant: "acme", Subject: "vic"}
	globex = store.Caller{Tenant: "globex", Subject: "gus"}
)

func TestListsEverythingOnce(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		var tools, resources, templates, prompts []string
		for tool, err := range c.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, tool.Name)

			if tool.Title == "" || tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil {
				t.Errorf("tool %s lacks a title, a description or a schema", tool.Name)
			}
			if a := tool.Annotations; a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil {
				t.Errorf("tool %s leaves a hint open", tool.Name)
			}
		}
		for r, err := range c.Resources(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			resources = append(resources, r.URI)
		}
		for r, err := range c.ResourceTemplates(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			templates = append(templates, r.URITemplate)
		}
		for p, err := range c.Prompts(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			prompts = append(prompts, p.Name)
		}

		want := []string{
			"admin.purge_deck", "create_deck", "decide_activity", "delete_deck", "fetch_column_posts", "fetch_posts",
			"get_activity_context", "get_deck", "list_connections", "list_decks", "list_lists", "publish_activities", "replace_deck",
			"search_mentions", "settings.read", "settings.update", "workspace.home", "workspace.navigate", "workspace.tray",
		}
		if !slices.Equal(tools, want) {
			t.Errorf("tools = %q, want %q", tools, want)
		}
		if want := []string{"ui://workspace/home", "ui://workspace/tray"}; !slices.Equal(resources, want) {
			t.Errorf("resources = %q, want %q", resources, want)
		}
		if want := []string{"deck://{id}", "person://{handle}"}; !slices.Equal(templates, want) {
			t.Errorf("templates = %q, want %q", templates, want)
		}
		if want := []string{"summarize_deck"}; !slices.Equal(prompts, want) {
			t.Errorf("prompts = %q, want %q", prompts, want)
		}
	})
}

// The server must be one that nobody changed for the proxy: whatever a host
// needs beyond MCP is the proxy's to add.
func TestKnowsNoHost(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		tools, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}

		said := []any{tools, c.InitializeResult(), call[any](t, c, "settings.read", nil)}
		for _, uri := range []string{"ui://workspace/home", "ui://workspace/tray"} {
			read, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatal(err)
			}
			// The tray takes a module from others; what that knows is not the server's.
			said = append(said, strings.Replace(read.Contents[0].Text, page.Module(), "", 1))
		}

		text, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"openai", "chatgpt", "bearer", "scope="} {
			if strings.Contains(strings.ToLower(string(text)), word) {
				t.Errorf("the server says %q", word)
			}
		}
	})
}

func TestTenantsShareNothing(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			_, endpoint := start(t, Config{})
			acme, other := connect(t, endpoint, era, editor), connect(t, endpoint, era, globex)

			made := call[deckResult](t, acme, "create_deck", map[string]any{"title": "Acme only"}).Deck
			for who, c := range map[string]*mcp.ClientSession{"Acme": acme, "Globex": other} {
				decks := call[decksResult](t, c, "list_decks", map[string]any{}).Decks
				if len(decks) == 0 {
					t.Errorf("%s has no decks", who)
				}
				for _, d := range decks {
					if !strings.HasPrefix(d.Title, who) {
						t.Errorf("%s was shown %q", who, d.Title)
					}
				}
			}

			unknown := refused(t, other, "admin.purge_deck", map[string]any{"deckId": "no-such-deck"})
			foreign := refused(t, other, "admin.purge_deck", map[string]any{"deckId": made.ID})
			if unknown != foreign {
				t.Errorf("a foreign deck answers %q, an unknown one %q", foreign, unknown)
			}
			call[purgeResult](t, acme, "admin.purge_deck", map[string]any{"deckId": made.ID})
		})
	}
}

func TestWithoutTenantEveryToolRefuses(t *testing.T) {
	eachEra(t, store.Caller{}, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		for tool, err := range c.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if text := refused(t, c, tool.Name, nil); !strings.Contains(text, "no tenant") {
				t.Errorf("%s refuses with %q", tool.Name, text)
			}
		}

		if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "deck://roadmap"}); err == nil {
			t.Error("a deck was read without a tenant")
		}
		if _, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{
			Name: "summarize_deck", Arguments: map[string]string{"deckId": "roadmap"},
		}); err == nil {
			t.Error("a prompt was given without a tenant")
		}
	})
}
