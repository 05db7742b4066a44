package caddymodule

import (
	"context"
	"crypto/sha256"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
)

func init() { caddy.RegisterModule(Affinity{}) }

// affinity says where a request is to go. It travels in the request's context,
// since reverse_proxy makes its selection policies itself.
type affinity struct {
	holder mcp.Holder
	pinned string // the upstream on which the session lives, empty without one
	chosen string // filled in by the selection
}

type affinityKey struct{}

// withAffinity is for questions of our own; requests of clients have theirs in
// the trail.
func withAffinity(r *http.Request, a *affinity) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), affinityKey{}, a))
}

// bindAffinity puts into the request where it is to go.
func (e *exchange) bindAffinity() {
	if len(e.Upstreams) > 1 { // of one there is nothing to choose
		e.affinity.holder = e.holder()
	}
	trailOf(e.r).affinity = &e.affinity
}

// Affinity is the selection policy of the upstreams named in mcp_app: a session
// stays on the upstream where it began, and everything else of one caller goes
// to one upstream by rendezvous hashing, so that only the callers of a lost
// upstream move. It has no use outside mcp_app.
type Affinity struct{}

// CaddyModule returns the Caddy module information.
func (Affinity) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.reverse_proxy.selection_policies.mcp_app",
		New: func() caddy.Module { return new(Affinity) },
	}
}

// Select implements reverseproxy.Selector. It returns nil, which the proxy
// answers with 503, if the session's upstream is gone or all are down.
func (Affinity) Select(pool reverseproxy.UpstreamPool, r *http.Request, _ http.ResponseWriter) *reverseproxy.Upstream {
	a, ok := r.Context().Value(affinityKey{}).(*affinity)
	if !ok {
		a = &affinity{}
	}
	if a.pinned == "" && len(pool) == 1 {
		if !pool[0].Available() {
			return nil
		}
		a.chosen = pool[0].Dial
		return pool[0]
	}
	var best *reverseproxy.Upstream
	var highest [sha256.Size]byte
	for _, candidate := range pool {
		if a.pinned != "" {
			if candidate.Dial == a.pinned && candidate.Available() {
				best = candidate
				break
			}
			continue
		}
		score := sha256.Sum256(append(a.holder[:], candidate.Dial...))
		if candidate.Available() && (best == nil || string(score[:]) > string(highest[:])) {
			best, highest = candidate, score
		}
	}
	if best != nil {
		a.chosen = best.Dial
	}
	return best
}

// Interface guards
var (
	_ caddy.Module          = Affinity{}
	_ reverseproxy.Selector = Affinity{}
)
