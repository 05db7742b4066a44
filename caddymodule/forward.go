package caddymodule

import (
	"errors"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
)

// forward sends the request on and the answer back, rewritten.
func (e *exchange) forward(w http.ResponseWriter, cors http.Header) (err error) {
	e.bind()
	defer e.release()
	e.questions()
	e.prefetch()
	if err := e.assertions.assert(e.r, e.identity.prefix, e.principal, e.route.resource); err != nil {
		e.logger.Error("assertion cannot be signed", zap.Error(err))
		writeError(w, &mcp.Error{Status: http.StatusServiceUnavailable, Code: mcp.CodeInternalError, Message: "temporarily unavailable", ID: e.requestID()})
		return nil
	}
	rw := newResponseWriter(w, e, cors)
	defer rw.stop()
	defer func() {
		// reverse_proxy aborts this way when its copy loop meets an error.
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
				panic(v)
			}
			err = e.aborted(w, rw)
		}
	}()
	err = e.next.ServeHTTP(rw, e.r)
	switch {
	case rw.ended:
		return nil
	case e.endedByUs():
		return e.endUnanswered(w, rw)
	case err != nil && rw.unsent():
		rw.forgetHeaders()
		return e.upstreamFailed(w, err)
	case err != nil:
		return err
	default:
		e.noteStart(rw.status)
		return rw.finish()
	}
}

// aborted decides what becomes of an answer whose copying was aborted: nothing,
// where the client has a complete answer or a clean end; an error, where nothing
// has been sent yet; a visibly broken connection otherwise.
func (e *exchange) aborted(w http.ResponseWriter, rw *responseWriter) error {
	switch {
	case rw.ended:
		return nil
	case e.endedByUs():
		return e.endUnanswered(w, rw)
	case rw.unsent():
		rw.forgetHeaders()
		return e.upstreamFailed(w, errors.New("the server broke off its answer"))
	default:
		panic(http.ErrAbortHandler)
	}
}

// endUnanswered answers a call that was ended by us before anything of an answer
// was sent. Streams, and answers that had begun, just end.
func (e *exchange) endUnanswered(w http.ResponseWriter, rw *responseWriter) error {
	if !e.streams() && e.message != nil && rw.unsent() {
		rw.forgetHeaders()
		writeError(w, &mcp.Error{Status: http.StatusServiceUnavailable, Code: mcp.CodeInternalError, Message: "the call was ended before its answer", ID: e.requestID()})
	}
	return nil
}

// upstreamFailed answers for a server that could not be reached. The client gets
// a JSON-RPC error, since a bare 502 would look to it like a server of another
// era; the reason is for the log.
func (e *exchange) upstreamFailed(w http.ResponseWriter, err error) error {
	if e.r.Context().Err() != nil {
		return err // the client has gone; nobody to answer
	}
	if e.affinity.pinned != "" && len(e.Upstreams) > 1 {
		// The session died with its upstream; another one can begin anew.
		e.logger.Warn("upstream of a session is gone", zap.String("upstream", e.affinity.pinned), zap.Error(err))
		writeError(w, sessionGone(e))
		return nil
	}
	status := http.StatusBadGateway
	var handler caddyhttp.HandlerError
	if errors.As(err, &handler) && handler.StatusCode != 0 {
		status = handler.StatusCode
	}
	e.noteStart(status)
	e.logger.Error("server did not answer", zap.Int("status", status), zap.Error(err))
	writeError(w, &mcp.Error{Status: status, Code: mcp.CodeInternalError, Message: http.StatusText(status), ID: e.requestID()})
	return nil
}
