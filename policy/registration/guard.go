package registration

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

const (
	// lookInterval is how often each guarded registration is looked up although
	// nothing is said to have changed: entries that end by themselves are not
	// told, and clocks may differ.
	lookInterval = 5 * time.Second
	// maxBlind is how long guarded streams go on while the store cannot be
	// asked. No answer is not a yes.
	maxBlind = 10 * time.Second
)

// errUnknown is why a stream ends that nobody can vouch for any more.
var errUnknown = errors.New("registration: the shared state cannot be asked")

// EndedError is why a registration has ended.
type EndedError struct{ Reason string }

// Error implements error.
func (e *EndedError) Error() string { return "registration ended: " + e.Reason }

// guards watch registrations of running exchanges. One goroutine does it for all
// of them, as long as there are any.
type guards struct {
	registry *Registry

	mu      sync.Mutex
	watched map[*guard]struct{}
	stop    context.CancelFunc
}

type guard struct {
	reg    *Registration
	end    func(error)
	looked atomic.Bool // since it was added
	once   sync.Once
}

// Guard calls end, once and from another goroutine, when the registration has
// ended or nothing is known about it for long. release must be called.
func (r *Registry) Guard(reg *Registration, end func(reason error)) (release func()) {
	g, one := &r.guards, &guard{reg: reg, end: end}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.watched) == 0 {
		var ctx context.Context
		ctx, g.stop = context.WithCancel(context.Background())
		g.watched = make(map[*guard]struct{})
		go g.watch(ctx)
	}
	g.watched[one] = struct{}{}
	return func() { g.drop(one) }
}

func (g *guards) drop(one *guard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.watched[one]; !ok {
		return
	}
	delete(g.watched, one)
	if len(g.watched) == 0 {
		g.stop()
	}
}

// watch looks after all guarded registrations until there are none.
func (g *guards) watch(ctx context.Context) {
	var blind, looked time.Time
	err := g.registry.store.Watch(ctx, group, func(n state.Notice) {
		now := time.Now()
		if n.Err != nil {
			if blind.IsZero() {
				blind = now
			}
			if now.Sub(blind) > maxBlind {
				g.each(func(*guard) error { return errUnknown })
			}
			return
		}
		blind = time.Time{}
		everything := n.Changed || now.Sub(looked) >= lookInterval
		if everything {
			looked = now
		}
		g.each(func(one *guard) error {
			// One that was added a moment ago may have ended before.
			if first := !one.looked.Swap(true); !everything && !first && now.Before(one.reg.Expires) {
				return nil
			}
			return g.registry.ended(ctx, one.reg)
		})
	})
	if ctx.Err() == nil && err != nil { // the store was closed under us
		g.each(func(*guard) error { return errUnknown })
	}
}

// each asks about every guarded registration and ends those that are no more.
func (g *guards) each(ask func(*guard) error) {
	g.mu.Lock()
	all := slices.Collect(maps.Keys(g.watched))
	g.mu.Unlock()
	for _, one := range all {
		if reason := ask(one); reason != nil {
			one.once.Do(func() { go one.end(reason) })
		}
	}
}

// ended returns why a registration has ended, nil if it has not, or if that is
// not known at the moment.
func (r *Registry) ended(ctx context.Context, reg *Registration) error {
	found, err := r.read(ctx, reg.Handle)
	switch {
	case errors.Is(err, ErrNotFound):
		return &EndedError{Expired}
	case err != nil:
		return nil
	case found.Ended != "":
		return &EndedError{found.Ended}
	default:
		return nil
	}
}
