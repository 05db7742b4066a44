package revocation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// group is where entries are in the store.
const group = "revocations"

// loop is what the list's goroutine knows.
type loop struct {
	attached   *attached       // the storage that has been read
	again      time.Time       // when to try a storage again that failed
	dirty      bool            // the store may differ from the list
	unreadable map[string]bool // keys in the store that have been told about
}

// start begins comparing the list with the store, in the list's only goroutine.
func (l *List) start() {
	l.startOnce.Do(func() {
		go func() {
			defer close(l.done)
			defer l.attempt()
			_ = l.store.Watch(l.context, group, l.notice)
		}()
	})
}

// notice handles what the store's watch has found out.
func (l *List) notice(n state.Notice) {
	l.loop.dirty = l.loop.dirty || n.Changed
	if l.unsaved.Swap(false) {
		l.loop.dirty, l.loop.attached = true, nil
	}
	err := n.Err
	if err == nil {
		err = l.attach()
	}
	if err == nil {
		err = l.compare()
	}
	if l.context.Err() != nil {
		return
	}
	switch {
	case err == nil:
		l.confirmed.Store(int64(time.Since(l.base)))
		l.enter(Fresh, nil)
	case l.current.Load() == nil:
		l.enter(Starting, err)
	case l.stale():
		l.enter(Stale, err)
	default:
		l.enter(Unreachable, err)
	}
	l.attempt()
}

// compare makes list and store equal: the later of two entries counts, and what
// the store has lost it gets back.
func (l *List) compare() error {
	if !l.loop.dirty {
		l.dropEnded()
		return nil
	}
	raw, err := l.store.List(l.context, group)
	if err != nil {
		return err
	}
	missing := l.merge(l.decode(raw))
	for _, e := range missing {
		if err := l.put(l.context, e); err != nil {
			return err
		}
	}
	l.loop.dirty = false

	return nil
}

// decode reads the store's entries by id. One that cannot be read is told once.
func (l *List) decode(raw []state.Entry) map[string]Entry {
	shared := make(map[string]Entry, len(raw))
	unreadable := make(map[string]bool)
	for _, r := range raw {
		e, err := decodeEntry(r.Value)
		if err == nil {
			shared[e.ID] = e
			continue
		}
		unreadable[r.Key] = true
		if !l.loop.unreadable[r.Key] {
			l.problem(fmt.Errorf("%s: %w", r.Key, err))
		}
	}
	l.loop.unreadable = unreadable

	return shared
}

// merge takes over entries that supersede those known, and returns the known
// ones that are missing or superseded among the others.
func (l *List) merge(others map[string]Entry) (missing []Entry) {
	now := time.Now()
	l.mu.Lock()
	changed := l.current.Load() == nil
	for id, e := range l.known {
		other, ok := others[id]
		switch {
		case !now.Before(e.Expires) && (!ok || !now.Before(other.Expires)):
			delete(l.known, id)
			changed = true
		case !ok || e.supersedes(other):
			missing = append(missing, e)
		}
	}
	for id, other := range others {
		e, ok := l.known[id]
		if now.Before(other.Expires) && (!ok || !e.equal(other) && !e.supersedes(other)) {
			l.known[id] = other
			changed = true
		}
	}
	l.swapLocked(changed)
	l.mu.Unlock()
	if changed {
		l.announce()
	}

	return missing
}

// dropEnded forgets entries that have ended.
func (l *List) dropEnded() {
	if s := l.current.Load(); s == nil || s.nextEnd.IsZero() || time.Now().Before(s.nextEnd) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for id, e := range l.known {
		if !now.Before(e.Expires) {
			delete(l.known, id)
		}
	}
	l.swapLocked(true)
}

// swapLocked makes what is known the list that counts. Callers hold mu.
func (l *List) swapLocked(changed bool) {
	if changed {
		l.current.Store(newSnapshot(l.known))
	}
}

// publish puts a changed entry into force, and then into store and storage.
func (l *List) publish(ctx context.Context, e Entry) error {
	l.mu.Lock()
	// Before the first answer there is no list to change; the entry is known,
	// and gets into it then.
	known := l.current.Load() != nil
	l.swapLocked(known)
	l.mu.Unlock()
	if known {
		l.announce()
	}
	if err := l.put(ctx, e); err != nil {
		l.unsaved.Store(true)
		return fmt.Errorf("sharing the revocation: %w", err)
	}
	if s := l.storage.Load(); s != nil {
		if err := l.persist(ctx, s); err != nil {
			l.unsaved.Store(true)
			return fmt.Errorf("storing the revocation: %w", err)
		}
	}

	return nil
}

func (l *List) put(ctx context.Context, e Entry) error {
	ttl := min(time.Until(e.Expires), state.MaxTTL)
	if ttl <= 0 {
		return nil
	}
	value, err := json.Marshal(e)
	if err != nil {
		return err
	}

	return l.store.Set(ctx, group+"/"+e.ID, value, ttl)
}

// enter tells a change of state, and the watchers if nobody is let in any more.
func (l *List) enter(s State, err error) {
	l.mu.Lock()
	changed := l.state != s
	l.state = s
	l.mu.Unlock()
	if !changed {
		return
	}
	if l.onState != nil {
		l.onState(s, err)
	}
	if s == Stale {
		l.announce()
	}
}

func (l *List) problem(err error) {
	if l.onProblem != nil {
		l.onProblem(err)
	}
}
