package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// maxPages bounds the pages of a list, so that a server that always names
// another cursor comes to an end.
const maxPages = 200

// retryPause is waited before the one retry of a conversation.
const retryPause = 250 * time.Millisecond

// Conversation asks one server, question after question in one era. It asks by
// turns: it is not safe for concurrent use.
type Conversation struct {
	exchange Exchange
	header   http.Header
	id       rawjson.Value
	meta     rawjson.Value // modern only
	// Retried tells that the one retry was used up, or, set before, that there is none.
	Retried bool
}

// NewConversation begins a conversation. header goes out with every request.
// meta is the `_meta` of modern requests (MCP 2026-07-28, basic "Meta"); nil
// means the legacy era.
//
// One request of a conversation is sent a second time if it failed in a way that
// may pass: no answer, 502, 503 or 504. Refusals, answers that are none and
// answers that are too large are final.
func NewConversation(ask Exchange, header http.Header, meta rawjson.Value) *Conversation {
	header = header.Clone()
	header.Set("Accept", "application/json, text/event-stream")
	header.Set("Content-Type", "application/json")
	// Random, since it may share a session with ids a client chose.
	return &Conversation{exchange: ask, header: header, id: rawjson.Quote("mcp-app-" + rand.Text()), meta: meta}
}

// SetHeader sets a header of the requests that follow.
func (c *Conversation) SetHeader(name, value string) { c.header.Set(name, value) }

// Call asks one question and returns its result, an object. Errors are a
// [RefusalError], wrap [ErrMalformed] or [ErrTooLarge], or come from the exchange.
func (c *Conversation) Call(ctx context.Context, method string, params rawjson.Value) (rawjson.Value, error) {
	if c.meta.Exists() {
		if !params.Exists() {
			params = rawjson.Value("{}")
		}
		var err error
		if params, err = params.Set(c.meta, "_meta"); err != nil {
			return nil, fmt.Errorf("asking %s: %w", method, err)
		}
		c.header.Set(HeaderMethod, method)
	}
	answer, err := c.post(ctx, message(method, c.id, params))
	if err != nil {
		return nil, err
	}
	return answer.result(c.id)
}

// Pages reads a list to its end, page by page.
func (c *Conversation) Pages(ctx context.Context, method string, page func(result rawjson.Value) error) error {
	seen := make(map[string]bool)
	cursor := rawjson.Value(nil)
	for range maxPages {
		result, err := c.Call(ctx, method, cursorParams(cursor))
		if err != nil {
			return err
		}
		if err := page(result); err != nil {
			return err
		}
		next, more := result.Get("nextCursor").Text()
		if !more {
			return nil
		}
		if seen[next] {
			return fmt.Errorf("%w: the server repeats a cursor", ErrMalformed)
		}
		seen[next] = true
		cursor = result.Get("nextCursor")
	}
	return fmt.Errorf("%w: more than %d pages", ErrTooLarge, maxPages)
}

// cursorParams are the params of a list request.
func cursorParams(cursor rawjson.Value) rawjson.Value {
	params := rawjson.Value("{}")
	if cursor.Exists() {
		params, _ = params.Set(cursor, "cursor") // setting a member of an object cannot fail
	}
	return params
}

// Open starts a legacy session with the params of initialize and returns the
// server's result. [Conversation.End] ends the session, also after an error.
func (c *Conversation) Open(ctx context.Context, params rawjson.Value) (rawjson.Value, error) {
	answer, err := c.post(ctx, message("initialize", c.id, params))
	if err != nil {
		return nil, err
	}
	if session := answer.Header.Get(HeaderSession); session != "" {
		c.header.Set(HeaderSession, session)
	}
	result, err := answer.result(c.id)
	if err != nil {
		return nil, err
	}
	if version, ok := result.Get("protocolVersion").Text(); ok && plainHeader(version) {
		c.header.Set(HeaderVersion, version)
	}
	_, err = c.post(ctx, message("notifications/initialized", nil, nil))
	return result, err
}

// End closes the session that [Conversation.Open] made, if it made one. If that
// fails, the session is useless to everybody else, and the server's own timeout
// ends it.
func (c *Conversation) End(ctx context.Context) {
	if c.header.Get(HeaderSession) == "" {
		return
	}
	_, _ = c.exchange(ctx, http.MethodDelete, c.header.Clone(), nil, nil)
}

func (c *Conversation) post(ctx context.Context, body []byte) (*Answer, error) {
	answer, err := c.exchange(ctx, http.MethodPost, c.header.Clone(), body, c.id)
	if !c.Retried && ctx.Err() == nil && transient(answer, err) {
		c.Retried = true
		select {
		case <-time.After(retryPause):
			answer, err = c.exchange(ctx, http.MethodPost, c.header.Clone(), body, c.id)
		case <-ctx.Done():
		}
	}
	if err != nil {
		return nil, err
	}
	if answer.Status/100 != 2 {
		return nil, answer.refusal()
	}
	return answer, nil
}

// transient reports whether a failure may be gone a moment later.
func transient(answer *Answer, err error) bool {
	if err != nil {
		return !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge)
	}
	switch answer.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// message builds a JSON-RPC message; a nil id makes a notification.
func message(method string, id, params rawjson.Value) rawjson.Value {
	m := rawjson.Value(`{"jsonrpc":"2.0"}`)
	// Setting members of an object literal cannot fail.
	m, _ = m.Set(rawjson.Quote(method), "method")
	if id.Exists() {
		m, _ = m.Set(id, "id")
	}
	if params.Exists() {
		m, _ = m.Set(params, "params")
	}
	return m
}
