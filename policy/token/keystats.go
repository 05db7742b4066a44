package token

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is what a KeyHolder can do at the moment.
type State string

const (
	// Starting means that nothing has been fetched yet.
	Starting State = "starting"
	// Fresh means that the last fetch was good.
	Fresh State = "fresh"
	// Stale means that the last fetch failed and the keys before it are used.
	Stale State = "stale"
	// Down means that there are no keys, or only too old ones: tokens of this
	// issuer cannot be judged.
	Down State = "down"
)

// Stats is a moment's view of a KeyHolder, for metrics and diagnosis.
type Stats struct {
	// URL is the key set's address; empty as long as it is not discovered.
	URL   string
	State State

	// Keys is the number of usable keys and Generation changes with them.
	Keys       int
	Generation uint64
	// Skipped says why members of the last good key set are not used, at most
	// 10 of them.
	Skipped []string

	// FetchedAt is when the keys were last confirmed, zero if never, and Age
	// how long ago that is.
	FetchedAt time.Time
	Age       time.Duration
	// NextFetch is when the next scheduled fetch is due.
	NextFetch time.Time

	// Refreshes counts good fetches, Failures bad ones and OnDemand those of
	// either kind that tokens caused.
	Refreshes, Failures, OnDemand uint64
	// LastError is the text of the last failure, LastErrorAt its time. They
	// stay after a success.
	LastError   string
	LastErrorAt time.Time
}

// Event tells that a holder's state or keys have changed. It is sent once per
// change and not for every failed attempt.
type Event struct {
	URL             string
	State, Previous State
	// Rotated is set if the usable keys differ from those before.
	Rotated bool
	Keys    int
	Skipped []string
	// Err is the failure behind the states Stale and Down.
	Err error
}

type subscriber struct {
	id     int
	notify func(Event)
}

// OnEvent calls notify after every change from now on, one at a time, until
// remove is called. It runs on the holder's goroutine and must not block.
func (k *KeyHolder) OnEvent(notify func(Event)) (remove func()) {
	k.mu.Lock()
	defer k.mu.Unlock()

	k.nextID++
	id := k.nextID
	// Copied, because land walks the slice without the lock.
	k.subscribers = append(slices.Clip(k.subscribers), subscriber{id, notify})

	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.subscribers = slices.DeleteFunc(slices.Clone(k.subscribers), func(s subscriber) bool { return s.id == id })
	}
}

// Stats returns the holder's present state.
func (k *KeyHolder) Stats() Stats {
	k.mu.Lock()
	defer k.mu.Unlock()

	stats := k.stats
	stats.NextFetch = k.nextFetch
	if s := k.current.Load(); s != nil {
		stats.Keys = len(s.set.keys)
		stats.Generation = s.generation
		stats.Skipped = slices.Clone(s.set.skipped)
		stats.FetchedAt = s.fetchedAt
		stats.Age = k.now().Sub(s.fetchedAt)
	}
	// Keys also grow too old between two attempts.
	if stats.State == Stale && k.usable() == nil {
		stats.State = Down
	}

	return stats
}

// recordLocked counts a fetch and returns the event it makes, if any.
func (k *KeyHolder) recordLocked(f *flight, result fetchResult, err error, rotated bool, now time.Time) (event Event, notify bool) {
	previous := k.stats.State
	if f.onDemand {
		k.stats.OnDemand++
	}
	switch {
	case err == nil:
		k.stats.Refreshes++
		k.stats.State = Fresh
	case k.usable() != nil:
		k.stats.State = Stale
	default:
		k.stats.State = Down
	}
	if err != nil {
		k.stats.Failures++
		k.stats.LastError = err.Error()
		k.stats.LastErrorAt = now
	}
	if result.url != "" {
		k.stats.URL = result.url
	}

	event = Event{URL: k.stats.URL, State: k.stats.State, Previous: previous, Rotated: rotated, Err: err}
	if s := k.current.Load(); s != nil {
		event.Keys, event.Skipped = len(s.set.keys), slices.Clone(s.set.skipped)
	}

	return event, rotated || previous != k.stats.State
}

// unavailable is the answer to a token that cannot be judged now.
func (k *KeyHolder) unavailable(reason string) *Error {
	stats := k.Stats()
	if stats.State != Fresh && stats.LastError != "" && !strings.Contains(reason, stats.LastError) {
		reason = fmt.Sprintf("%s; last fetch of the key set: %s", reason, stats.LastError)
	}

	return &Error{
		Kind:       Unavailable,
		Reason:     reason,
		RetryAfter: min(max(stats.NextFetch.Sub(k.now()).Round(time.Second), time.Second), time.Minute),
	}
}
