package token

import (
	"math/rand/v2"
	"time"
)

const (
	firstRetry       = time.Second      // after a failure without usable keys
	lastRetry        = 30 * time.Second // and its upper bound
	firstStaleRetry  = time.Minute      // after a failure with usable keys
	lastStaleRetry   = 5 * time.Minute  // and its upper bound
	refreshByDefault = 10 * time.Minute // without a max-age from the issuer
)

// flight is one fetch and those who wait for it.
type flight struct {
	done     chan struct{} // closed when it has landed
	err      error         // set before done is closed
	onDemand bool          // a token asked for it, not the clock
	started  time.Time     // zero while it waits for take-off
	waiters  int
}

func newFlight(onDemand bool) *flight {
	return &flight{done: make(chan struct{}), onDemand: onDemand}
}

// takeOff marks the requested fetch, or a new one that is due, as running.
func (k *KeyHolder) takeOff() *flight {
	k.mu.Lock()
	defer k.mu.Unlock()

	if k.flight == nil {
		k.flight = newFlight(false)
	}
	select { // the timer may have won against a request
	case <-k.wake:
	default:
	}
	k.flight.started = k.now()

	return k.flight
}

// land publishes the outcome of a fetch, releases its waiters and returns the
// time until the next one.
func (k *KeyHolder) land(f *flight, result fetchResult, err error, failures *int) time.Duration {
	now := k.now()
	rotated := false
	if err == nil {
		rotated = k.publish(result, now)
	}

	k.mu.Lock()
	delay := k.scheduleLocked(result, err, failures, now)
	k.nextFetch = now.Add(delay)
	// Attempts to get the first keys do not count, so that an issuer that has
	// just come up can be asked about a new key at once.
	if k.usable() != nil {
		k.limiter.fetched(f.onDemand, f.started)
	}
	event, notify := k.recordLocked(f, result, err, rotated, now)
	subscribers := k.subscribers
	k.flight = nil
	f.err = err
	close(f.done)
	k.mu.Unlock()

	if notify {
		for _, s := range subscribers {
			s.notify(event)
		}
	}

	return delay
}

// abandon releases whoever still waits when the holder is closed.
func (k *KeyHolder) abandon() {
	k.mu.Lock()
	defer k.mu.Unlock()

	if f := k.flight; f != nil {
		k.flight = nil
		f.err = errClosed
		close(f.done)
	}
}

// publish makes a fetched key set visible and reports whether it differs from
// the one before.
func (k *KeyHolder) publish(result fetchResult, now time.Time) (rotated bool) {
	before := k.current.Load()
	next := &snapshot{set: result.set, fetchedAt: now, url: result.url, etag: result.etag}
	switch {
	case result.set == nil: // 304: confirmed
		next.set, next.generation, next.etag = before.set, before.generation, before.etag
	case before != nil && before.set.fingerprint == result.set.fingerprint:
		next.generation = before.generation
	default:
		next.generation = generations.Add(1)
		rotated = true
	}
	k.current.Store(next)

	return rotated
}

// scheduleLocked returns the time until the next fetch.
func (k *KeyHolder) scheduleLocked(result fetchResult, err error, failures *int, now time.Time) time.Duration {
	if err == nil {
		*failures = 0
		interval := result.maxAge
		if interval < 0 {
			interval = refreshByDefault
		}
		interval = min(max(interval, k.config.MinRefresh), k.config.MaxRefresh)

		return jitter(interval)
	}

	s := k.usable()
	*failures++
	if s == nil {
		return jitter(backoff(firstRetry, lastRetry, *failures))
	}

	// Try again before the last good keys are too old, at the latest.
	left := s.fetchedAt.Add(k.config.MaxStale).Sub(now)

	return min(jitter(backoff(firstStaleRetry, lastStaleRetry, *failures)), max(left, firstRetry))
}

func backoff(first, last time.Duration, failures int) time.Duration {
	return min(first<<min(failures-1, 16), last)
}

// jitter spreads many instances that were started or failed together.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1) //nolint:gosec // nobody gains by guessing it
}
