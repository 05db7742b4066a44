package caddymodule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// questions sends requests of our own through the same handlers as the caller's.
// It keeps a copy of the caller's request, taken before that goes on its way:
// handlers behind us change theirs, maybe at the same time.
//
// Every request may lead to questions and few do: what is copied for all lies in
// the exchange, and a request is made of it only when one is asked.
type questions struct {
	noted    sync.Once
	next     caddyhttp.Handler
	request  http.Request // without its headers
	url      url.URL
	header   headerSnapshot
	affinity affinity
	e        *exchange // for what never changes

	making sync.Once
	made   *http.Request
}

// questions copies what later questions need, at the first call.
func (e *exchange) questions() *questions {
	e.asks.noted.Do(func() {
		q := &e.asks
		q.next, q.affinity, q.e = e.next, e.affinity, e
		// Handlers behind us may change the request and its headers, not the
		// parts of its URL.
		q.request, q.url, q.header = *e.r, *e.r.URL, snapshotOf(e.r.Header)
	})
	return &e.asks
}

// template is the caller's request as it was, without its end. Nobody may change
// it.
func (q *questions) template() *http.Request {
	q.making.Do(func() {
		q.made = q.request.WithContext(context.WithoutCancel(q.request.Context()))
		q.made.URL, q.made.Header = &q.url, make(http.Header, len(q.header))
		q.header.into(q.made.Header)
	})
	return q.made
}

// registered says under which registration the questions are asked.
func (q *questions) registered() string {
	if q.e.registered == nil {
		return ""
	}
	return q.e.registered.String()
}

// assert signs a question by itself.
func (q *questions) assert(r *http.Request) error {
	e := q.e
	return e.assertions.assert(r, e.identity.prefix, e.principal, e.route.resource)
}

// exchange implements mcp.Exchange. Each question is a request of its own, with
// its own context values and placeholders: handlers write to those as well.
func (q *questions) exchange(ctx context.Context, method string, header http.Header, body []byte, id rawjson.Value) (*mcp.Answer, error) {
	// What the caller's request carries in its context, with our own deadline.
	ctx, cancel := context.WithCancel(mergedContext{ctx, q.template().Context()})
	defer cancel()
	r := q.template().Clone(ctx)
	r.Method, r.Header, r.Trailer = method, header, nil
	r.Body, r.ContentLength, r.TransferEncoding = http.NoBody, 0, nil
	if len(body) > 0 {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	answer := &answerWriter{header: make(http.Header), collector: mcp.Collector{ID: id}, found: cancel}
	if err := q.assert(r); err != nil {
		return nil, err
	}
	where := q.affinity
	server, _ := q.request.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	r = withAffinity(caddyhttp.PrepareRequest(r, caddy.NewReplacer(), answer, server), &where)
	err := serveRecovering(q.next, answer, r)
	if err == nil || answer.collector.Complete() || answer.failure != nil {
		return answer.result()
	}
	if refused, ok := errors.AsType[caddyhttp.HandlerError](err); ok && refused.StatusCode >= http.StatusBadRequest && answer.status == 0 {
		return &mcp.Answer{Status: refused.StatusCode, Header: answer.header}, nil
	}
	return nil, err
}

// mergedContext takes deadline and cancellation from one context and values
// from another.
type mergedContext struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (c mergedContext) Value(key any) any {
	if v := c.values.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// serveRecovering runs a handler and turns the abort of a broken connection,
// which reverse_proxy signals by a panic, into an error.
func serveRecovering(h caddyhttp.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
				panic(v)
			}
			err = errors.New("the server broke off its answer")
		}
	}()
	return h.ServeHTTP(w, r)
}

// answerWriter collects one bounded answer.
type answerWriter struct {
	header    http.Header
	status    int
	collector mcp.Collector
	failure   error  // what made the answer useless
	found     func() // called when the message waited for has come
}

// Header implements http.ResponseWriter.
func (w *answerWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *answerWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *answerWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.failure == nil {
		w.failure = w.collector.Add(p, mcp.IsEventStream(w.header.Get("Content-Type")))
	}
	if w.failure != nil {
		return 0, w.failure
	}
	if w.collector.Complete() {
		w.found()
	}
	return len(p), nil
}

// Flush implements http.Flusher.
func (w *answerWriter) Flush() {}

func (w *answerWriter) result() (*mcp.Answer, error) {
	switch {
	case w.failure != nil:
		return nil, w.failure
	case w.status == 0:
		return nil, fmt.Errorf("%w: no handler answered", mcp.ErrMalformed)
	case w.header.Get("Content-Encoding") != "" && w.header.Get("Content-Encoding") != "identity":
		return nil, fmt.Errorf("%w: it is compressed although that was not asked for", mcp.ErrMalformed)
	}
	return &mcp.Answer{Status: w.status, Header: w.header, Body: w.collector.Bytes()}, nil
}

// neutralHeaders do not influence what a server lists, or are accounted for in
// the key otherwise. Every other header is part of the question.
var neutralHeaders = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Authorization": true, "Cache-Control": true, "Connection": true,
	"Content-Length": true, "Content-Type": true, "Last-Event-Id": true, "Mcp-Method": true, "Mcp-Name": true,
	"Pragma": true, "Te": true, "Traceparent": true, "Tracestate": true, "Baggage": true, "User-Agent": true,
	"X-Request-Id": true,
}

// catalogKey is a hash of everything that may change what the server lists.
func (q *questions) catalogKey(p *policy.Principal, question *mcp.Request) flight.Key {
	r := q.template()
	lists := [][]string{{r.Host, r.URL.RawQuery, p.Issuer, p.Subject, p.Tenant, question.Era.String(), question.Version, q.registered()}, p.Scopes}
	if question.Era == mcp.Modern {
		meta := question.Params.Get("_meta")
		lists = append(lists, []string{string(meta.Get("io.modelcontextprotocol/clientCapabilities")), string(meta.Get("io.modelcontextprotocol/clientInfo"))})
	} else {
		// The session stands for the capabilities it was begun with.
		lists = append(lists, []string{string(question.Params.Get("capabilities")), string(question.Params.Get("clientInfo"))})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if !neutralHeaders[name] && !strings.HasPrefix(name, mcp.HeaderParamPrefix) {
			lists = append(lists, append([]string{name}, r.Header[name]...))
		}
	}
	return flight.KeyOf(lists...)
}
