package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Exchange sends one HTTP request to the upstream of an endpoint and returns
// its bounded answer. An event stream may be left behind the message with the
// given id; the rest of it is of no interest.
type Exchange func(ctx context.Context, method string, header http.Header, body []byte, id rawjson.Value) (*Answer, error)

// Answer is a complete HTTP answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// endSessionTimeout bounds how long a server may take to end a session.
const endSessionTimeout = 5 * time.Second

// maxPages bounds the pages of a catalog, so that a server that always names
// another cursor comes to an end.
const maxPages = 200

// AskCatalog asks the upstream for all its tools in the name of the caller of
// r: with the caller's headers, client information and capabilities. A modern
// caller is asked for directly; a legacy one inside its session, or, where r is
// the initialize that would make one, in a private session that is closed
// again. Errors wrap [ErrCatalog].
func AskCatalog(ctx context.Context, ask Exchange, r *Request, header http.Header, maxTools int) (*Catalog, error) {
	a := newAsker(ask, r, header)
	if r.Era == Legacy && r.Method == "initialize" {
		end, err := a.openSession(ctx, r)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	return a.tools(ctx, maxTools)
}

// AskPage asks for the page of a list that a cursor stands for, as the caller of
// r, which asked for the first page of the same list. Errors wrap [ErrCatalog].
func AskPage(ctx context.Context, ask Exchange, r *Request, header http.Header, cursor string) (rawjson.Value, error) {
	a := newAsker(ask, r, header)
	return a.call(ctx, r.Method, a.listParams(rawjson.Quote(cursor)))
}

type asker struct {
	exchange Exchange
	header   http.Header
	id       rawjson.Value
	meta     rawjson.Value // modern only
}

func newAsker(ask Exchange, r *Request, header http.Header) *asker {
	// Random, since it may share a session with ids the client chose.
	a := &asker{exchange: ask, header: askHeader(header, r), id: rawjson.Quote("mcp-app-" + rand.Text())}
	if r.Era == Modern {
		a.meta = r.Params.Get("_meta").Delete("progressToken")
	}
	return a
}

// tools reads all pages of tools/list.
func (a *asker) tools(ctx context.Context, maxTools int) (*Catalog, error) {
	catalog := &Catalog{}
	seen := make(map[string]bool)
	cursor := rawjson.Value(nil)
	for range maxPages {
		result, err := a.call(ctx, "tools/list", a.listParams(cursor))
		if err != nil {
			return nil, err
		}
		if err := catalog.addPage(result, maxTools); err != nil {
			return nil, err
		}
		next, more := result.Get("nextCursor").Text()
		if !more {
			return catalog, nil
		}
		if seen[next] {
			return nil, fmt.Errorf("%w: the server repeats a cursor", ErrCatalog)
		}
		seen[next] = true
		cursor = result.Get("nextCursor")
	}
	return nil, fmt.Errorf("%w: more than %d pages", ErrCatalog, maxPages)
}

func (a *asker) listParams(cursor rawjson.Value) rawjson.Value {
	params := rawjson.Value("{}")
	// Setting a member of a literal object cannot fail.
	if a.meta.Exists() {
		params, _ = params.Set(a.meta, "_meta")
	}
	if cursor.Exists() {
		params, _ = params.Set(cursor, "cursor")
	}
	return params
}

// openSession starts a session of the gateway's own, exactly as the client asks
// for one, and returns how to end it.
func (a *asker) openSession(ctx context.Context, r *Request) (end func(), err error) {
	answer, err := a.post(ctx, message("initialize", a.id, r.Params))
	if err != nil {
		return nil, err
	}
	session := answer.Header.Get(HeaderSession)
	if session != "" {
		a.header.Set(HeaderSession, session)
		end = func() { a.endSession(ctx) }
	} else {
		end = func() {}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	result, err := answer.result(a.id)
	if err != nil {
		return nil, err
	}
	if version, ok := result.Get("protocolVersion").Text(); ok {
		a.header.Set(HeaderVersion, version)
	}
	_, err = a.post(ctx, message("notifications/initialized", nil, nil))
	return end, err
}

// endSession closes the private session without keeping anybody waiting. If it
// cannot be closed, it is useless to everybody else, and the server's own
// timeout ends it.
func (a *asker) endSession(ctx context.Context) {
	header := a.header.Clone()
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endSessionTimeout)
		defer cancel()
		_, _ = a.exchange(ctx, http.MethodDelete, header, nil, nil)
	}()
}

func (a *asker) call(ctx context.Context, method string, params rawjson.Value) (rawjson.Value, error) {
	if a.meta.Exists() {
		a.header.Set(HeaderMethod, method)
	}
	answer, err := a.post(ctx, message(method, a.id, params))
	if err != nil {
		return nil, err
	}
	return answer.result(a.id)
}

func (a *asker) post(ctx context.Context, body []byte) (*Answer, error) {
	answer, err := a.exchange(ctx, http.MethodPost, a.header.Clone(), body, a.id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCatalog, err)
	}
	if answer.Status/100 != 2 {
		return nil, fmt.Errorf("%w: the server answers %d", ErrCatalog, answer.Status)
	}
	return answer, nil
}

// result finds the answer to our request in a JSON body or an event stream.
func (a *Answer) result(id rawjson.Value) (rawjson.Value, error) {
	var found rawjson.Value
	look := func(message []byte) error {
		v, err := rawjson.ParseLenient(message, DefaultDepth)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCatalog, err)
		}
		if !slices.Equal(v.Get("id"), id) || v.Get("method").Exists() {
			return nil
		}
		if v.Get("error").Exists() {
			return fmt.Errorf("%w: the server answers with error %s", ErrCatalog, v.Get("error", "code"))
		}
		found = v.Get("result")
		return nil
	}
	if IsEventStream(a.Header.Get("Content-Type")) {
		var s Splitter
		each := func(e Event) error {
			if len(e.Data) == 0 {
				return nil
			}
			return look(slices.Clone(e.Data))
		}
		if err := s.Write(a.Body, each); err != nil {
			return nil, err
		}
		if err := s.Close(each); err != nil {
			return nil, err
		}
	} else if err := look(a.Body); err != nil {
		return nil, err
	}
	if found.Kind() != rawjson.Object {
		return nil, fmt.Errorf("%w: no result in the answer", ErrCatalog)
	}
	return found, nil
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

// askHeader keeps the caller's headers apart from those that describe the one
// request they came with.
func askHeader(h http.Header, r *Request) http.Header {
	h = h.Clone()
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		return strings.HasPrefix(name, HeaderParamPrefix) || name == HeaderName || name == HeaderMethod || name == "Last-Event-Id" || name == "Content-Length"
	})
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Content-Type", "application/json")
	if r.Method == "initialize" {
		h.Del(HeaderSession)
		h.Del(HeaderVersion)
	}
	return h
}
