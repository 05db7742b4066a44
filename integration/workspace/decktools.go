package workspace

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

var (
	schemaDecks   = object([]property{{"decks", array(schemaDeckSummary, "")}})
	schemaOneDeck = object([]property{{"deck", string(schemaDeck)}})
	schemaDeckID  = object([]property{{"deckId", inDeckID}})

	inTitle   = text("One line of text", 1, store.MaxTitle)
	newColumn = []property{
		{"title", inTitle},
		{"connectionId", inConnectionID},
		{"source", string(schemaSource)},
	}
	atMost = fmt.Sprintf(`,"maxItems":%d`, store.MaxColumns)

	schemaCreate = object([]property{
		{"deckId?", `{"type":"string","description":"An id of your own, so that asking again makes no second deck","pattern":"` + store.DeckIDPattern + `"}`},
		{"title", inTitle},
		{"columns?", array(object(newColumn), atMost)},
	})
	schemaReplace = object([]property{
		{"deckId", inDeckID},
		{"expectedRevision", expectedDeck},
		{"title", inTitle},
		{"archived?", one("boolean", "Absent to leave it as it is")},
		{"columns", array(object(append([]property{
			{"id?", text("Id of the column that stays; absent for a new one", 1, 64)},
		}, newColumn...)), atMost)},
	})
	schemaDelete  = object([]property{{"deckId", inDeckID}, {"expectedRevision", expectedDeck}})
	schemaDeleted = object([]property{{"deleted", one("string", "Id of the deck that is gone")}})
	schemaPurged  = object([]property{{"purged", one("string", "Id of the deck that is gone")}})
)

type (
	decksResult struct {
		Decks []store.Summary `json:"decks"`
	}
	deckResult struct {
		Deck store.Deck `json:"deck"`
	}
	deckIDArguments struct {
		DeckID string `json:"deckId"`
	}
	deleteArguments struct {
		DeckID           string `json:"deckId"`
		ExpectedRevision int64  `json:"expectedRevision"`
	}
	deleteResult struct {
		Deleted string `json:"deleted"`
	}
	purgeResult struct {
		Purged string `json:"purged"`
	}
)

func (s *Server) addDeckTools() {
	add(s, "GET /api/decks", &mcp.Tool{
		Name:         "list_decks",
		Title:        "List decks",
		Description:  "Lists all decks of the workspace, oldest first, archived ones too, without their columns.",
		Annotations:  readOnly(),
		InputSchema:  schemaNothing,
		OutputSchema: schemaDecks,
	}, func(ctx context.Context, who store.Caller, _ nothing) (decksResult, error) {
		decks, err := s.store.Decks(ctx, who, true)

		return decksResult{decks}, err
	})

	add(s, "GET /api/decks/{deckId}", deckTool("get_deck", "Read deck",
		"Returns one deck with its columns and its revision.", readOnly(), schemaDeckID),
		func(ctx context.Context, who store.Caller, in deckIDArguments) (deckResult, error) {
			d, err := s.store.Deck(ctx, who, in.DeckID)

			return deckResult{d}, err
		})

	add(s, "POST /api/decks", deckTool("create_deck", "Create deck",
		"Creates a deck with the given title and columns and returns it. With a deckId, asking again for the same returns the deck that is there.",
		writing(), schemaCreate),
		func(ctx context.Context, who store.Caller, in store.NewDeck) (deckResult, error) {
			d, err := s.store.CreateDeck(ctx, who, in)

			return deckResult{d}, err
		})

	add(s, "PUT /api/decks/{deckId}", deckTool("replace_deck", "Replace deck",
		"Puts a title and up to six columns in place of those of a deck as you read it. Columns that name their id stay the same columns. "+
			"If somebody changed the deck meanwhile, the error stale_revision says so and nothing happens.",
		destructive(), schemaReplace),
		func(ctx context.Context, who store.Caller, in store.DeckChange) (deckResult, error) {
			d, err := s.store.ReplaceDeck(ctx, who, in)

			return deckResult{d}, err
		})

	add(s, "DELETE /api/decks/{deckId}", &mcp.Tool{
		Name:         "delete_deck",
		Title:        "Delete deck",
		Description:  "Deletes a deck as you read it, for good. If somebody changed it meanwhile, nothing happens.",
		Annotations:  destructive(),
		InputSchema:  schemaDelete,
		OutputSchema: schemaDeleted,
	}, func(ctx context.Context, who store.Caller, in deleteArguments) (deleteResult, error) {
		return deleteResult{in.DeckID}, s.store.DeleteDeck(ctx, who, in.DeckID, in.ExpectedRevision)
	})

	add(s, "", &mcp.Tool{
		Name:         "admin.purge_deck",
		Title:        "Purge deck",
		Description:  "Deletes a deck for good, whatever it has become. This cannot be undone.",
		Annotations:  destructive(),
		InputSchema:  schemaDeckID,
		OutputSchema: schemaPurged,
	}, func(ctx context.Context, who store.Caller, in deckIDArguments) (purgeResult, error) {
		return purgeResult{in.DeckID}, s.store.PurgeDeck(ctx, who, in.DeckID)
	})
}

// deckTool is a tool that answers with one deck.
func deckTool(name, title, description string, hints *mcp.ToolAnnotations, input json.RawMessage) *mcp.Tool {
	return &mcp.Tool{
		Name: name, Title: title, Description: description,
		Annotations: hints, InputSchema: input, OutputSchema: schemaOneDeck,
	}
}
