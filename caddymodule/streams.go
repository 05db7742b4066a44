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

// bindStream ends a stream that would outlive what allows it: the token, or the
// configuration whose rules it was opened under. A GET stream or a subscription
// is open for hours; a call that is already running may finish.
func (e *exchange) bindStream() (release func()) {
	if !e.streams() {
		return func() {}
	}
	ctx, cancel := context.WithCancelCause(e.r.Context())
	end := func() { cancel(errStreamEnded) }
	e.r = e.r.WithContext(ctx)
	open := metrics.streams.WithLabelValues(e.era().String())
	open.Inc()
	// Caddy cancels the context of a configuration when the next one has taken
	// over; without this, streams would go on under the old rules for good.
	reloaded := context.AfterFunc(e.config, func() { time.AfterFunc(time.Duration(e.StreamCloseDelay), end) })
	var expired *time.Timer
	if !e.principal.Expiry.IsZero() {
		expired = time.AfterFunc(time.Until(e.principal.Expiry)+e.leeway(), end)
	}
	return func() {
		open.Dec()
		reloaded()
		if expired != nil {
			expired.Stop()
		}
		cancel(nil)
	}
}

// streams reports whether the request opens a stream without an end of its own.
func (e *exchange) streams() bool {
	return e.r.Method == http.MethodGet || e.message != nil && e.message.Method == "subscriptions/listen"
}

// endedByUs reports whether the answer was cut by bindStream.
func (e *exchange) endedByUs() bool { return errors.Is(context.Cause(e.r.Context()), errStreamEnded) }
