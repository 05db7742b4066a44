package workspace

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

func (s *Server) addPrompts() {
	s.mcp.AddPrompt(&mcp.Prompt{
		Name:        "summarize_deck",
		Title:       "Summarize a deck",
		Description: "Asks for a summary of one deck.",
		Arguments: []*mcp.PromptArgument{
			{Name: "deckId", Title: "Deck", Description: "Id of a deck, as list_decks gives it", Required: true},
		},
	}, s.summarizeDeck)
}

func (s *Server) summarizeDeck(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	who, err := callerOf(headerOf(req.Extra))
	if err != nil {
		return nil, invalidParams(err)
	}

	d, err := s.store.Deck(ctx, who, req.Params.Arguments["deckId"])
	if err != nil {
		if refusal := s.public(ctx, err); refusal.Code != store.Unknown {
			return nil, refusal
		}

		return nil, invalidParams(err)
	}

	return &mcp.GetPromptResult{
		Description: "Summary of " + d.Title,
		Messages: []*mcp.PromptMessage{{
			Role: "user",
			Content: &mcp.TextContent{Text: fmt.Sprintf(
				"Summarize the deck %q (%s%s) in three sentences for someone who has not seen it.",
				d.Title, store.DeckScheme, d.ID)},
		}},
	}, nil
}
