package caddymodule

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// errStreamEnded is the cause with which a stream is ended by us. The client
// sees a clean end, and resumes or asks anew.
var errStreamEnded = errors.New("stream ended by the gateway")

// membershipInterval is how often a running exchange asks whether its caller is
// still a member. Sources remember their answers, so that this costs little.
const membershipInterval = time.Second

// bind ends an exchange that would outlive what allows it. Streams without an
// end of their own end with the token and with the configuration whose rules
// they were opened under; a call that is running may finish after both. Nothing
// goes on for a caller who is revoked or no member any more.
func (e *exchange) bind() (release func()) {
	ctx, cancel := context.WithCancelCause(e.r.Context())
	end := func() { cancel(errStreamEnded) }
	e.r = e.r.WithContext(ctx)
	t := trailOf(e.r)
	if e.streams() { // whose end is news; an id for every call would be dear
		t.correlate(e.r)
	}
	ended := func(cause, reason string) {
		e.write(t, decided{decision: decisionEnd, cause: cause, reason: reason})
		end()
	}
	releases := []func(){func() { cancel(nil) }, e.watchMembership(ctx, ended)}
	if e.principal.Subject != "" {
		releases = append(releases, e.state.guard(e.principal, func(reason error) {
			ended(causeRevoked, reason.Error())
		}))
	}
	releases = append(releases, e.guardRegistration(ended))
	if e.streams() {
		releases = append(releases, e.bindStream(end))
	}
	return func() {
		for _, release := range releases {
			release()
		}
	}
}

// bindStream watches the token and the configuration of a stream.
func (e *exchange) bindStream(end func()) (release func()) {
	open := metrics.streams.WithLabelValues(e.era().String())
	open.Inc()
	// Caddy cancels the context of a configuration when the next one has taken
	// over; without this, streams would go on under the old rules for good.
	unbind := context.AfterFunc(e.config, func() { time.AfterFunc(time.Duration(e.StreamCloseDelay), end) })
	var expired *time.Timer
	if !e.principal.Expiry.IsZero() {
		expired = time.AfterFunc(time.Until(e.principal.Expiry)+e.leeway(), end)
	}
	return func() {
		open.Dec()
		unbind()
		if expired != nil {
			expired.Stop()
		}
	}
}

// watchMembership asks again and again while the exchange runs. A source that
// cannot be asked ends it too: no answer is not a yes.
func (e *exchange) watchMembership(ctx context.Context, ended func(cause, reason string)) (release func()) {
	if e.members == nil {
		return func() {}
	}
	p := e.principal
	var timer *time.Timer
	var mu sync.Mutex
	look := func() {
		member, err := e.members.Member(ctx, p.Issuer, p.Subject, p.Tenant)
		if ctx.Err() != nil {
			return
		}
		if err != nil || !member.Member {
			reason := "the caller is no member any more"
			if err != nil {
				reason = "the membership cannot be looked up: " + err.Error()
			}
			ended(causeMembership, reason)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		timer.Reset(membershipInterval)
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(membershipInterval, look)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
	}
}

// streams reports whether the request opens a stream without an end of its own.
func (e *exchange) streams() bool {
	return e.r.Method == http.MethodGet || e.message != nil && e.message.Method == "subscriptions/listen"
}

// endedByUs reports whether the answer was cut by bind.
func (e *exchange) endedByUs() bool { return errors.Is(context.Cause(e.r.Context()), errStreamEnded) }
