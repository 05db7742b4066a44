package token

import "time"

// limiter bounds the fetches that tokens can cause: one per cooldown, and two
// fetches of any kind within two cooldowns. The second rule leaves room for
// one that follows right upon a scheduled fetch, and keeps "two a minute" true
// for the default of 30 seconds. Callers hold the holder's mutex.
type limiter struct {
	cooldown time.Duration
	demanded time.Time    // start of the last one that a token caused
	recent   [2]time.Time // starts of the last two of any kind, older first
}

func (l *limiter) allow(now time.Time) bool {
	return now.Sub(l.demanded) >= l.cooldown && now.Sub(l.recent[0]) >= 2*l.cooldown
}

func (l *limiter) fetched(onDemand bool, started time.Time) {
	if onDemand {
		l.demanded = started
	}
	l.recent = [2]time.Time{l.recent[1], started}
}

// missMemory remembers key ids that are not in the key set, so that one client
// with an outdated token does not use up the limiter. It is asked only after
// the key set, so that a key that has appeared is found in spite of it. Callers
// hold the holder's mutex.
type missMemory struct {
	ttl   time.Duration
	until map[string]time.Time
}

func (m *missMemory) has(kid string, now time.Time) bool {
	until, ok := m.until[kid]
	return ok && now.Before(until)
}

func (m *missMemory) add(kid string, now time.Time) {
	if kid == "" {
		return
	}
	if m.until == nil {
		m.until = make(map[string]time.Time)
	}
	if len(m.until) >= maxMisses {
		for old, until := range m.until {
			if !now.Before(until) {
				delete(m.until, old)
			}
		}
	}
	// A full memory costs nothing but precision: the limiter still holds.
	if len(m.until) < maxMisses {
		m.until[kid] = now.Add(m.ttl)
	}
}
