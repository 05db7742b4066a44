package caddymodule

import (
	"fmt"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
)

func init() {
	adminRoutes = append(adminRoutes, caddy.AdminRoute{
		Pattern: "/mcp_app/events", Handler: caddy.AdminHandlerFunc(adminAPI{}.handleEvents),
	})
}

const (
	// eventsKeepAlive is how long a live view may be silent.
	eventsKeepAlive = 15 * time.Second
	// eventsWriteTimeout is how long a listener may take to accept an event.
	eventsWriteTimeout = 10 * time.Second
)

// handleEvents streams decisions as server-sent events:
//
//	event: decision    data: an audit record
//	event: dropped     data: {"count":<n>}, records that were missed
//	event: end         data: {"reason":"…"}, the configuration was replaced
//
// It begins with a comment, and sends one whenever it would be silent for long.
func (adminAPI) handleEvents(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet {
		return methodNotAllowed(w, r, "GET")
	}
	running, list := runningEndpoints()
	endpoint := r.URL.Query().Get("endpoint")
	if endpoint != "" {
		m, err := chooseEndpoint(list, endpoint)
		if err != nil {
			return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: err}
		}
		endpoint = m.Path
	}
	if running.Context == nil {
		return caddy.APIError{HTTPStatus: http.StatusServiceUnavailable, Err: fmt.Errorf("no configuration is running")}
	}
	listener, leave, err := decisionEvents.listen(endpoint)
	if err != nil {
		w.Header().Set("Retry-After", "10")
		return caddy.APIError{HTTPStatus: http.StatusServiceUnavailable, Err: err}
	}
	defer leave()
	stream := beginEvents(w)
	if stream.send(": listening\n\n") != nil {
		return nil // the listener has gone, which is no error of ours
	}
	tick := time.NewTicker(eventsKeepAlive)
	defer tick.Stop()
	for {
		text := ": keep-alive\n\n"
		select {
		case <-r.Context().Done():
			return nil
		case <-running.Done():
			_ = stream.send("event: end\ndata: {\"reason\":\"the configuration was replaced\"}\n\n")
			return nil
		case record := <-listener.records:
			text = "event: decision\ndata: " + string(record) + "\n\n"
		case <-tick.C:
		}
		if dropped := listener.dropped.Swap(0); dropped > 0 {
			text += fmt.Sprintf("event: dropped\ndata: {\"count\":%d}\n\n", dropped)
		}
		if stream.send(text) != nil {
			return nil
		}
	}
}

// eventStream writes events, each at once.
type eventStream struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// beginEvents answers with a stream of events. Requests may last from here on.
func beginEvents(w http.ResponseWriter) eventStream {
	noDeadline(w)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	return eventStream{w, http.NewResponseController(w)}
}

func (s eventStream) send(text string) error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(eventsWriteTimeout)) // not known to all writers
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}
