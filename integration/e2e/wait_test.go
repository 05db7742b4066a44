package e2e

import (
	"net/http"
	"testing"
	"time"
)

// patience bounds every wait of this package; nothing takes that long unless it
// is broken.
const patience = 20 * time.Second

// eventually asks again and again until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !condition() {
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("still not: %s", what)
		}
	}
}

// happens waits for a channel to be closed.
func happens(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("still not: %s", what)
	}
}

// retrying repeats requests that found no listener: while Caddy replaces its
// listeners, connections that the old one has not accepted are reset.
type retrying struct{ next http.RoundTripper }

func (r retrying) RoundTrip(request *http.Request) (*http.Response, error) {
	deadline := time.Now().Add(patience)
	for {
		response, err := r.next.RoundTrip(request)
		if err == nil || request.Context().Err() != nil || time.Now().After(deadline) {
			return response, err
		}
		if request.GetBody != nil {
			body, err := request.GetBody()
			if err != nil {
				return nil, err
			}
			request = request.Clone(request.Context())
			request.Body = body
		}
	}
}

// reload replaces the configuration; what is asked afterwards is answered by
// the new one.
func (g *gateway) reload(t *testing.T, caddyfile []byte) error {
	t.Helper()
	transport := g.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	g.client.CloseIdleConnections()
	g.client.Transport = retrying{transport}
	err := g.Reload(caddyfile)
	g.client.CloseIdleConnections()
	return err
}
