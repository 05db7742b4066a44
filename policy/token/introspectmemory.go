package token

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// entryOverhead is about what an entry takes besides its value.
const entryOverhead = 256

// kept is a value with the time until which it may be used, and the bytes it
// is counted as.
type kept[V any] struct {
	value V
	until time.Time
	size  int
}

// answerMemory keeps what an endpoint said about tokens, by their hash, so that
// a memory dump of it holds no credentials. It is bounded in number and bytes;
// what has not been renewed for the longest time leaves first.
//
// Outdated entries stay for a while: they cannot be used, but tell that the
// token was good a moment ago.
type answerMemory[V any] struct {
	limit  int
	linger time.Duration

	mu      sync.Mutex
	entries map[[sha256.Size]byte]*list.Element
	order   list.List // of *keptAt[V], least recently put first
	bytes   int
}

type keptAt[V any] struct {
	kept[V]
	key [sha256.Size]byte
}

func newAnswerMemory[V any](limit int, linger time.Duration) *answerMemory[V] {
	return &answerMemory[V]{limit: limit, linger: linger, entries: make(map[[sha256.Size]byte]*list.Element)}
}

// get returns an entry, which may be outdated.
func (m *answerMemory[V]) get(key [sha256.Size]byte) (kept[V], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()

	element, ok := m.entries[key]
	if !ok {
		return kept[V]{}, false
	}

	return element.Value.(*keptAt[V]).kept, true
}

func (m *answerMemory[V]) put(key [sha256.Size]byte, entry kept[V], now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.dropLocked(key)
	entry.size += entryOverhead
	for m.order.Len() > 0 {
		oldest := m.order.Front().Value.(*keptAt[V])
		if len(m.entries) < m.limit && m.bytes+entry.size <= maxCacheBytes && !oldest.until.Add(m.linger).Before(now) {
			break
		}
		m.dropLocked(oldest.key)
	}
	m.entries[key] = m.order.PushBack(&keptAt[V]{kept: entry, key: key})
	m.bytes += entry.size
}

func (m *answerMemory[V]) drop(key [sha256.Size]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.dropLocked(key)
}

func (m *answerMemory[V]) dropLocked(key [sha256.Size]byte) {
	element, ok := m.entries[key]
	if !ok {
		return
	}
	m.bytes -= m.order.Remove(element).(*keptAt[V]).size
	delete(m.entries, key)
}
