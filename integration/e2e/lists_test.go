package e2e

import (
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What Caddyfile.example shows to whom.
var (
	viewerTools = []string{"create_deck", "get_deck", "list_decks", "workspace.home", "workspace.navigate", "workspace.tray"}
	editorTools = []string{"create_deck", "get_deck", "list_decks", "settings.read", "settings.update", "workspace.home", "workspace.navigate", "workspace.tray"}
)

func TestToolListsHoldExactlyWhatTheCallerMayUse(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		for _, tt := range []struct {
			who  person
			want []string
		}{
			{viewer("acme"), viewerTools},
			{editor("acme"), editorTools},
			{editor("globex"), editorTools},
		} {
			if got := toolNames(t, g.connect(t, era, tt.who)); !slices.Equal(got, tt.want) {
				t.Errorf("%s sees %q, want %q", tt.who.subject, got, tt.want)
			}
		}
	})
}

func TestPromptsAndResourcesWithoutARuleAreHidden(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		session := g.connect(t, era, editor("acme"))
		if got := collect(t, session.Prompts(t.Context(), nil), func(p *mcp.Prompt) string { return p.Name }); len(got) != 0 {
			t.Errorf("prompts %q are listed, want none", got)
		}
		if got := collect(t, session.ResourceTemplates(t.Context(), nil), func(r *mcp.ResourceTemplate) string { return r.URITemplate }); len(got) != 0 {
			t.Errorf("templates %q are listed, want none", got)
		}
		if _, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "summarize_deck", Arguments: map[string]string{"deckId": "roadmap"}}); err == nil {
			t.Error("a hidden prompt was given")
		}
		if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "deck://roadmap"}); err == nil {
			t.Error("a hidden resource was read")
		}
	})
}

func TestPagesAreAsVisibleAsTheToolsThatShowThem(t *testing.T) {
	resources := func(t *testing.T, s *mcp.ClientSession) []string {
		t.Helper()
		return collect(t, s.Resources(t.Context(), nil), func(r *mcp.Resource) string { return r.URI })
	}
	t.Run("both tools are visible", func(t *testing.T) {
		everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
			want := []string{"ui://workspace/home", "ui://workspace/tray"}
			if got := resources(t, g.connect(t, era, viewer("acme"))); !slices.Equal(got, want) {
				t.Errorf("resources %q, want %q", got, want)
			}
		})
	})
	t.Run("one tool is hidden", func(t *testing.T) {
		everywhere(t, example(t, "tool workspace.*", "tool workspace.tray"), func(t *testing.T, g *gateway, era string) {
			session := g.connect(t, era, viewer("acme"))
			if got, want := resources(t, session), []string{"ui://workspace/tray"}; !slices.Equal(got, want) {
				t.Errorf("resources %q, want %q", got, want)
			}
			if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://workspace/home"}); err == nil {
				t.Error("the page of a hidden tool was read")
			}
			if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://workspace/tray"}); err != nil {
				t.Errorf("the page of a visible tool was not read: %v", err)
			}
		})
	})
}

func TestListsAreForTheCallerAlone(t *testing.T) {
	g := start(t, exampleConfig(t))
	for _, era := range eras {
		c := g.caller(t, era, viewer("acme"))
		for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
			a := c.call(t, method, "", nil)
			if got := a.header.Get("Cache-Control"); got != "private, no-store" && got != "private, no-store, no-transform" {
				t.Errorf("%s %s: Cache-Control %q", era, method, got)
			}
			if scope, ok := a.message.Get("result", "cacheScope").Text(); scope != "private" && (ok || era == modern) {
				t.Errorf("%s %s: cacheScope %q, want private", era, method, scope)
			}
		}
	}
}
