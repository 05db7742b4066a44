package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

// addResources registers what can be mentioned as resources. They are reached
// through templates only: the protocol library's list is the same for every caller.
func (s *Server) addResources() {
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		Name:        "deck",
		Title:       "Deck",
		Description: "One deck of the workspace as JSON.",
		MIMEType:    "application/json",
		URITemplate: store.DeckScheme + "{id}",
	}, read(s, store.DeckScheme, s.store.Deck))
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		Name:        "person",
		Title:       "Person",
		Description: "Somebody whom the workspace knows, as JSON.",
		MIMEType:    "application/json",
		URITemplate: store.PersonScheme + "{handle}",
	}, read(s, store.PersonScheme, s.store.Person))
}

// read finds a resource by what follows its scheme.
func read[T any](s *Server, scheme string, find func(context.Context, store.Caller, string) (T, error)) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI

		who, err := callerOf(headerOf(req.Extra))
		if err != nil {
			return nil, invalidParams(err)
		}

		id, err := url.PathUnescape(strings.TrimPrefix(uri, scheme))
		if err != nil {
			return nil, mcp.ResourceNotFoundError(uri)
		}

		found, err := find(ctx, who, id)
		if err != nil {
			if refusal := s.public(ctx, err); refusal.Code != store.Unknown {
				return nil, refusal
			}

			return nil, mcp.ResourceNotFoundError(uri)
		}

		text, err := json.Marshal(found)
		if err != nil {
			return nil, fmt.Errorf("encoding a resource: %w", err)
		}

		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: uri, MIMEType: "application/json", Text: string(text)},
		}}, nil
	}
}
