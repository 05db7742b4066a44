package state

import (
	"container/heap"
	"container/list"
	"time"
)

// memoryEntry is an entry in a group's three orders: by name, by use, by end.
type memoryEntry struct {
	name    string
	value   []byte
	counter bool
	expires time.Time // with the monotonic clock: a clock that is set ends nothing

	used  *list.Element // in memoryGroup.used
	place int           // in memoryGroup.ends
}

// memoryGroup holds the entries of one group. Callers hold the mutex of the
// Memory.
type memoryGroup struct {
	maxEntries int
	entries    map[string]*memoryEntry
	used       *list.List // of *memoryEntry, the last used first
	ends       endHeap
	bytes      int

	version uint64        // grows with every change that is told
	changed chan struct{} // closed at the next change
}

func newMemoryGroup(maxEntries int) *memoryGroup {
	return &memoryGroup{
		maxEntries: maxEntries,
		entries:    make(map[string]*memoryEntry),
		used:       list.New(),
		changed:    make(chan struct{}),
	}
}

// find returns a live entry, which thereby counts as used.
func (g *memoryGroup) find(name string, now time.Time) *memoryEntry {
	e := g.entries[name]
	if e == nil || !now.Before(e.expires) {
		return nil
	}
	g.used.MoveToFront(e.used)

	return e
}

// put makes or replaces an entry.
func (g *memoryGroup) put(e memoryEntry, now time.Time) {
	if old := g.entries[e.name]; old != nil {
		g.remove(old)
	}
	for len(g.ends) > 0 && !now.Before(g.ends[0].expires) {
		g.remove(g.ends[0])
	}
	for len(g.entries) > 0 && (len(g.entries) >= g.maxEntries || g.bytes+len(e.value) > maxGroupBytes) {
		g.remove(g.used.Back().Value.(*memoryEntry))
	}
	g.entries[e.name] = &e
	g.bytes += len(e.value)
	e.used = g.used.PushFront(&e)
	heap.Push(&g.ends, &e)
}

func (g *memoryGroup) remove(e *memoryEntry) {
	delete(g.entries, e.name)
	g.bytes -= len(e.value)
	g.used.Remove(e.used)
	heap.Remove(&g.ends, e.place)
}

// change wakes the watchers.
func (g *memoryGroup) change() {
	g.version++
	close(g.changed)
	g.changed = make(chan struct{})
}

// endHeap orders entries by their end, the next first.
type endHeap []*memoryEntry

func (h endHeap) Len() int           { return len(h) }
func (h endHeap) Less(i, j int) bool { return h[i].expires.Before(h[j].expires) }

func (h endHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements [heap.Interface].
func (h *endHeap) Push(x any) {
	e := x.(*memoryEntry)
	e.place = len(*h)
	*h = append(*h, e)
}

// Pop implements [heap.Interface].
func (h *endHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]

	return e
}
