package workspace

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// schemaDeck describes one deck wherever a result holds one.
const schemaDeck = `{"type":"object",` +
	`"properties":{"id":{"type":"string"},"title":{"type":"string"},` +
	`"archived":{"type":"boolean"},"created":{"type":"string","format":"date-time"}},` +
	`"required":["id","title","archived","created"]}`

var (
	schemaDecks = json.RawMessage(`{"type":"object",` +
		`"properties":{"decks":{"type":"array","items":` + schemaDeck + `}},"required":["decks"]}`)

	schemaOneDeck = json.RawMessage(`{"type":"object",` +
		`"properties":{"deck":` + schemaDeck + `},"required":["deck"]}`)

	schemaCreate = json.RawMessage(fmt.Sprintf(`{"type":"object",`+
		`"properties":{"title":{"type":"string","description":"One line of text","minLength":1,"maxLength":%d}},`+
		`"required":["title"],"additionalProperties":false}`, maxTitle))

	schemaDeckID = json.RawMessage(`{"type":"object",` +
		`"properties":{"deckId":{"type":"string","description":"Id of a deck, as list_decks gives it"}},` +
		`"required":["deckId"],"additionalProperties":false}`)

	schemaPurged = json.RawMessage(`{"type":"object",` +
		`"properties":{"purged":{"type":"string","description":"Id of the deck that is gone"}},"required":["purged"]}`)

	schemaURL = json.RawMessage(fmt.Sprintf(`{"type":"object",`+
		`"properties":{"url":{"type":"string","description":"App-relative URL such as /decks/roadmap?slide=3",`+
		`"minLength":1,"maxLength":%d}},"required":["url"],"additionalProperties":false}`, maxURL))

	schemaPlace = json.RawMessage(`{"type":"object",` +
		`"properties":{"url":{"type":"string"},"view":{"type":"string","enum":["home","deck"]},"deck":` + schemaDeck + `},` +
		`"required":["url","view"]}`)
)

type (
	decksResult struct {
		Decks []deck `json:"decks"`
	}
	deckResult struct {
		Deck deck `json:"deck"`
	}
	createArguments struct {
		Title string `json:"title"`
	}
	deckIDArguments struct {
		DeckID string `json:"deckId"`
	}
	purgeResult struct {
		Purged string `json:"purged"`
	}
	navigateArguments struct {
		URL string `json:"url"`
	}
)

func (s *Server) addDeckTools() {
	addTool(s, &mcp.Tool{
		Name:         "list_decks",
		Title:        "List decks",
		Description:  "Lists all decks of the workspace, oldest first, archived ones too.",
		Annotations:  readOnly(),
		InputSchema:  schemaNothing,
		OutputSchema: schemaDecks,
	}, func(ctx context.Context, who caller, _ nothing) (decksResult, error) {
		decks, err := s.store.decks(ctx, who, true)

		return decksResult{decks}, err
	})

	addTool(s, &mcp.Tool{
		Name:         "create_deck",
		Title:        "Create deck",
		Description:  "Creates an empty deck with the given title and returns it.",
		Annotations:  writing(),
		InputSchema:  schemaCreate,
		OutputSchema: schemaOneDeck,
	}, func(ctx context.Context, who caller, in createArguments) (deckResult, error) {
		d, err := s.store.createDeck(ctx, who, in.Title)

		return deckResult{d}, err
	})

	addTool(s, &mcp.Tool{
		Name:         "admin.purge_deck",
		Title:        "Purge deck",
		Description:  "Deletes a deck for good. This cannot be undone.",
		Annotations:  destructive(),
		InputSchema:  schemaDeckID,
		OutputSchema: schemaPurged,
	}, func(ctx context.Context, who caller, in deckIDArguments) (purgeResult, error) {
		err := s.store.purgeDeck(ctx, who, in.DeckID)

		return purgeResult{in.DeckID}, err
	})

	addTool(s, &mcp.Tool{
		Name:         "workspace.navigate",
		Title:        "Open a link into the workspace",
		Description:  "Finds what an app-relative URL of the workspace stands for: / is its home, /decks/<id> a deck.",
		Annotations:  readOnly(),
		InputSchema:  schemaURL,
		OutputSchema: schemaPlace,
	}, func(ctx context.Context, who caller, in navigateArguments) (place, error) {
		return s.store.resolve(ctx, who, in.URL)
	})
}
