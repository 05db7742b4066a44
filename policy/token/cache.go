package token

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// DefaultCacheSize is how many verified tokens are remembered.
	DefaultCacheSize = 10_000
	// maxCacheTTL bounds how long a signature is taken as checked.
	maxCacheTTL = 60 * time.Second
	// maxCacheBytes bounds the tokens behind the entries, whose claims take
	// several times as much: 10,000 tokens of 1.6 KiB.
	maxCacheBytes = 16 << 20
)

// verified is a token whose signature was good and whose typ was right. It
// saves the cryptography and nothing else: times, audience and the state of
// the keys are judged on every use.
type verified struct {
	claims     *Claims
	issuer     *issuer
	generation uint64 // of the keys that verified it
	until      time.Time
	size       int
}

// tokenCache remembers verified tokens by their hash, so that a memory dump of
// it holds no credentials. It belongs to one Verifier and thereby to one
// configuration. Refused tokens never enter it: strangers could fill it.
//
// Entries leave in the order in which they came. As all live equally long, the
// oldest is also the next to expire, and a hit needs no write lock.
type tokenCache struct {
	limit int

	mu      sync.RWMutex
	entries map[[sha256.Size]byte]*verified
	order   [][sha256.Size]byte // a queue from head on
	head    int
	bytes   int
}

func newTokenCache(limit int) *tokenCache {
	return &tokenCache{limit: limit, entries: make(map[[sha256.Size]byte]*verified)}
}

func (c *tokenCache) get(key [sha256.Size]byte) *verified {
	c.mu.RLock()
	defer c.mu.RUnlock()

	return c.entries[key]
}

func (c *tokenCache) put(key [sha256.Size]byte, v *verified, now time.Time) {
	if c.limit <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	if old, ok := c.entries[key]; ok {
		// Keeps its place in the queue, and may therefore leave early.
		c.bytes += v.size - old.size
		c.entries[key] = v

		return
	}
	for len(c.entries) > 0 && (len(c.entries) >= c.limit || c.bytes+v.size > maxCacheBytes || c.oldestLocked().until.Before(now)) {
		c.evictLocked()
	}
	c.entries[key] = v
	c.order = append(c.order, key)
	c.bytes += v.size
}

// purge forgets the tokens of one issuer that were verified under other keys
// than the present ones.
func (c *tokenCache) purge(is *issuer, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()

	kept := make([][sha256.Size]byte, 0, len(c.entries))
	for _, key := range c.order[c.head:] {
		if v := c.entries[key]; v.issuer == is && v.generation != generation {
			c.bytes -= v.size
			delete(c.entries, key)
		} else {
			kept = append(kept, key)
		}
	}
	c.order, c.head = kept, 0
}

func (c *tokenCache) oldestLocked() *verified {
	return c.entries[c.order[c.head]]
}

func (c *tokenCache) evictLocked() {
	key := c.order[c.head]
	c.head++
	c.bytes -= c.entries[key].size
	delete(c.entries, key)
	if c.head*2 > len(c.order) {
		c.order = append(c.order[:0], c.order[c.head:]...)
		c.head = 0
	}
}

// hashToken keeps the copy that hashing needs off the heap for tokens of usual
// size.
func hashToken(token string) [sha256.Size]byte {
	var buf [2048]byte
	if len(token) > len(buf) {
		return sha256.Sum256([]byte(token))
	}

	return sha256.Sum256(buf[:copy(buf[:], token)])
}
