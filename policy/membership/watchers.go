package membership

import "sync"

// Watcher is a [Source] that tells by itself when a membership has ended or
// become another one. Whoever runs something for a member need not ask it again
// and again.
type Watcher interface {
	Source
	// Watch calls changed after each change of who's membership, until stop is
	// called. changed must return quickly, and may ask the source.
	Watch(who Identity, changed func()) (stop func())
}

// Watchers keeps account of who wants to be told of which changes; sources
// embed it to become a [Watcher]. The zero value is ready, and safe for
// concurrent use.
type Watchers struct {
	mu   sync.Mutex
	next uint64
	of   map[Identity]map[uint64]func()
}

// Watch implements Watcher.
func (w *Watchers) Watch(who Identity, changed func()) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	id := w.next
	if w.of == nil {
		w.of = make(map[Identity]map[uint64]func())
	}
	if w.of[who] == nil {
		w.of[who] = make(map[uint64]func())
	}
	w.of[who][id] = changed
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.of[who], id)
		if len(w.of[who]) == 0 {
			delete(w.of, who)
		}
	}
}

// Notify tells everybody who watches one of these identities. Its form is that
// of [FileConfig.OnChange].
func (w *Watchers) Notify(who []Identity) {
	var told []func()
	w.mu.Lock()
	for _, identity := range who {
		for _, changed := range w.of[identity] {
			told = append(told, changed)
		}
	}
	w.mu.Unlock() // before telling: whoever is told may stop watching
	for _, changed := range told {
		changed()
	}
}
