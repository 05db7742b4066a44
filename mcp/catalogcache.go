package mcp

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// CatalogKey identifies one question: which upstream is asked, as whom, with
// which headers. It is a hash, so that no token or name stays in memory.
type CatalogKey [32]byte

// CatalogCache remembers catalogs for a short time and lets identical questions
// share one flight. It is a store of facts, never of permissions. Failures are
// not kept.
type CatalogCache struct {
	ttl      time.Duration
	capacity int
	timeout  time.Duration
	now      func() time.Time

	mu      sync.Mutex
	entries map[CatalogKey]*list.Element
	recent  *list.List // of *catalogEntry, most recent first
	flights map[CatalogKey]*catalogFlight
	epoch   int // counts Drop calls, so that a flight begun before one is not kept
}

type catalogEntry struct {
	key     CatalogKey
	catalog *Catalog
	until   time.Time
}

type catalogFlight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	catalog *Catalog
	err     error
}

// NewCatalogCache makes a cache of at most capacity catalogs, each kept for ttl.
// timeout bounds one question, however many pages it takes.
func NewCatalogCache(capacity int, ttl, timeout time.Duration) *CatalogCache {
	return &CatalogCache{
		ttl: ttl, capacity: capacity, timeout: timeout, now: time.Now,
		entries: make(map[CatalogKey]*list.Element), recent: list.New(), flights: make(map[CatalogKey]*catalogFlight),
	}
}

// Get returns the catalog under key, asking load if it is not at hand. A caller
// that gives up does not stop a flight others wait for; the last one does.
func (c *CatalogCache) Get(ctx context.Context, key CatalogKey, load func(context.Context) (*Catalog, error)) (*Catalog, error) {
	c.mu.Lock()
	if catalog := c.lookupLocked(key); catalog != nil {
		c.mu.Unlock()
		return catalog, nil
	}
	flight := c.flights[key]
	if flight == nil {
		flight = c.launchLocked(ctx, key, load)
	}
	flight.waiting++
	c.mu.Unlock()

	select {
	case <-flight.done:
		return flight.catalog, flight.err
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if flight.waiting--; flight.waiting == 0 {
			flight.cancel()
			if c.flights[key] == flight {
				delete(c.flights, key)
			}
		}
		return nil, ctx.Err()
	}
}

// Drop forgets everything, because a server said that its list changed.
func (c *CatalogCache) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	clear(c.entries)
	clear(c.flights) // those under way answer their own callers only
	c.recent.Init()
}

func (c *CatalogCache) lookupLocked(key CatalogKey) *Catalog {
	element := c.entries[key]
	if element == nil {
		return nil
	}
	entry := element.Value.(*catalogEntry)
	if c.now().After(entry.until) {
		c.removeLocked(element)
		return nil
	}
	c.recent.MoveToFront(element)
	return entry.catalog
}

func (c *CatalogCache) launchLocked(ctx context.Context, key CatalogKey, load func(context.Context) (*Catalog, error)) *catalogFlight {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
	flight := &catalogFlight{done: make(chan struct{}), cancel: cancel}
	c.flights[key] = flight
	epoch := c.epoch
	go func() {
		defer cancel()
		catalog, err := load(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		flight.catalog, flight.err = catalog, err
		close(flight.done)
		if c.flights[key] == flight {
			delete(c.flights, key)
		}
		if err == nil && epoch == c.epoch {
			c.storeLocked(key, catalog)
		}
	}()
	return flight
}

func (c *CatalogCache) storeLocked(key CatalogKey, catalog *Catalog) {
	if old := c.entries[key]; old != nil {
		c.removeLocked(old)
	}
	c.entries[key] = c.recent.PushFront(&catalogEntry{key, catalog, c.now().Add(c.ttl)})
	for c.recent.Len() > c.capacity {
		c.removeLocked(c.recent.Back())
	}
}

func (c *CatalogCache) removeLocked(element *list.Element) {
	c.recent.Remove(element)
	delete(c.entries, element.Value.(*catalogEntry).key)
}
