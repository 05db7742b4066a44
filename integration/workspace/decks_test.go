package workspace

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

func TestCreateDeckRefusesBadTitles(t *testing.T) {
	s, _ := start(t, Config{})
	for _, title := range []string{"", " \t ", "two\nlines", "bad \xff byte", strings.Repeat("é", store.MaxTitle+1)} {
		if d, err := s.store.CreateDeck(t.Context(), editor, store.NewDeck{Title: title}); err == nil {
			t.Errorf("title %q made deck %v", title, d)
		}
	}

	d, err := s.store.CreateDeck(t.Context(), editor, store.NewDeck{Title: " " + strings.Repeat("é", store.MaxTitle) + " "})
	if err != nil || d.Title != strings.Repeat("é", store.MaxTitle) {
		t.Errorf("the longest title gave %v, %v", d, err)
	}
}

func TestDecksAsResourcesAndPrompts(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "deck://rocket-skates"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(res.Contents[0].Text, "Acme rocket skates") {
			t.Errorf("deck is %s", res.Contents[0].Text)
		}

		prompt, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{
			Name: "summarize_deck", Arguments: map[string]string{"deckId": "roadmap"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if text := prompt.Messages[0].Content.(*mcp.TextContent).Text; !strings.Contains(text, "Acme roadmap") {
			t.Errorf("prompt is %q", text)
		}

		for _, id := range []string{"hammock-district", "no-such-deck"} {
			if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "deck://" + id}); err == nil {
				t.Errorf("deck %s was read", id)
			}
			if _, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{
				Name: "summarize_deck", Arguments: map[string]string{"deckId": id},
			}); err == nil {
				t.Errorf("deck %s was summarized", id)
			}
		}
	})
}

func TestWhatIsMentionedCanBeRead(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		items := call[searchResult](t, c, "search_mentions", map[string]any{"query": ""}).Items
		if len(items) < 5 {
			t.Errorf("mentions %v", items)
		}
		for _, item := range items {
			res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: item.URI})
			if err != nil || !strings.Contains(res.Contents[0].Text, item.Title) {
				t.Errorf("%s: %v, %v", item.URI, res, err)
			}
		}
	})
}
