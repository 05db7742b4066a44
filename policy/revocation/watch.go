package revocation

import "sync"

// watcher is called after every change.
type watcher struct {
	mu   sync.Mutex // one call at a time
	once sync.Once  // of a guard that has ended its caller
	call func(*watcher)
}

// watch registers a watcher and calls it for the first time, so that nothing
// can happen between a check and the watching.
func (l *List) watch(call func(*watcher)) (stop func()) {
	w := &watcher{call: call}
	l.watchMu.Lock()
	l.watchers[w] = struct{}{}
	l.watchMu.Unlock()
	w.run()

	return func() {
		l.watchMu.Lock()
		defer l.watchMu.Unlock()
		delete(l.watchers, w)
	}
}

// announce calls all watchers.
func (l *List) announce() {
	l.watchMu.Lock()
	watchers := make([]*watcher, 0, len(l.watchers))
	for w := range l.watchers {
		watchers = append(watchers, w)
	}
	l.watchMu.Unlock()
	for _, w := range watchers {
		w.run()
	}
}

func (w *watcher) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call(w)
}
