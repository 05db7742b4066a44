package membership

import "sync"

// Holder is a [Source] that stays useful while it is held, also after its
// configuration was replaced: calls that are still running ask it.
type Holder interface {
	Source
	// Hold keeps the source working until release is called, once.
	Hold() (release func())
}

// Holds keeps account of who uses a source; sources embed it to become a
// [Holder]. The zero value is ready, and safe for concurrent use.
type Holds struct {
	mu      sync.Mutex
	held    int
	closing func()
}

// Hold implements Holder.
func (h *Holds) Hold() (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held++
	return sync.OnceFunc(func() {
		h.mu.Lock()
		h.held--
		closing := h.takeLocked()
		h.mu.Unlock()
		closing()
	})
}

// CloseUnheld calls closing when nobody holds the source any more, at once if
// nobody does.
func (h *Holds) CloseUnheld(closing func()) {
	h.mu.Lock()
	h.closing = closing
	closing = h.takeLocked()
	h.mu.Unlock()
	closing()
}

// takeLocked returns what is to be closed now.
func (h *Holds) takeLocked() func() {
	closing := h.closing
	if closing == nil || h.held > 0 {
		return func() {}
	}
	h.closing = nil
	return closing
}
