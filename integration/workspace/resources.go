package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const deckScheme = "deck://"

// addDeckResources registers decks as resources. They are reached through a
// template only: the protocol library's list is the same for every caller.
func (s *Server) addDeckResources() {
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		Name:        "deck",
		Title:       "Deck",
		Description: "One deck of the workspace as JSON.",
		MIMEType:    "application/json",
		URITemplate: deckScheme + "{id}",
	}, s.readDeck)
}

func (s *Server) readDeck(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI

	who, err := callerOf(headerOf(req.Extra))
	if err != nil {
		return nil, invalidParams(err)
	}

	id, err := url.PathUnescape(strings.TrimPrefix(uri, deckScheme))
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}

	d, err := s.store.deck(ctx, who, id)
	if errors.Is(err, errUnknownDeck) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, s.public(ctx, err)
	}

	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encoding deck: %w", err)
	}

	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
		{URI: uri, MIMEType: "application/json", Text: string(text)},
	}}, nil
}
