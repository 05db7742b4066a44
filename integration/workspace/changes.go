package workspace

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

const (
	// maxStreams bounds the streams of changes that are open at once.
	maxStreams = 256

	// heartbeat keeps a silent stream from being taken for a dead one.
	heartbeat = 15 * time.Second
)

// serveChanges streams what is committed in the caller's tenant: first an event
// "snapshot" that says where everything stands, then an event "change" for each
// change. Whoever comes back with Last-Event-ID learns from the snapshot how much
// was missed. (HTML Standard, Server-sent events.)
func (s *Server) serveChanges(w http.ResponseWriter, r *http.Request) {
	who, err := callerOf(r.Header)
	if err != nil {
		refusal := s.public(r.Context(), err)
		answer(w, statusOf(refusal.Code), map[string]any{"error": refusal})
		return
	}

	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "5")
		answer(w, http.StatusServiceUnavailable, map[string]any{"error": store.Refuse(store.Full, "too many streams are open")})
		return
	}

	last, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil {
		last = -1 // nothing, or nothing of ours
	}

	ctx, cancel := s.untilClosed(r.Context())
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "private, no-store")

	err = s.store.Watch(ctx, who, last, &events{w, http.NewResponseController(w), time.Now()})
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "a stream of changes broke off", "error", err)
	}
}

// events writes a stream.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	last    time.Time // when something was written
}

// Snapshot implements [store.Watcher].
func (e *events) Snapshot(s store.Snapshot) error { return e.send("snapshot", s.Seq, s) }

// Change implements [store.Watcher].
func (e *events) Change(c store.Change) error { return e.send("change", c.Seq, c) }

// Idle implements [store.Watcher].
func (e *events) Idle() error {
	if time.Since(e.last) < heartbeat {
		return nil
	}

	return e.write(": here\n\n")
}

func (e *events) send(event string, id int64, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}

	return e.write(fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", id, event, text))
}

func (e *events) write(text string) error {
	e.last = time.Now()
	// A client that reads nothing must not hold the stream for ever. Where there
	// are no deadlines, as in tests, it may.
	_ = e.control.SetWriteDeadline(e.last.Add(heartbeat))
	if _, err := e.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("writing an event: %w", err)
	}

	return e.control.Flush()
}
