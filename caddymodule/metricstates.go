package caddymodule

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/revocation"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// configCollector computes what is a state and no count, from the endpoints of
// the configuration that is asked. What two of them share is told once; where
// two tell about the same labels, the worse counts.
type configCollector struct{ config *prometheus.Registry }

var (
	keysAge = stateMetric(prometheus.Opts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "keys_age_seconds",
		Help: "How long ago an issuer's signing keys were last confirmed.",
	}, "issuer")
	keysState = stateMetric(prometheus.Opts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "keys_usable",
		Help: "Whether tokens of an issuer can be judged: 1 with keys, also old ones, 0 without or before the first use.",
	}, "issuer")
	keysFetches = stateMetric(prometheus.Opts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "keys_fetches_total",
		Help: "Fetches of an issuer's signing keys, by outcome (good, failed).",
	}, "issuer", "outcome")
	revocationsAge = stateMetric(prometheus.Opts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "revocations_age_seconds",
		Help: "How long ago the list of revocations was last compared with the state.",
	}, "endpoint")
	revocationsKnown = stateMetric(prometheus.Opts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "revocations_known",
		Help: "Whether revocations are known: 1, also from the last list, 0 if not, so that nobody is let in, or before the first use.",
	}, "endpoint")
	catalogAge = stateMetric(prometheus.Opts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "catalog_age_seconds",
		Help: "How long ago the server last listed its tools for the gateway, for endpoints that had asked.",
	}, "endpoint")
	stateUp = stateMetric(prometheus.Opts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "state_up",
		Help: "Whether the last use of shared state or storage succeeded (1) or failed (0), by use (rate_limit, registration, seal_key).",
	}, "endpoint", "use")
)

func stateMetric(opts prometheus.Opts, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(opts.Namespace, opts.Subsystem, opts.Name), opts.Help, labels, nil)
}

// Describe implements prometheus.Collector.
func (configCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{keysAge, keysState, keysFetches, revocationsAge, revocationsKnown, catalogAge, stateUp} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector. It asks nobody: an issuer that is
// down must not delay the answer.
func (c configCollector) Collect(ch chan<- prometheus.Metric) {
	s := make(samples)
	holders := make(map[*token.KeyHolder]bool)
	for _, m := range endpointsOf(c.config) {
		for _, issuer := range m.Auth.holders {
			if !holders[issuer.keys] {
				holders[issuer.keys] = true
				s.keys(token.RedactURL(issuer.name), issuer.keys.Stats())
			}
		}
		name := m.metricName()
		if status := m.state.revocations.Status(); status.State == revocation.Starting {
			s.least(revocationsKnown, 0, name)
		} else {
			s.most(revocationsAge, status.Age.Seconds(), name)
			s.least(revocationsKnown, truth(status.State != revocation.Stale), name)
		}
		if answered := m.catalogs.Answered(); !answered.IsZero() {
			s.most(catalogAge, time.Since(answered).Seconds(), name)
		}
		for use, h := range m.health {
			s.least(stateUp, truth(!h.down()), name, use)
		}
	}
	for key, value := range s {
		kind := prometheus.GaugeValue
		if key.desc == keysFetches {
			kind = prometheus.CounterValue
		}
		labels := []string{key.first}
		if key.second != "" {
			labels = append(labels, key.second)
		}
		ch <- prometheus.MustNewConstMetric(key.desc, kind, value, labels...)
	}
}

// metricName is the label of an endpoint: two may have one path, on two hosts.
func (m *Handler) metricName() string { return cmp.Or(m.Resource, m.Path) }

// samples are values by metric and labels.
type samples map[sampleKey]float64

type sampleKey struct {
	desc          *prometheus.Desc
	first, second string
}

func (s samples) keys(issuer string, stats token.Stats) {
	usable := stats.State == token.Fresh || stats.State == token.Stale
	s.least(keysState, truth(usable), issuer)
	if !stats.FetchedAt.IsZero() {
		s.most(keysAge, stats.Age.Seconds(), issuer)
	}
	s[sampleKey{keysFetches, issuer, "good"}] += float64(stats.Refreshes)
	s[sampleKey{keysFetches, issuer, "failed"}] += float64(stats.Failures)
}

func (s samples) most(desc *prometheus.Desc, value float64, labels ...string) {
	key := keyOfSample(desc, labels)
	s[key] = max(s[key], value)
}

func (s samples) least(desc *prometheus.Desc, value float64, labels ...string) {
	key := keyOfSample(desc, labels)
	if known, ok := s[key]; ok {
		value = min(known, value)
	}
	s[key] = value
}

func keyOfSample(desc *prometheus.Desc, labels []string) sampleKey {
	key := sampleKey{desc: desc, first: labels[0]}
	if len(labels) > 1 {
		key.second = labels[1]
	}
	return key
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
