package caddymodule

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/membership"
)

// errStreamEnded is the cause with which a stream is ended by us. The client
// sees a clean end, and resumes or asks anew.
var errStreamEnded = errors.New("stream ended by the gateway")

// endedError is errStreamEnded with one of the causes.
type endedError struct{ cause string }

func (e *endedError) Error() string { return errStreamEnded.Error() + ": " + e.cause }

// Unwrap makes it one of its kind.
func (e *endedError) Unwrap() error { return errStreamEnded }

// membershipInterval is how often a running exchange asks whether its caller is
// still a member, where the source does not tell by itself. Sources remember
// their answers, so that this costs little.
const membershipInterval = time.Second

// bind ends an exchange that would outlive what allows it. Streams without an
// end of their own end with the token and with the configuration whose rules
// they were opened under; a call that is running may finish after both. Nothing
// goes on for a caller who is revoked or no member any more.
//
// Every call is bound, and few are ever cut: what is made ready here for that is
// kept in the exchange, so that it costs little.
func (e *exchange) bind() {
	e.trail = trailOf(e.r)
	if e.streams() { // whose end is news; an id for every call would be dear
		e.trail.correlate(e.r)
	}
	e.bound[0] = e.watchMembership()
	if e.principal.Subject != "" {
		e.bound[1] = e.state.guard(e.principal, e.revoked)
	}
	e.bound[2] = e.guardRegistration()
	// Caddy cancels the context of a configuration when the next one has taken
	// over; without this, streams would go on under the old rules for good.
	if e.streams() {
		e.bound[3] = e.bindStream()
		e.unbind = context.AfterFunc(e.config, e.streamUnloaded)
	} else {
		e.unbind = context.AfterFunc(e.config, e.callUnloaded)
	}
}

// release gives back what bind took.
func (e *exchange) release() {
	e.countEnd(e.trail)
	e.trail.cancel(nil)
	e.unbind()
	for _, release := range e.bound {
		if release != nil {
			release()
		}
	}
}

// cut ends the exchange.
func (e *exchange) cut(cause string) { e.trail.cancel(&endedError{cause}) }

// end ends the exchange and says so. It may be called beside the goroutine that
// serves the request.
func (e *exchange) end(cause, reason string) {
	e.write(e.trail, decided{decision: decisionEnd, cause: cause, reason: reason})
	e.cut(cause)
}

func (e *exchange) revoked(reason error) { e.end(causeRevoked, reason.Error()) }

// bindStream watches the token of a stream.
func (e *exchange) bindStream() (release func()) {
	open := metrics.streams.WithLabelValues(e.era().String())
	open.Inc()
	var expired *time.Timer
	if !e.principal.Expiry.IsZero() {
		expired = time.AfterFunc(time.Until(e.principal.Expiry)+e.leeway(), func() { e.cut(causeExpired) })
	}
	return func() {
		open.Dec()
		if expired != nil {
			expired.Stop()
		}
	}
}

// countEnd says in the metrics why an exchange is over. ctx is its context,
// before that is released.
func (e *exchange) countEnd(ctx context.Context) {
	ended, byUs := errors.AsType[*endedError](context.Cause(ctx))
	switch {
	case byUs && e.streams():
		metrics.streamsEnded.with([1]string{causeLabel(ended.cause)}).Inc()
	case byUs:
		metrics.callsEnded.with([1]string{causeLabel(ended.cause)}).Inc()
	case !e.streams():
	case ctx.Err() != nil:
		metrics.streamsEnded.with([1]string{causeClient}).Inc()
	default:
		metrics.streamsEnded.with([1]string{causeServer}).Inc()
	}
}

// watchMembership ends the exchange when its caller is no member any more. A
// source that tells of changes is waited for, others are asked again and again;
// one that cannot be asked ends the exchange too: no answer is not a yes. A
// stream also ends when the membership has become another one, since its events
// were judged by the old; the client opens it again.
func (e *exchange) watchMembership() (release func()) {
	if e.members == nil {
		return nil
	}
	if watcher, ok := e.members.(membership.Watcher); ok {
		p := e.principal
		stop := watcher.Watch(membership.Identity{Issuer: p.Issuer, Subject: p.Subject, Tenant: p.Tenant}, func() {
			e.lookAgain(true)
		})
		// What changed between admission and now was told to nobody.
		e.lookAgain(false)
		return stop
	}
	return e.pollMembership()
}

// pollMembership asks again and again.
func (e *exchange) pollMembership() (release func()) {
	var timer *time.Timer
	var mu sync.Mutex
	look := func() {
		if !e.lookAgain(false) {
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

// lookAgain looks the caller up and reports whether the exchange may go on.
// changed says that the membership is known to be another one than before.
func (e *exchange) lookAgain(changed bool) bool {
	ctx, p := e.trail, e.principal
	member, err := e.members.Member(ctx, p.Issuer, p.Subject, p.Tenant)
	reason := ""
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		reason = "the membership cannot be looked up: " + err.Error()
	case !member.Member:
		reason = "the caller is no member any more"
	case e.streams() && (changed || e.narrower(member)):
		reason = "the caller's membership has changed"
	default:
		return true
	}
	e.end(causeMembership, reason)
	return false
}

// narrower reports whether a membership is another one than that under which the
// caller came in: other roles, or scopes taken away.
func (e *exchange) narrower(member membership.Membership) bool {
	now := *e.principal
	e.rules.Narrow(&now, member.Scopes)
	return !slices.Equal(member.Roles, e.principal.Roles) || !slices.Equal(now.Scopes, e.principal.Scopes)
}

// streams reports whether the request opens a stream without an end of its own.
func (e *exchange) streams() bool {
	return e.r.Method == http.MethodGet || e.message != nil && e.message.Method == "subscriptions/listen"
}

// endedByUs reports whether the answer was cut by bind.
func (e *exchange) endedByUs() bool { return errors.Is(context.Cause(e.r.Context()), errStreamEnded) }
