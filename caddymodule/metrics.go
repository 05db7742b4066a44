package caddymodule

import (
	"errors"

	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// The collectors live as long as the process, so that counters go on rising over
// reloads; each configuration registers them with its own registry. Every label
// has a small fixed set of values: nothing a client chooses becomes one.
var metrics = struct {
	decisions, refused, withheld, catalogs *prometheus.CounterVec
	streams                                *prometheus.GaugeVec
}{
	decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "decisions_total",
		Help: "Messages judged by the policy, by kind of name (tool, prompt, resource, reference, none), era and decision.",
	}, []string{"kind", "era", "decision"}),
	refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "refused_total",
		Help: "Error answers that the gateway itself gave, by HTTP status.",
	}, []string{"status"}),
	withheld: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "answers_withheld_total",
		Help: "Answers of the server that were replaced by an error, by reason (unfilterable, limit, encoding, transport, empty).",
	}, []string{"reason"}),
	catalogs: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "catalog_failures_total",
		Help: "Catalogs that could not be had from the server, so that capabilities were withheld.",
	}, nil),
	streams: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "open_streams",
		Help: "Streams without an end of their own that are open, by era.",
	}, []string{"era"}),
}

// registerMetrics adds the collectors to a configuration's registry. Two
// endpoints of one configuration share them.
func registerMetrics(ctx caddy.Context) error {
	registry := ctx.GetMetricsRegistry()
	for _, collector := range []prometheus.Collector{metrics.decisions, metrics.refused, metrics.withheld, metrics.catalogs, metrics.streams} {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(collector); err != nil && !errors.As(err, &already) {
			return err
		}
	}
	return nil
}
