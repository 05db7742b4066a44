package caddymodule

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

func init() {
	adminRoutes = append(adminRoutes, caddy.AdminRoute{
		Pattern: "/mcp_app/ready", Handler: caddy.AdminHandlerFunc(adminAPI{}.handleReady),
	})
}

// readyTimeout bounds what one look at an endpoint may wait for.
const readyTimeout = 2 * time.Second

// errBusy is for what somebody else is still looking at.
var errBusy = errors.New("the last look at it is not over")

// readiness says whether an endpoint could serve a caller now.
type readiness struct {
	Endpoint string   `json:"endpoint"`
	Resource string   `json:"resource,omitempty"`
	Ready    bool     `json:"ready"`
	Reasons  []string `json:"reasons"` // why not; empty when ready
}

// handleReady answers 200 if every endpoint of the running configuration could
// serve a caller, and 503 otherwise. The server behind is not asked: Caddy has
// health checks of its own.
func (adminAPI) handleReady(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return methodNotAllowed(w, r, "GET, HEAD")
	}
	_, list := runningEndpoints()
	return writeReady(w, r, list)
}

func writeReady(w http.ResponseWriter, r *http.Request, list []*Handler) error {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	found := make([]readiness, len(list))
	var wg sync.WaitGroup
	for i, m := range list {
		wg.Go(func() { found[i] = m.ready(ctx) })
	}
	wg.Wait()
	status := http.StatusOK
	for _, f := range found {
		if !f.Ready {
			status = http.StatusServiceUnavailable
		}
	}
	if len(list) == 0 { // not configured, or not yet
		status = http.StatusServiceUnavailable
	}
	return writeAdmin(w, status, map[string]any{"ready": status == http.StatusOK, "endpoints": found})
}

// ready looks at what every message needs. What is only begun by the first
// message is begun by this: otherwise a balancer that waits for readiness would
// wait for good.
func (m *Handler) ready(ctx context.Context) readiness {
	r := readiness{Endpoint: m.Path, Resource: m.Resource, Reasons: []string{}}
	for _, issuer := range m.Auth.holders {
		issuer.keys.Start()
		switch stats := issuer.keys.Stats(); stats.State {
		case token.Starting:
			r.Reasons = append(r.Reasons, "the keys of "+token.RedactURL(issuer.name)+" have not been fetched yet")
		case token.Down:
			r.Reasons = append(r.Reasons, "there are no usable keys of "+token.RedactURL(issuer.name)+": "+loggable(stats.LastError))
		}
	}
	if m.authenticates() {
		if _, err := m.state.revocations.Entries(ctx); err != nil {
			r.Reasons = append(r.Reasons, "it is not known who is revoked: "+loggable(err.Error()))
		}
	}
	if err := m.seal.probe(ctx); err != nil {
		r.Reasons = append(r.Reasons, "the sealing key cannot be read: "+loggable(err.Error()))
	}
	r.Ready = len(r.Reasons) == 0
	return r
}

// probe reports whether get would find a key, or could look for one. It neither
// makes a key nor waits for who does, and of several probes one looks: a storage
// that hangs costs one goroutine.
func (s *sealKeys) probe(ctx context.Context) error {
	if s.sealer.Load() != nil {
		return nil
	}
	if !s.probing.CompareAndSwap(false, true) {
		return errBusy
	}
	found := make(chan error, 1)
	go func() {
		defer s.probing.Store(false)
		_, err := s.source.load(context.WithoutCancel(ctx))
		if errors.Is(err, errNoKeys) { // the first message makes one
			err = nil
		}
		found <- err
	}()
	select {
	case err := <-found:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
