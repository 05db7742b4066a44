package caddymodule

import (
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

// The events that handlers of Caddy's events app can act on.
const (
	eventDenied     = "mcp_app_denied"              // a request was not let through
	eventRevoked    = "mcp_app_revoked"             // a stream or a call was ended, its caller's access being taken back
	eventAdvertised = "mcp_app_upstream_advertised" // the server says something new about itself
)

// maxEvents bounds how many events wait for a handler. Handlers run one after
// another, beside the requests: what comes while so many wait is lost, since a
// flood of refusals must not become one of processes.
const maxEvents = 256

// appEvents hands events to Caddy's events app without waiting for its handlers.
type appEvents struct {
	ctx  caddy.Context
	emit func(ctx caddy.Context, name string, data map[string]any)
	// wanted reports whether anybody would notice.
	wanted func(name string) bool

	start sync.Once
	queue chan namedEvent
}

type namedEvent struct {
	name string
	data map[string]any
}

// openEvents finds the events app of a configuration.
func openEvents(ctx caddy.Context) (*appEvents, error) {
	app, err := ctx.App("events")
	if err != nil {
		return nil, err
	}
	events, ok := app.(*caddyevents.App)
	if !ok {
		return nil, nil
	}
	return newAppEvents(ctx, func(ctx caddy.Context, name string, data map[string]any) { events.Emit(ctx, name, data) }, events.ShouldEmit), nil
}

func newAppEvents(ctx caddy.Context, emit func(caddy.Context, string, map[string]any), wanted func(string) bool) *appEvents {
	return &appEvents{ctx: ctx, emit: emit, wanted: wanted, queue: make(chan namedEvent, maxEvents)}
}

// tell emits an event. data is called only if somebody wants it.
func (a *appEvents) tell(name string, data func() map[string]any) {
	if a == nil || !a.wanted(name) {
		return
	}
	a.start.Do(func() { go a.run() })
	select {
	case a.queue <- namedEvent{name, data()}:
	default:
	}
}

// run ends with the configuration.
func (a *appEvents) run() {
	for {
		select {
		case e := <-a.queue:
			a.emit(a.ctx, e.name, e.data)
		case <-a.ctx.Done():
			return
		}
	}
}

// tellDecision emits what a record of the audit log says about a caller who was
// not let through, or not any longer; but for the reason, since Caddy writes
// events into its own log, where reasons should not be.
func (m *Handler) tellDecision(t *trail, d decided) {
	name := eventDenied
	switch {
	case d.decision == decisionEnd && d.cause == causeRevoked:
		name = eventRevoked
	case d.decision == decisionEnd, d.cause == causeNoToken: // how every login begins
		return
	}
	m.events.tell(name, func() map[string]any {
		rec := m.recordOf(t, d)
		return map[string]any{
			"endpoint": rec.Endpoint, "decision": rec.Decision, "cause": rec.Cause, "rule": rec.Rule,
			"era": rec.Era, "method": rec.Method, "name": rec.Name, "issuer": rec.Issuer, "subject": rec.Subject,
			"tenant": rec.Tenant, "client_id": rec.ClientID, "remote_ip": rec.RemoteIP, "uuid": rec.ID,
		}
	})
}

// tellAdvertised emits what a handshake says of the server, where it is new.
func (m *Handler) tellAdvertised(said openai.Advertisement) {
	m.events.tell(eventAdvertised, func() map[string]any {
		return map[string]any{
			"endpoint": m.Path, "settings_read": loggable(said.ReadTool), "settings_update": loggable(said.UpdateTool),
			"mentions_search": loggable(said.SearchTool),
		}
	})
}
