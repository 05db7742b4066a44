package lru

import (
	"container/list"
	"sync"
	"time"
)

// Cache keeps at most so many values, forgetting the one that was not used for
// the longest time. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	capacity int
	ttl      time.Duration

	mu      sync.Mutex
	entries map[K]*list.Element
	recent  *list.List // of *entry, most recent first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	until time.Time // zero: for good
}

// New makes a cache of at most capacity values, each kept for ttl; 0 keeps a
// value until others push it out.
func New[K comparable, V any](capacity int, ttl time.Duration) *Cache[K, V] {
	return &Cache[K, V]{capacity: capacity, ttl: ttl, entries: make(map[K]*list.Element), recent: list.New()}
}

// Get returns the value under key, if it is there and has not expired.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.entries[key]
	if element == nil {
		return value, false
	}
	e := element.Value.(*entry[K, V])
	if !e.until.IsZero() && time.Now().After(e.until) {
		c.removeLocked(element)
		return value, false
	}
	c.recent.MoveToFront(element)
	return e.value, true
}

// Put keeps value under key, in place of an older one.
func (c *Cache[K, V]) Put(key K, value V) {
	e := &entry[K, V]{key: key, value: value}
	if c.ttl > 0 {
		e.until = time.Now().Add(c.ttl)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.entries[key]; old != nil {
		c.removeLocked(old)
	}
	c.entries[key] = c.recent.PushFront(e)
	if c.recent.Len() > c.capacity {
		c.removeLocked(c.recent.Back())
	}
}

// Delete forgets the value under key.
func (c *Cache[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.entries[key]; element != nil {
		c.removeLocked(element)
	}
}

// Clear forgets everything.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.recent.Init()
}

func (c *Cache[K, V]) removeLocked(element *list.Element) {
	c.recent.Remove(element)
	delete(c.entries, element.Value.(*entry[K, V]).key)
}
