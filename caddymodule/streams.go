package caddymodule

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// errStreamEnded is the cause with which a stream is ended by us. The client
// sees a clean end, and resumes or asks anew.
var errStreamEnded = errors.New("stream ended by the gateway")

// bindStream ends a stream that would outlive what allows it: a GET stream or a
// subscription is open for hours, and its token is not. A call that is already
// running may finish.
func (e *exchange) bindStream() (release func()) {
	if !e.streams() {
		return func() {}
	}
	open := metrics.streams.WithLabelValues(e.era().String())
	open.Inc()
	if e.principal.Expiry.IsZero() {
		return open.Dec
	}
	ctx, cancel := context.WithCancelCause(e.r.Context())
	timer := time.AfterFunc(time.Until(e.principal.Expiry)+e.leeway(), func() { cancel(errStreamEnded) })
	e.r = e.r.WithContext(ctx)
	return func() {
		open.Dec()
		timer.Stop()
		cancel(nil)
	}
}

// streams reports whether the request opens a stream without an end of its own.
func (e *exchange) streams() bool {
	return e.r.Method == http.MethodGet || e.message != nil && e.message.Method == "subscriptions/listen"
}

// endedByUs reports whether the answer was cut by bindStream.
func (e *exchange) endedByUs() bool { return errors.Is(context.Cause(e.r.Context()), errStreamEnded) }
