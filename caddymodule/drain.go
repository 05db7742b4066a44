package caddymodule

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
)

// defaultCallDrain is how long a running call may go on after a reload.
const defaultCallDrain = 5 * time.Minute

// drain keeps what a configuration holds until the last exchange under it is
// done: a running call outlives the configuration, and must still be told when
// its caller is revoked or no member any more. The zero value is ready.
type drain struct {
	mu      sync.Mutex
	running int
	release func() // set once the configuration is unloaded
}

// enter notes an exchange, until leave is called once.
func (d *drain) enter() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running++
}

// leave is called once for each enter.
func (d *drain) leave() {
	d.mu.Lock()
	d.running--
	release := d.takeLocked()
	d.mu.Unlock()
	release()
}

// end calls release when no exchange runs any more, at once if none does.
func (d *drain) end(release func()) {
	d.mu.Lock()
	d.release = release
	release = d.takeLocked()
	d.mu.Unlock()
	release()
}

// takeLocked returns what is to be released now.
func (d *drain) takeLocked() func() {
	release := d.release
	if release == nil || d.running > 0 {
		return func() {}
	}
	d.release = nil
	return release
}

// streamUnloaded ends a stream some time after its configuration was unloaded.
func (e *exchange) streamUnloaded() {
	delay := time.Duration(e.StreamCloseDelay)
	if caddy.Exiting() { // without a grace period Caddy waits for every stream
		delay = 0
	}
	if e.lasts(delay) {
		e.cut(causeReload)
	}
}

// callUnloaded ends a call that does not finish in time.
func (e *exchange) callUnloaded() {
	if e.lasts(cmp.Or(time.Duration(e.CallDrain), defaultCallDrain)) {
		e.end(causeReload, "the call went on for longer than call_drain after a reload")
	}
}

// lasts waits, and reports whether the exchange is still not over.
func (e *exchange) lasts(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.trail.Done():
		return false
	}
}

// untilStop is the context of a configuration, done also when the process begins
// to stop: without a grace period Caddy waits for every stream before it
// unloads the configuration.
func untilStop(ctx caddy.Context) (context.Context, error) {
	app, err := ctx.App("events")
	if err != nil {
		return nil, err
	}
	events, ok := app.(*caddyevents.App)
	if !ok {
		return ctx, nil
	}
	until, cancel := context.WithCancel(ctx)
	return until, events.On("stopping", stopHandler(cancel))
}

// stopHandler calls itself when the process, not only a configuration, stops.
type stopHandler func()

// Handle implements caddyevents.Handler.
func (h stopHandler) Handle(context.Context, caddy.Event) error {
	if caddy.Exiting() {
		h()
	}
	return nil
}
