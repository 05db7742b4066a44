package caddymodule

import (
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
)

// Bounds of live views.
const (
	maxListeners   = 16
	listenerBuffer = 256
)

// errTooManyListeners is for one listener too many.
var errTooManyListeners = errors.New("too many live views are open; close one")

// decisionEvents is the hub of all endpoints of this process.
var decisionEvents = newEventHub(maxListeners)

// eventHub hands audit records to live views. Publishing never waits: a listener
// that does not keep up misses records and is told how many. Without listeners
// it costs one look at a counter.
type eventHub struct {
	limit int
	count atomic.Int32

	mu        sync.Mutex
	listeners map[*eventListener]struct{}
}

// eventListener is one live view.
type eventListener struct {
	endpoint string      // empty for all
	records  chan []byte // JSON of one record each
	dropped  atomic.Int64
}

func newEventHub(limit int) *eventHub {
	return &eventHub{limit: limit, listeners: make(map[*eventListener]struct{})}
}

// heard reports whether anybody listens.
func (h *eventHub) heard() bool { return h.count.Load() > 0 }

// publish hands a record to those it is for.
func (h *eventHub) publish(rec auditRecord) {
	text, err := json.Marshal(rec)
	if err != nil { // strings and numbers only
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.endpoint != "" && l.endpoint != rec.Endpoint {
			continue
		}
		select {
		case l.records <- text:
		default:
			l.dropped.Add(1)
		}
	}
}

// listen opens a live view of one endpoint, or of all for an empty path. leave
// must be called.
func (h *eventHub) listen(endpoint string) (l *eventListener, leave func(), err error) {
	l = &eventListener{endpoint: endpoint, records: make(chan []byte, listenerBuffer)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) >= h.limit {
		return nil, nil, errTooManyListeners
	}
	h.listeners[l] = struct{}{}
	h.count.Add(1)
	return l, sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, l)
		h.count.Add(-1)
	}), nil
}
