package revocation

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// Config says where a list is kept.
type Config struct {
	// Store is what all replicas share.
	Store state.Store
	// MaxStale is how long the list is trusted while the store cannot be
	// reached. Zero means DefaultMaxStale.
	MaxStale time.Duration
	// OnState, if set, is told about every change of the list's state, with
	// the error behind it. It must not block.
	OnState func(State, error)
	// OnProblem, if set, is told about single entries that cannot be read or
	// written. It must not block.
	OnProblem func(error)
}

// State says how far a list can be trusted.
type State string

const (
	// Starting means that the store has not answered yet: nobody is let in.
	Starting State = "starting"
	// Fresh means that the list agrees with the store.
	Fresh State = "fresh"
	// Unreachable means that the store does not answer and the last list is used.
	Unreachable State = "unreachable"
	// Stale means that it has not answered for too long: nobody is let in.
	Stale State = "stale"
)

// Status is a moment's view of a list, for metrics and diagnosis.
type Status struct {
	State State
	// Entries in force.
	Entries int
	// Age is how long ago the list was compared with the store.
	Age time.Duration
}

// List is the revocations in force. It is safe for concurrent use.
type List struct {
	store     state.Store
	maxStale  time.Duration
	onState   func(State, error)
	onProblem func(error)
	storage   atomic.Pointer[attached] // nil unless UseStorage was called

	base      time.Time                // ages are counted from here, by the monotonic clock
	current   atomic.Pointer[snapshot] // nil before the store's first answer
	confirmed atomic.Int64             // when the store last agreed, since base
	unsaved   atomic.Bool              // some entry is not in the store or the storage

	context     context.Context //nolint:containedctx // the list's own lifetime
	cancel      context.CancelFunc
	startOnce   sync.Once
	attempted   chan struct{} // closed after the first answer or failure
	attemptOnce sync.Once
	done        chan struct{} // closed when the goroutine has ended
	loop        loop          // only the goroutine touches it

	mu    sync.Mutex
	known map[string]Entry // by id, with those lifted
	state State            // empty before the first answer or failure

	watchMu  sync.Mutex
	watchers map[*watcher]struct{}

	persistMu sync.Mutex // one writer of the storage at a time
}

// New returns a list that asks the store from its first use on. Close it when
// it is no longer used.
func New(config Config) *List {
	l := &List{
		store: config.Store, maxStale: config.MaxStale, onState: config.OnState, onProblem: config.OnProblem,
		base: time.Now(), known: make(map[string]Entry),
		attempted: make(chan struct{}), done: make(chan struct{}), watchers: make(map[*watcher]struct{}),
	}
	if l.maxStale == 0 {
		l.maxStale = DefaultMaxStale
	}
	l.context, l.cancel = context.WithCancel(context.Background())

	return l
}

// Check returns nil, ErrRevoked or ErrStale. Only before the store's first
// answer does it wait, for that or for the context.
func (l *List) Check(ctx context.Context, c Caller) error {
	if l.current.Load() == nil && c != (Caller{}) {
		l.start()
		select {
		case <-l.attempted:
		case <-ctx.Done():
			return ErrStale
		}
	}

	return l.judge(c)
}

// Guard calls end, at most once and from another goroutine, as soon as Check
// would refuse the caller, who has been checked before. It is for what outlives
// a check: streams and running calls. end must not block. release ends the
// guard.
func (l *List) Guard(c Caller, end func(error)) (release func()) {
	if c == (Caller{}) {
		return func() {}
	}
	l.start()

	return l.watch(&watcher{caller: c, end: end})
}

// OnChange calls f after every change of the list and when it becomes stale,
// one call at a time. f must not block. stop ends it.
func (l *List) OnChange(f func()) (stop func()) {
	first := true

	return l.watch(&watcher{call: func() {
		if !first {
			f()
		}
		first = false
	}})
}

// Revoke puts an entry into force here at once and into the store. After an
// error that wraps [state.ErrUnavailable] it is in force in this process, and
// follows into the store when that is back; but only a nil error promises that
// a restart does not lose it.
func (l *List) Revoke(ctx context.Context, r Request) (Entry, error) {
	if err := r.check(); err != nil {
		return Entry{}, err
	}
	l.start()
	l.mu.Lock()
	e := r.entry(time.Now())
	old, exists := l.known[e.ID]
	switch {
	case !exists && len(l.known) >= MaxEntries:
		l.mu.Unlock()
		return Entry{}, ErrFull
	case exists:
		// Never for a shorter time than somebody else has asked for.
		e = e.after(old)
		if !old.Lifted && old.Expires.After(e.Expires) {
			e.Expires = old.Expires
		}
	}
	l.known[e.ID] = e
	l.mu.Unlock()

	return e, l.publish(ctx, e)
}

// Lift takes an entry back, as Revoke made it. ErrNotFound says that there is
// none in force.
func (l *List) Lift(ctx context.Context, id string) error {
	l.start()
	l.mu.Lock()
	old, ok := l.known[id]
	if !ok || old.Lifted || !time.Now().Before(old.Expires) {
		l.mu.Unlock()
		return ErrNotFound
	}
	e := old
	e.Changed = time.Now().UTC().Truncate(time.Millisecond)
	e = e.after(old)
	e.Lifted = true
	l.known[id] = e
	l.mu.Unlock()

	return l.publish(ctx, e)
}

// Entries lists what is in force, the latest first, after waiting for the
// store's first answer. ErrStale says that this is not known.
func (l *List) Entries(ctx context.Context) ([]Entry, error) {
	l.start()
	select {
	case <-l.attempted:
	case <-ctx.Done():
		return nil, ErrStale
	}
	if l.stale() {
		return nil, ErrStale
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := slices.Collect(maps.Values(l.known))
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Lifted || !time.Now().Before(e.Expires) })
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.ID, b.ID)) })

	return entries, nil
}

// Status describes the list.
func (l *List) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	status := Status{State: cmp.Or(l.state, Starting)}
	if s := l.current.Load(); s != nil {
		status.Entries = s.entries
		status.Age = l.age()
	}

	return status
}

// Close ends the comparing with the store and waits for it. Checks go on with
// the last list until it is stale, for requests that are still running.
func (l *List) Close() {
	l.cancel()
	l.startOnce.Do(func() { close(l.done) })
	<-l.done
	l.attempt()
}

// judge is Check without the waiting.
func (l *List) judge(c Caller) error {
	switch {
	case c == (Caller{}):
		return nil
	case l.stale():
		return ErrStale
	case l.current.Load().revokes(c):
		return ErrRevoked
	}

	return nil
}

// attempt lets those go on who wait for the store's first answer.
func (l *List) attempt() { l.attemptOnce.Do(func() { close(l.attempted) }) }

func (l *List) stale() bool { return l.current.Load() == nil || l.age() > l.maxStale }

func (l *List) age() time.Duration {
	return time.Since(l.base) - time.Duration(l.confirmed.Load())
}

// after makes e later than old, whatever the clocks of the replicas say.
func (e Entry) after(old Entry) Entry {
	if !e.Changed.After(old.Changed) {
		e.Changed = old.Changed.Add(time.Millisecond)
	}

	return e
}
