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
	// own says that the upstream gets its own name as the Host, and nothing of
	// the browser's origin: see Handler.PreserveHost.
	own   bool
	hosts map[string]string // what each upstream is called then
}

// choose notes the choice in the request that goes to the upstream. That request
// is a copy of the proxy's own. Header operations of the proxy could do the
// same, but for these it copies all headers once more.
func (a *affinity) choose(upstream *reverseproxy.Upstream, r *http.Request) *reverseproxy.Upstream {
	a.chosen = upstream.Dial
	if a.own {
		if host, ok := a.hosts[upstream.Dial]; ok {
			r.Host = host
		}
		for _, name := range []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"} {
			delete(r.Header, name)
		}
	}
	return upstream
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
	e.affinity.own, e.affinity.hosts = !e.PreserveHost, e.hosts
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
		return a.choose(pool[0], r)
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
	if best == nil {
		return nil
	}
	return a.choose(best, r)
}

// Interface guards
var (
	_ caddy.Module          = Affinity{}
	_ reverseproxy.Selector = Affinity{}
)
