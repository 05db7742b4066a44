package caddymodule

import (
	"context"
	"errors"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// follow tells about a registration at once and then again and again, until it
// has ended, told fails, or one of the contexts is done. A store that cannot be
// asked for a moment is asked again.
func follow(ctx context.Context, stop <-chan struct{}, registry *registration.Registry, handle registration.Handle, p registration.Progress, tell func(registration.Progress) error) error {
	tick := time.NewTicker(state.WatchInterval)
	defer tick.Stop()
	for {
		if tell(p) != nil || p.Ended != "" {
			return nil // a listener that has gone is no error of ours
		}
		select {
		case <-ctx.Done():
			return nil
		case <-stop:
			return nil
		case <-tick.C:
		}
		switch next, err := registry.Progress(ctx, handle); {
		case err == nil:
			p = next
		case errors.Is(err, registration.ErrNotFound): // those that ended otherwise are known for a while
			p.Ended = registration.Expired
		}
	}
}
