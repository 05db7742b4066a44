package flight

import (
	"context"
	"sync"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/lru"
)

// Group remembers answers for a short time and lets identical questions share
// one flight. Failures are not kept.
type Group[V any] struct {
	timeout time.Duration
	kept    *lru.Cache[Key, V]

	mu       sync.Mutex
	flights  map[Key]*flight[V]
	observe  func(Source)
	answered time.Time
}

// Source is where an answer comes from.
type Source string

// The sources of answers.
const (
	Remembered Source = "remembered" // from memory
	Shared     Source = "shared"     // from a question that was under way
	Asked      Source = "asked"      // from a question of its own
)

// Observe lets f be told of every Get, as it begins. f must not block, and is to
// be set before the first one.
func (g *Group[V]) Observe(f func(Source)) { g.observe = f }

// Answered is when a question last had a good answer, zero if none ever had.
func (g *Group[V]) Answered() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answered
}

func (g *Group[V]) tell(s Source) {
	if g.observe != nil {
		g.observe(s)
	}
}

type flight[V any] struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	value   V
	err     error
}

// New makes a group that keeps at most capacity answers, each for ttl. timeout
// bounds one question, however many requests it takes.
func New[V any](capacity int, ttl, timeout time.Duration) *Group[V] {
	return &Group[V]{timeout: timeout, kept: lru.New[Key, V](capacity, ttl), flights: make(map[Key]*flight[V])}
}

// Get returns the answer under key, asking load if it is not at hand. A caller
// that gives up does not stop a flight others wait for; the last one does.
func (g *Group[V]) Get(ctx context.Context, key Key, load func(context.Context) (V, error)) (V, error) {
	g.mu.Lock()
	if value, ok := g.kept.Get(key); ok {
		g.mu.Unlock()
		g.tell(Remembered)
		return value, nil
	}
	f, source := g.flights[key], Shared
	if f == nil {
		source = Asked
		f = g.launchLocked(ctx, key, load)
	}
	f.waiting++
	g.mu.Unlock()
	g.tell(source)

	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		if f.waiting--; f.waiting == 0 {
			f.cancel()
			if g.flights[key] == f {
				delete(g.flights, key)
			}
		}
		var none V
		return none, ctx.Err()
	}
}

// Forget drops the answer under key, so that the next question is asked anew.
// A flight under way answers its own callers only.
func (g *Group[V]) Forget(key Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept.Delete(key)
	delete(g.flights, key) // what it brings is not kept, see launchLocked
}

// Drop forgets everything, because a server said that its list changed.
func (g *Group[V]) Drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept.Clear()
	clear(g.flights) // those under way answer their own callers only
}

func (g *Group[V]) launchLocked(ctx context.Context, key Key, load func(context.Context) (V, error)) *flight[V] {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.timeout)
	f := &flight[V]{done: make(chan struct{}), cancel: cancel}
	g.flights[key] = f
	go func() {
		defer cancel()
		value, err := load(ctx)
		g.mu.Lock()
		defer g.mu.Unlock()
		f.value, f.err = value, err
		if err == nil {
			g.answered = time.Now()
		}
		close(f.done)
		if g.flights[key] != f {
			return // dropped, or left by everybody, while it was under way
		}
		delete(g.flights, key)
		if err == nil {
			g.kept.Put(key, value)
		}
	}()
	return f
}
