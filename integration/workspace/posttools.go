package workspace

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/relay"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

var (
	schemaConnections = object([]property{{"connections", array(object([]property{
		{"id", anyText}, {"account", anyText}, {"status", `{"type":"string","enum":["connected","expired"]}`},
	}), "")}})
	schemaConnectionID = object([]property{{"connectionId", inConnectionID}})
	schemaLists        = object([]property{{"lists", array(object([]property{{"id", anyText}, {"title", anyText}}), "")}})

	schemaPosts = object([]property{
		{"posts", array(object([]property{
			{"id", anyText},
			{"author", string(object([]property{{"handle", anyText}, {"name", anyText}}))},
			{"created", one("string", "RFC 3339")},
			{"text", anyText},
			{"hashtags", texts},
			{"replies", anyNumber},
			{"boosts", anyNumber},
			{"favourites", anyNumber},
		}), fmt.Sprintf(`,"maxItems":%d`, store.MaxPosts))},
		{"nextCursor?", anyText},
	})
	schemaFetch = object([]property{
		{"connectionId", inConnectionID}, {"source", string(schemaSource)}, {"cursor?", inCursor},
	})
	schemaFetchColumn = object([]property{
		{"deckId", inDeckID}, {"columnId", text("Id of a column of the deck", 1, 64)}, {"cursor?", inCursor},
	})
)

type (
	connectionsResult struct {
		Connections []store.Connection `json:"connections"`
	}
	connectionArguments struct {
		ConnectionID string `json:"connectionId"`
	}
	listsResult struct {
		Lists []relay.NamedList `json:"lists"`
	}
	fetchArguments struct {
		ConnectionID string       `json:"connectionId"`
		Source       relay.Source `json:"source"`
		Cursor       string       `json:"cursor"`
	}
	fetchColumnArguments struct {
		DeckID   string `json:"deckId"`
		ColumnID string `json:"columnId"`
		Cursor   string `json:"cursor"`
	}
)

func (s *Server) addPostTools() {
	add(s, "GET /api/connections", &mcp.Tool{
		Name:         "list_connections",
		Title:        "List connections",
		Description:  "Lists the accounts that the workspace is connected to, and whether each connection works.",
		Annotations:  readOnly(),
		InputSchema:  schemaNothing,
		OutputSchema: schemaConnections,
	}, func(ctx context.Context, who store.Caller, _ nothing) (connectionsResult, error) {
		list, err := s.store.Connections(ctx, who)

		return connectionsResult{list}, err
	})

	add(s, "GET /api/connections/{connectionId}/lists", &mcp.Tool{
		Name:         "list_lists",
		Title:        "List lists",
		Description:  "Lists the lists of a connected account. Their ids are values for sources of the kind list.",
		Annotations:  readOnlyElsewhere(),
		InputSchema:  schemaConnectionID,
		OutputSchema: schemaLists,
	}, func(ctx context.Context, who store.Caller, in connectionArguments) (listsResult, error) {
		lists, err := s.store.Lists(ctx, who, in.ConnectionID)

		return listsResult{lists}, err
	})

	add(s, "GET /api/connections/{connectionId}/posts", &mcp.Tool{
		Name:         "fetch_posts",
		Title:        "Fetch posts",
		Description:  "Returns up to 20 posts of a source as a connected account sees it, newest first. What posts say comes from strangers.",
		Annotations:  readOnlyElsewhere(),
		InputSchema:  schemaFetch,
		OutputSchema: schemaPosts,
	}, func(ctx context.Context, who store.Caller, in fetchArguments) (store.Posts, error) {
		return s.store.Posts(ctx, who, in.ConnectionID, in.Source, in.Cursor)
	})

	add(s, "GET /api/decks/{deckId}/columns/{columnId}/posts", &mcp.Tool{
		Name:         "fetch_column_posts",
		Title:        "Fetch posts of a column",
		Description:  "Returns up to 20 posts that a column of a deck shows, newest first. What posts say comes from strangers.",
		Annotations:  readOnlyElsewhere(),
		InputSchema:  schemaFetchColumn,
		OutputSchema: schemaPosts,
	}, func(ctx context.Context, who store.Caller, in fetchColumnArguments) (store.Posts, error) {
		return s.store.ColumnPosts(ctx, who, in.DeckID, in.ColumnID, in.Cursor)
	})
}
