package ratelimit

import (
	"context"
	"sync"
	"time"
)

const (
	// DefaultMaxKeys bounds the counts of one process; some 10 MB.
	DefaultMaxKeys = 50_000
	// sweepInterval is how often at most a full counter looks for counts whose
	// time is over.
	sweepInterval = time.Second
)

// Local counts in this process. When it is full of running counts, new keys are
// counted together until there is room: whoever makes up keys gains nothing
// by it, and the memory is bounded.
type Local struct {
	maxKeys int

	mu       sync.Mutex
	counts   map[string]*count
	overflow map[time.Duration]*count
	swept    time.Time
}

type count struct {
	n    int64
	ends time.Time
}

// NewLocal returns a counter for so many keys at once.
func NewLocal(maxKeys int) *Local {
	return &Local{maxKeys: maxKeys, counts: make(map[string]*count), overflow: make(map[time.Duration]*count)}
}

// Count implements Counter. It never fails.
func (l *Local) Count(_ context.Context, key string, window time.Duration) (n int64, remaining time.Duration, err error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.findLocked(key, window, now)
	if !now.Before(c.ends) {
		*c = count{ends: now.Add(window)}
	}
	c.n++
	return c.n, c.ends.Sub(now), nil
}

// findLocked returns the count for key, whose time may be over.
func (l *Local) findLocked(key string, window time.Duration, now time.Time) *count {
	if c, ok := l.counts[key]; ok {
		return c
	}
	if len(l.counts) >= l.maxKeys && now.Sub(l.swept) >= sweepInterval {
		l.swept = now
		for old, c := range l.counts {
			if !now.Before(c.ends) {
				delete(l.counts, old)
			}
		}
	}
	c := &count{}
	if len(l.counts) < l.maxKeys {
		l.counts[key] = c
		return c
	}
	if shared, ok := l.overflow[window]; ok {
		return shared
	}
	l.overflow[window] = c // as many as there are different windows
	return c
}
