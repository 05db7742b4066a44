package token

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// refusalTTL is how long a refusal is repeated without asking. It is short,
	// because a token may reach the answering server a moment after its bearer.
	refusalTTL = 5 * time.Second
	// knownFor is how long a token counts as known after its last good answer.
	knownFor = 10 * time.Minute
)

// CallStats describe the use of an endpoint.
type CallStats struct {
	// Calls were made, of which Failures gave no usable answer. Hits were
	// answered from memory, good and bad.
	Calls, Failures, Hits uint64
	// Down says that the endpoint is left alone for a moment, or being tried
	// again, and Reason why.
	Down   bool
	Reason string
}

// inquiries ask an endpoint about tokens. Answers are remembered, equal
// questions share one call, and calls are bounded and stop while they fail. A
// caller who leaves does not cancel the call for the others; the last one does.
type inquiries[V any] struct {
	endpoint *endpoint
	now      func() time.Time
	good     *answerMemory[V]
	refused  *answerMemory[error]
	circuit  circuit
	gate     gate
	trusted  bool // every token counts as known

	calls, failures, hits atomic.Uint64

	mu      sync.Mutex
	running map[[sha256.Size]byte]*inquiry[V]
}

func newInquiries[V any](e *endpoint, cacheSize, concurrent int) *inquiries[V] {
	return &inquiries[V]{
		endpoint: e,
		now:      time.Now,
		good:     newAnswerMemory[V](cacheSize, knownFor),
		refused:  newAnswerMemory[error](cacheSize, 0),
		gate:     newGate(concurrent),
		running:  make(map[[sha256.Size]byte]*inquiry[V]),
	}
}

// ask returns what is remembered, or what call says. An error of type
// *callError is not remembered, any other is a refusal, for a short time.
func (q *inquiries[V]) ask(ctx context.Context, key [sha256.Size]byte, call func(context.Context) (kept[V], error)) (V, error) {
	var none V
	if value, ok, err := q.recall(key); ok {
		q.hits.Add(1)
		return value, err
	}
	i, err := q.join(key, call)
	if err != nil {
		return none, err
	}

	select {
	case <-i.done:
		return i.value, i.err
	case <-ctx.Done():
		q.leave(key, i)
		return none, &callError{reason: "the caller did not wait for the answer"}
	}
}

// recall reports whether an answer is remembered.
func (q *inquiries[V]) recall(key [sha256.Size]byte) (value V, ok bool, err error) {
	now := q.now()
	if entry, ok := q.good.get(key); ok && now.Before(entry.until) {
		return entry.value, true, nil
	}
	if entry, ok := q.refused.get(key); ok && now.Before(entry.until) {
		return value, true, entry.value
	}

	return value, false, nil
}

// knows reports whether the token was good a moment ago.
func (q *inquiries[V]) knows(key [sha256.Size]byte) bool {
	entry, ok := q.good.get(key)
	return ok && q.now().Before(entry.until.Add(knownFor))
}

// decide makes the call, if the memory, the gate and the circuit let it.
func (q *inquiries[V]) decide(ctx context.Context, key [sha256.Size]byte, known bool, call func(context.Context) (kept[V], error)) (V, error) {
	var none V
	// The answer may have come between the caller's look and this call.
	if value, ok, err := q.recall(key); ok {
		return value, err
	}
	if !q.enter(ctx, known) {
		return none, &callError{reason: "too many calls are running"}
	}
	defer q.gate.leave(known)
	if failure := q.circuit.allow(q.now()); failure != nil {
		return none, failure
	}

	q.calls.Add(1)
	answer, err := call(ctx)
	now := q.now()
	failure, failed := errors.AsType[*callError](err)
	switch {
	case failed && ctx.Err() != nil:
		q.circuit.abandon()
		return none, failure
	case failed:
		q.failures.Add(1)
		q.circuit.record(now, failure)
		return none, failure
	}
	q.circuit.record(now, nil)
	if err != nil {
		q.good.drop(key)
		q.refused.put(key, kept[error]{value: err, until: now.Add(refusalTTL), size: len(err.Error())}, now)
		return none, err
	}
	q.good.put(key, answer, now)

	return answer.value, nil
}

func (q *inquiries[V]) enter(ctx context.Context, known bool) bool {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()

	return q.gate.enter(ctx, known)
}

func (q *inquiries[V]) stats() CallStats {
	s := CallStats{Calls: q.calls.Load(), Failures: q.failures.Load(), Hits: q.hits.Load()}
	s.Down, s.Reason = q.circuit.state()

	return s
}
