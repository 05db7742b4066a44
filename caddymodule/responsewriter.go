package caddymodule

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// writeMode is how an answer is treated; it is fixed by its first header.
type writeMode int

const (
	pass   writeMode = iota // nothing that could be a message: 1xx, 204, 304
	buffer                  // one message, or some other short body
	stream                  // server-sent events
)

// errAnswerRefused stops the handlers behind us after an answer was replaced.
var errAnswerRefused = errors.New("answer refused")

// responseWriter rewrites what the server answers on its way to the client. It
// never passes on bytes that a client could take for a list without having read
// them.
type responseWriter struct {
	http.ResponseWriter // never written to before WriteHeader has decided

	e         *exchange
	rewriter  mcp.Rewriter
	decorator openaiView
	cors      http.Header
	own       headerSnapshot // set before the server was asked: all that an error of ours carries

	mu          sync.Mutex // the keep-alive timer writes beside the handler
	keepAlive   *time.Timer
	wroteHeader bool
	stopped     bool // the handler has returned
	ended       bool // a complete answer of ours was sent instead
	status      int
	mode        writeMode
	before      http.Header // as they were when the status was set; nil where no trailers are announced
	body        bytes.Buffer
	splitter    mcp.Splitter
}

// newResponseWriter makes the one writer of an exchange.
func newResponseWriter(down http.ResponseWriter, e *exchange, cors http.Header) *responseWriter {
	w := &e.writer
	w.ResponseWriter, w.e, w.cors, w.own = down, e, cors, snapshotOf(down.Header())
	w.splitter.Limit = int(e.limits.event)
	w.decorator.view = e.view
	w.rewriter = e.newRewriter(&w.decorator)
	return w
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeaderLocked(status)
}

func (w *responseWriter) writeHeaderLocked(status int) {
	if w.wroteHeader {
		return
	}
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		w.informLocked(status)
		return
	}
	w.wroteHeader, w.status = true, status
	h := w.Header()
	challenges := h["Www-Authenticate"]
	w.ownHeaders(h)
	if len(h["Trailer"]) > 0 {
		w.before = maps.Clone(h)
	}
	switch {
	case w.replaceRefusal(status, challenges):
	case status == http.StatusSwitchingProtocols:
		w.fail("transport", "the server switches protocols")
	case status == http.StatusNoContent, status == http.StatusNotModified:
		w.mode = pass
		w.ResponseWriter.WriteHeader(status)
	case isCompressed(h):
		w.fail("encoding", "the server compresses although that was not asked for")
	case mcp.IsEventStream(h.Get("Content-Type")):
		w.mode = stream
		forgetBytes(h)
		w.ResponseWriter.WriteHeader(status)
		// Clients wait for the headers of a stream before they go on.
		_ = w.flushDown()
		w.startKeepAliveLocked()
	default:
		w.mode = buffer
		if length := announcedLength(h); length > 0 {
			// Only a hint, and from a server that may lie: bounded by what a
			// buffer would soon grow to anyway.
			w.body.Grow(int(min(length, w.e.limits.message, maxExpectedBody)))
		}
	}
}

// announcedLength is 0 where the server says none.
func announcedLength(h http.Header) int64 {
	text := h.Get("Content-Length")
	if text == "" { // usual, and an error would be made for it
		return 0
	}
	length, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return length
}

// maxExpectedBody bounds the memory taken for an answer that has not come yet.
const maxExpectedBody = 8 << 20

// informLocked passes an informational answer with what it is for: links (RFC
// 8297). Its other headers would be a second, unread copy of the answer's:
// sessions, challenges, origins.
func (w *responseWriter) informLocked(status int) {
	h := w.Header()
	kept := maps.Clone(h)
	maps.DeleteFunc(h, func(name string, _ []string) bool { return name != "Link" })
	w.ResponseWriter.WriteHeader(status)
	clear(h)
	maps.Copy(h, kept)
}

// replaceRefusal answers in place of a server that refuses the caller, where its
// own words would lead the client astray.
func (w *responseWriter) replaceRefusal(status int, challenges []string) bool {
	answer := w.e.answerToRefusal(status, challenges)
	if answer == nil {
		return false
	}
	w.ended = true
	w.forgetHeaders()
	answer(w.ResponseWriter)
	_ = w.flushDown()
	return true
}

// isCompressed looks at every coding of every line: clients join them.
func isCompressed(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	return false
}

