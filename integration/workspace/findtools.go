package workspace

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

var (
	schemaURL = object([]property{{"url", text("App-relative URL such as /decks/roadmap?slide=3", 1, store.MaxURL)}})

	schemaPlace = object([]property{
		{"url", anyText},
		{"view", `{"type":"string","enum":["home","deck","activities","activity"]}`},
		{"deck?", string(schemaDeck)},
		{"activity?", string(schemaActivity)},
	})

	// Any text is a query, so nothing here may refuse one.
	schemaSearch   = object([]property{{"query", one("string", "Part of a title or name; empty for the first ones")}})
	schemaMentions = object([]property{{"items", array(object([]property{
		{"type", `{"type":"string","enum":["resource_link"]}`},
		{"uri", anyText},
		{"name", anyText},
		{"title", anyText},
		{"description", anyText},
		{"mimeType", anyText},
	}), "")}})
)

type (
	navigateArguments struct {
		URL string `json:"url"`
	}
	searchArguments struct {
		Query string `json:"query"`
	}
	searchResult struct {
		Items []store.Mention `json:"items"`
	}
)

// addFindTools registers the tools that find things by what people write.
func (s *Server) addFindTools() {
	add(s, "", &mcp.Tool{
		Name:  "workspace.navigate",
		Title: "Open a link into the workspace",
		Description: "Finds what an app-relative URL of the workspace stands for: / is its home, /decks/<id> a deck, " +
			"/activities the activities, /activities/<id> one of them.",
		Annotations:  readOnly(),
		InputSchema:  schemaURL,
		OutputSchema: schemaPlace,
	}, func(ctx context.Context, who store.Caller, in navigateArguments) (store.Place, error) {
		return s.store.Resolve(ctx, who, in.URL)
	})

	add(s, "GET /api/mentions", &mcp.Tool{
		Name:         "search_mentions",
		Title:        "Search decks and people",
		Description:  "Finds decks and people to mention, as links to resources.",
		Annotations:  readOnly(),
		InputSchema:  schemaSearch,
		OutputSchema: schemaMentions,
	}, func(ctx context.Context, who store.Caller, in searchArguments) (searchResult, error) {
		items, err := s.store.Mentions(ctx, who, in.Query)

		return searchResult{items}, err
	})
}
