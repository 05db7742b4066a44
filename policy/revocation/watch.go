package revocation

import "sync"

// watcher is called after every change. There is one for each running call, so
// that a guard is no function but its parts.
type watcher struct {
	list *List
	mu   sync.Mutex // one call at a time
	call func()     // nil for a guard

	// Of a guard.
	caller Caller
	end    func(error)
	ended  bool
}

// watch registers a watcher and calls it for the first time, so that nothing
// can happen between a check and the watching.
func (l *List) watch(w *watcher) (stop func()) {
	w.list = l
	l.watchMu.Lock()
	l.watchers[w] = struct{}{}
	l.watchMu.Unlock()
	w.run()

	return w.stop
}

func (w *watcher) stop() {
	w.list.watchMu.Lock()
	defer w.list.watchMu.Unlock()
	delete(w.list.watchers, w)
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
	if w.call != nil {
		w.call()
		return
	}
	if w.ended {
		return
	}
	if err := w.list.judge(w.caller); err != nil {
		w.ended = true
		go w.end(err)
	}
}