// ownHeaders replaces what only we may say: who may read the answer, how long
// it may be kept, how to log in.
func (w *responseWriter) ownHeaders(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			delete(h, name)
		}
	}
	for name, values := range w.cors {
		if name != "Vary" { // set before and joined by the server's own
			h[name] = values
		}
	}
	cache := "private, no-store"
	if strings.Contains(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), "no-transform") {
		cache += ", no-transform"
	}
	w.e.lines.set(h, "Cache-Control", cache)
	delete(h, "Expires")
	w.e.sealSession(h)
	if w.e.authenticates() {
		h.Del("Www-Authenticate")
	}
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeaderLocked(http.StatusOK)
	if w.ended {
		return 0, errAnswerRefused
	}
	switch w.mode {
	case stream:
		if err := w.splitter.Write(p, w.event); err != nil {
			w.failWith(err)
			return 0, errAnswerRefused
		}
		w.startKeepAliveLocked()
		return len(p), w.flushDown()
	case buffer:
		if int64(w.body.Len()+len(p)) > w.e.limits.message {
			w.fail("limit", "it is larger than limits.message, "+strconv.FormatInt(w.e.limits.message, 10)+" bytes")
			return 0, errAnswerRefused
		}
		return w.body.Write(p)
	default:
		return w.ResponseWriter.Write(p)
	}
}

// ReadFrom keeps io.Copy from going around Write: the writers below implement
// io.ReaderFrom, and an embedded one would be found (caddy issue 6546).
func (w *responseWriter) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{w}, r)
}

// FlushError is called by the proxy between chunks. A buffered answer must not
// commit its headers by it; whole events have been flushed as they went out.
func (w *responseWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.wroteHeader || w.mode == buffer || w.ended {
		return nil
	}
	return w.flushDown()
}

// Flush implements http.Flusher for handlers that know no FlushError.
func (w *responseWriter) Flush() { _ = w.FlushError() }

// Hijack keeps handlers from taking the connection away from under the rewriter,
// as a proxy does for other protocols.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, http.ErrNotSupported
}

// Unwrap implements the contract of http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *responseWriter) flushDown() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// startKeepAliveLocked sends a comment after a time of silence. Only whole events
// have been sent at any time, so that it never falls into one.
func (w *responseWriter) startKeepAliveLocked() {
	if w.e.KeepAlive == nil || *w.e.KeepAlive <= 0 {
		return
	}
	silence := time.Duration(*w.e.KeepAlive)
	if w.keepAlive != nil {
		w.keepAlive.Reset(silence)
		return
	}
	w.keepAlive = time.AfterFunc(silence, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.stopped || w.ended {
			return
		}
		if _, err := w.ResponseWriter.Write([]byte(": keep-alive\n\n")); err == nil {
			_ = w.flushDown()
			w.keepAlive.Reset(silence)
		}
	})
}

// stop ends what may still write beside the handler; afterwards the writer below
// belongs to the server again.
func (w *responseWriter) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.keepAlive != nil {
		w.keepAlive.Stop()
	}
}

// unsent reports whether nothing has reached the client yet.
func (w *responseWriter) unsent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.wroteHeader || w.mode == buffer
}

// event rewrites one server-sent event and sends it.
func (w *responseWriter) event(e mcp.Event) error {
	if e.Type() == "endpoint" {
		// The transport of 2024-11-05 answers on another connection, under a
		// path that is not ours to filter.
		return errors.New("the server speaks the HTTP+SSE transport of 2024-11-05, which is not supported")
	}
	if e.Stray() {
		return fmt.Errorf("%w: JSON outside of events", mcp.ErrUnfilterable)
	}
	out := e.Wire()
	if e.CouldBeMessage() {
		message, err := w.rewrite(e.Data)
		switch {
		case err != nil:
			return err
		case message == nil:
			out = e.WithoutData()
		case !bytes.Equal(message, e.Data):
			out = e.WithData(message)
		}
	}
	_, err := w.ResponseWriter.Write(out)
	return err
}

var (
	bytesIn  = metrics.rewriteBytes.with([1]string{"in"})
	bytesOut = metrics.rewriteBytes.with([1]string{"out"})
)

// rewrite filters one message; with a decoy on its way, the name the caller
// asked for takes the place of the random one.
func (w *responseWriter) rewrite(message []byte) (out []byte, err error) {
	began := time.Now()
	defer func() {
		metrics.rewriteSeconds.Observe(time.Since(began).Seconds())
		bytesIn.Add(float64(len(message)))
		bytesOut.Add(float64(len(out)))
	}()
	key, repeats := w.listKey(message)
	if repeats {
		out, known := w.e.lists.get(key, message, w.e.message.ID)
		if countMemo("list", known); known {
			return out, nil
		}
	}
	out, err = w.rewriter.Message(message)
	if repeats && err == nil && out != nil {
		w.e.lists.put(key, bytes.Clone(message), out, w.e.message.ID)
	}
	if err == nil && w.e.decoy != nil {
		out = w.e.decoy.Restore(out)
	}
	w.e.traceAnswer(out)
	return out, err
}

