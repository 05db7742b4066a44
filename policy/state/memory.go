package state

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// maxGroupBytes bounds the values of one group of a Memory, beside the number
// of its entries.
const maxGroupBytes = 64 << 20

// errClosed is what a closed store answers.
var errClosed = fmt.Errorf("%w: closed", ErrUnavailable)

// Memory is a [Store] within this process. Its entries end with the process
// and are not shared with other replicas; it can always be reached.
//
// It has no goroutine: entries that have ended are removed by later writes to
// their group, and a full group forgets what was not used for longest.
type Memory struct {
	maxEntries int

	mu     sync.Mutex
	groups map[string]*memoryGroup
	closed chan struct{}
}

// NewMemory returns an empty store whose groups hold maxEntries each. Zero
// means DefaultMaxEntries.
func NewMemory(maxEntries int) *Memory {
	if maxEntries <= 0 {
		maxEntries = DefaultMaxEntries
	}

	return &Memory{maxEntries: maxEntries, groups: make(map[string]*memoryGroup), closed: make(chan struct{})}
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, key string) (value []byte, err error) {
	group, name, err := splitKey(key)
	if err != nil {
		return nil, err
	}
	err = m.do(ctx, group, func(g *memoryGroup) error {
		e := g.find(name, time.Now())
		if e == nil {
			return ErrNotFound
		}
		value = append([]byte{}, e.value...)
		return nil
	})

	return value, err
}

// Set implements [Store].
func (m *Memory) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	group, name, err := checkSet(key, value, ttl)
	if err != nil {
		return err
	}

	return m.do(ctx, group, func(g *memoryGroup) error {
		now := time.Now()
		g.put(memoryEntry{name: name, value: append([]byte{}, value...), expires: now.Add(ttl)}, now)
		g.change()
		return nil
	})
}

// Keep implements [Store].
func (m *Memory) Keep(ctx context.Context, key string, value []byte, ttl time.Duration) (kept []byte, err error) {
	group, name, err := checkSet(key, value, ttl)
	if err != nil {
		return nil, err
	}
	err = m.do(ctx, group, func(g *memoryGroup) error {
		now := time.Now()
		old := g.find(name, now)
		if old != nil {
			value = old.value
		}
		kept = append([]byte{}, value...)
		g.put(memoryEntry{name: name, value: append([]byte{}, value...), counter: old != nil && old.counter, expires: now.Add(ttl)}, now)
		if old == nil {
			g.change()
		}
		return nil
	})

	return kept, err
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, key string) error {
	group, name, err := splitKey(key)
	if err != nil {
		return err
	}

	return m.do(ctx, group, func(g *memoryGroup) error {
		if e := g.find(name, time.Now()); e != nil {
			g.remove(e)
			g.change()
		}
		return nil
	})
}

// Incr implements [Store].
func (m *Memory) Incr(ctx context.Context, key string, window time.Duration) (count Count, err error) {
	group, name, err := checkSet(key, nil, window)
	if err != nil {
		return Count{}, err
	}
	err = m.do(ctx, group, func(g *memoryGroup) error {
		now := time.Now()
		count = Count{Value: 1, Remaining: window, Now: now}
		e := g.find(name, now)
		if e == nil {
			g.put(memoryEntry{name: name, value: []byte("1"), counter: true, expires: now.Add(window)}, now)
			return nil
		}
		value, err := strconv.ParseInt(string(e.value), 10, 64)
		if err != nil {
			return errors.New("state: the entry is not a counter")
		}
		count.Value, count.Remaining = value+1, e.expires.Sub(now)
		next := *e
		next.value = strconv.AppendInt(nil, count.Value, 10)
		g.put(next, now)
		return nil
	})

	return count, err
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, group string) (entries []Entry, err error) {
	if err := checkGroup(group); err != nil {
		return nil, err
	}
	err = m.do(ctx, group, func(g *memoryGroup) error {
		now := time.Now()
		for name, e := range g.entries {
			if !e.counter && now.Before(e.expires) {
				entries = append(entries, Entry{Key: group + "/" + name, Value: append([]byte{}, e.value...)})
			}
		}
		return nil
	})

	return entries, err
}

// Watch implements [Store].
func (m *Memory) Watch(ctx context.Context, group string, notify func(Notice)) error {
	if err := checkGroup(group); err != nil {
		return err
	}
	tick := time.NewTicker(WatchInterval)
	defer tick.Stop()
	for known, first := uint64(0), true; ; first = false {
		var version uint64
		var changed <-chan struct{}
		err := m.do(ctx, group, func(g *memoryGroup) error {
			version, changed = g.version, g.changed
			return nil
		})
		if err != nil {
			return err
		}
		notify(Notice{Changed: first || version != known})
		known = version
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.closed:
			return errClosed
		case <-changed:
		case <-tick.C:
		}
	}
}

// Close implements [Store].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups != nil {
		m.groups = nil
		close(m.closed)
	}

	return nil
}

// do runs f on a group, which is made if need be.
func (m *Memory) do(ctx context.Context, group string, f func(*memoryGroup) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		return errClosed
	}
	g := m.groups[group]
	if g == nil {
		g = newMemoryGroup(m.maxEntries)
		m.groups[group] = g
	}

	return f(g)
}

// Interface guard
var _ Store = (*Memory)(nil)
