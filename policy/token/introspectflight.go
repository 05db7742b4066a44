package token

import (
	"context"
	"crypto/sha256"
)

// maxInquiries bounds the tokens that wait for an answer. A quarter is kept free
// for known ones.
const maxInquiries = 512

// inquiry is one call and those who wait for it.
type inquiry[V any] struct {
	known   bool
	cancel  context.CancelFunc
	waiters int           // guarded by inquiries.mu
	done    chan struct{} // closed after value and err are set
	value   V
	err     error
}

// join returns the call about a token that is running, or a new one.
func (q *inquiries[V]) join(key [sha256.Size]byte, call func(context.Context) (kept[V], error)) (*inquiry[V], error) {
	known := q.trusted || q.knows(key)

	q.mu.Lock()
	defer q.mu.Unlock()

	if i, ok := q.running[key]; ok {
		i.waiters++
		return i, nil
	}
	limit := maxInquiries
	if !known {
		limit -= maxInquiries / 4
	}
	if len(q.running) >= limit {
		return nil, &callError{reason: "too many tokens wait for an answer"}
	}

	// Nothing of one caller's context may reach a call that others share.
	ctx, cancel := context.WithCancel(context.Background()) //nolint:gosec // run calls it
	i := &inquiry[V]{known: known, cancel: cancel, waiters: 1, done: make(chan struct{})}
	q.running[key] = i
	go q.run(ctx, key, i, call)

	return i, nil
}

func (q *inquiries[V]) leave(key [sha256.Size]byte, i *inquiry[V]) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if i.waiters--; i.waiters == 0 {
		i.cancel()
		q.forgetLocked(key, i)
	}
}

// forgetLocked keeps later callers from joining.
func (q *inquiries[V]) forgetLocked(key [sha256.Size]byte, i *inquiry[V]) {
	if q.running[key] == i {
		delete(q.running, key)
	}
}

func (q *inquiries[V]) run(ctx context.Context, key [sha256.Size]byte, i *inquiry[V], call func(context.Context) (kept[V], error)) {
	defer i.cancel()
	i.value, i.err = q.decide(ctx, key, i.known, call)

	q.mu.Lock()
	q.forgetLocked(key, i)
	q.mu.Unlock()
	close(i.done)
}