// finish sends what is left when the handlers behind us are done.
func (w *responseWriter) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.wroteHeader {
		w.wroteHeader = true
		w.fail("empty", "no handler answered; does the site have a reverse_proxy behind mcp_app, or mcp_app an upstream?")
		return nil
	}
	switch w.mode {
	case stream:
		if err := w.splitter.Close(w.event); err != nil {
			w.failWith(err)
			return nil
		}
		dropTrailers(w.Header(), w.before, true)
		return w.flushDown()
	case buffer:
		return w.finishBuffer()
	default:
		return nil
	}
}

// finishBuffer sends a whole body. What begins like JSON must be JSON and go
// through the rewriter, whatever its label says; other text may pass only where
// no client could find a message in it.
func (w *responseWriter) finishBuffer() error {
	body := w.body.Bytes()
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\ufeff")), " \t\r\n")
	h := w.Header()
	trailer := takeTrailers(h, w.before)
	changed := false
	switch {
	case len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '['):
		message, err := w.rewrite(body)
		switch {
		case err != nil:
			w.failWith(err)
			return nil
		case message == nil:
			w.fail("unfilterable", "the whole message is to be dropped")
			return nil
		}
		if changed = !bytes.Equal(message, body); changed {
			forgetBytes(h)
		}
		body = message
	case w.status/100 == 2 && bytes.ContainsAny(body, "{["):
		w.fail("unfilterable", "the server's answer is neither JSON nor an event stream")
		return nil
	case w.e.decoy != nil:
		body = w.e.decoy.Restore(body)
	}
	if changed {
		forgetBytes(trailer)
	}
	announceTrailers(h, trailer)
	if len(trailer) == 0 { // an answer of known length has none
		w.e.lines.set(h, "Content-Length", strconv.Itoa(len(body)))
	}
	w.ResponseWriter.WriteHeader(w.status)
	_, err := w.ResponseWriter.Write(body)
	maps.Copy(h, trailer)
	return err
}

// failWith is fail for an error of the reader or the rewriter.
func (w *responseWriter) failWith(err error) {
	switch {
	case errors.Is(err, mcp.ErrEventTooLarge):
		w.fail("limit", "an event of it is larger than limits.event, "+strconv.FormatInt(w.e.limits.event, 10)+" bytes")
	case errors.Is(err, rawjson.ErrTooDeep):
		w.fail("limit", "it is nested deeper than limits.depth, "+strconv.Itoa(w.e.limits.depth)+" levels")
	case errors.Is(err, mcp.ErrUnfilterable):
		w.fail("unfilterable", "it cannot be filtered: "+err.Error())
	default:
		w.fail("transport", err.Error())
	}
}

// fail replaces the answer, or ends the stream, with an error that says nothing
// of the server's. A limit is named to the client too.
func (w *responseWriter) fail(reason, detail string) {
	w.ended = true
	text := "the server's answer was withheld by the gateway"
	if reason == "limit" {
		text += ": " + detail
	}
	metrics.withheld.with([1]string{reason}).Inc()
	w.e.logger.Error("answer withheld", zap.String("reason", detail), zap.String("rpc_method", w.e.methodName()))
	failure := &mcp.Error{Status: http.StatusBadGateway, Code: mcp.CodeInternalError, Message: text, ID: w.e.requestID()}
	takeTrailers(w.Header(), w.before) // they belong to what is withheld
	if w.mode == stream {
		// A client that has gone away is no error of ours.
		_, _ = w.ResponseWriter.Write(mcp.Event{}.WithData(failure.Body()))
	} else {
		w.forgetHeaders()
		writeError(w.ResponseWriter, failure)
	}
	_ = w.flushDown()
}

// bytesHeaders describe the bytes of a body.
var bytesHeaders = []string{"Content-Length", "Etag", "Accept-Ranges", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Last-Modified"}

// describesBytes reports whether a header is about bytes that we may have changed.
func describesBytes(name string) bool { return slices.Contains(bytesHeaders, name) }

// forgetHeaders removes everything that the server and the handlers behind us
// have set: what they say belongs to an answer that is not sent. Cookies of a
// withheld answer would be kept by the client all the same.
func (w *responseWriter) forgetHeaders() {
	h := w.Header()
	clear(h)
	w.own.into(h)
}

// forgetBytes removes headers that describe bytes we have changed.
func forgetBytes(h http.Header) {
	for _, name := range bytesHeaders {
		h.Del(name)
	}
}

func (e *exchange) requestID() rawjson.Value {
	if e.message == nil {
		return nil
	}
	return e.message.ID
}

func (e *exchange) methodName() string {
	if e.message == nil {
		return e.r.Method
	}
	return e.message.Method
}
