package caddymodule

import (
	"slices"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// endpoints are the handlers of all loaded configurations. An admin route is a
// module of its own, apart from the handlers: it finds them here. Around a
// reload two configurations are loaded at once, so each handler stands under its
// own, whose metrics registry serves as its name.
//
//	runningEndpoints()                              // of the configuration that Caddy runs
//	endpointsOf(ctx.GetMetricsRegistry())           // of one that was only provisioned
//	handler.unusedRules(policy.Tool, catalogNames)  // rules that decide about nothing
var endpoints = struct {
	mu       sync.Mutex
	byConfig map[*prometheus.Registry][]*Handler
}{byConfig: make(map[*prometheus.Registry][]*Handler)}

// enlist adds a provisioned handler until its Cleanup.
func (m *Handler) enlist(config *prometheus.Registry) {
	endpoints.mu.Lock()
	defer endpoints.mu.Unlock()
	endpoints.byConfig[config] = append(endpoints.byConfig[config], m)
	m.release = append(m.release, func() {
		endpoints.mu.Lock()
		defer endpoints.mu.Unlock()
		left := slices.DeleteFunc(endpoints.byConfig[config], func(other *Handler) bool { return other == m })
		if endpoints.byConfig[config] = left; len(left) == 0 {
			delete(endpoints.byConfig, config)
		}
	})
}

// endpointsOf lists the handlers of a configuration, in the order in which they
// were loaded.
func endpointsOf(config *prometheus.Registry) []*Handler {
	endpoints.mu.Lock()
	defer endpoints.mu.Unlock()
	return slices.Clone(endpoints.byConfig[config])
}

// runningEndpoints lists the handlers of the configuration that Caddy runs, and
// returns its context, which is done when it is unloaded.
func runningEndpoints() (caddy.Context, []*Handler) {
	ctx := caddy.ActiveContext()
	if ctx.Context == nil { // nothing was ever loaded
		return ctx, nil
	}
	return ctx, endpointsOf(ctx.GetMetricsRegistry())
}

// unusedRules returns the patterns of rules that decide about none of names,
// which is all that the server lists of a kind.
func (m *Handler) unusedRules(kind policy.Kind, names []string) []string {
	return m.rules.Unused(kind, names)
}

// site is where a handler stands in the HTTP app.
type site struct {
	server *caddyhttp.Server
	name   string
	hosts  []string // of the matchers around it, empty for any
}

// siteOf looks for a handler in the routes of an app.
func siteOf(app *caddyhttp.App, m *Handler) (site, bool) {
	for name, server := range app.Servers {
		routes := slices.Clone(server.Routes)
		for _, named := range server.NamedRoutes {
			routes = append(routes, *named)
		}
		if hosts, ok := findRoute(routes, m, nil); ok {
			return site{server, name, hosts}, true
		}
	}
	return site{}, false
}

func findRoute(routes caddyhttp.RouteList, m *Handler, hosts []string) ([]string, bool) {
	for _, route := range routes {
		inner := hosts
		for _, set := range route.MatcherSets {
			for _, matcher := range set {
				switch host := matcher.(type) {
				case *caddyhttp.MatchHost:
					inner = append(slices.Clone(inner), *host...)
				case caddyhttp.MatchHost:
					inner = append(slices.Clone(inner), host...)
				}
			}
		}
		for _, handler := range route.Handlers {
			if handler == caddyhttp.MiddlewareHandler(m) {
				return inner, true
			}
			if sub, ok := handler.(*caddyhttp.Subroute); ok {
				if found, ok := findRoute(sub.Routes, m, inner); ok {
					return found, true
				}
			}
		}
	}
	return nil, false
}
