package mcp

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// endSessionTimeout bounds how long a server may take to end a session.
const endSessionTimeout = 5 * time.Second

// AskCatalog asks the upstream for all its tools in the name of the caller of
// r: with the caller's headers, client information and capabilities. A modern
// caller is asked for directly; a legacy one inside its session, or, where r is
// the initialize that would make one, in a private session that is closed
// again. Errors wrap [ErrCatalog].
func AskCatalog(ctx context.Context, ask Exchange, r *Request, header http.Header, maxTools int) (*Catalog, error) {
	c := conversationOf(ask, r, header)
	if r.Era == Legacy && r.Method == "initialize" {
		// Ended without keeping anybody waiting.
		defer func() {
			go func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endSessionTimeout)
				defer cancel()
				c.End(ctx)
			}()
		}()
		if _, err := c.Open(ctx, r.Params); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCatalog, err)
		}
	}
	catalog := &Catalog{}
	err := c.Pages(ctx, "tools/list", func(result rawjson.Value) error { return catalog.addPage(result, maxTools) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCatalog, err)
	}
	return catalog, nil
}

// AskPage asks for the page of a list that a cursor stands for, as the caller of
// r, which asked for the first page of the same list. Errors wrap [ErrCatalog].
func AskPage(ctx context.Context, ask Exchange, r *Request, header http.Header, cursor string) (rawjson.Value, error) {
	page, err := conversationOf(ask, r, header).Call(ctx, r.Method, cursorParams(rawjson.Quote(cursor)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCatalog, err)
	}
	return page, nil
}

// conversationOf begins a conversation as the caller of r.
func conversationOf(ask Exchange, r *Request, header http.Header) *Conversation {
	var meta rawjson.Value
	if r.Era == Modern {
		meta = r.Params.Get("_meta").Delete("progressToken")
	}
	return NewConversation(ask, askHeader(header, r), meta)
}

// askHeader keeps the caller's headers apart from those that describe the one
// request they came with.
func askHeader(h http.Header, r *Request) http.Header {
	h = h.Clone()
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		return strings.HasPrefix(name, HeaderParamPrefix) || name == HeaderName || name == HeaderMethod || name == "Last-Event-Id" || name == "Content-Length"
	})
	if r.Method == "initialize" {
		h.Del(HeaderSession)
		h.Del(HeaderVersion)
	}
	return h
}
