package caddymodule

import (
	"errors"
	"strconv"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// labelOther stands for everything outside of a label's fixed set.
const labelOther = "other"

// The collectors live as long as the process, so that counters go on rising over
// reloads; each configuration registers them with its own registry. Every label
// has a small fixed set of values: nothing a client chooses becomes one. What is
// a state and no count is computed when it is asked for, see configCollector.
var metrics = struct {
	decisions       *counters[[3]string]
	messages        *counters[[3]string]
	authentications *counters[[1]string]
	refusals        *counters[[1]string]
	refused         *counters[[1]string]
	withheld        *counters[[1]string]
	catalogs        *counters[[0]string]
	questions       *counters[[1]string]
	streamsEnded    *counters[[1]string]
	callsEnded      *counters[[1]string]
	findings        *counters[[1]string]
	memos           *counters[[2]string]
	rewriteBytes    *counters[[1]string]
	stateErrors     *counters[[1]string]
	rewriteSeconds  prometheus.Histogram
	streams         *prometheus.GaugeVec
}{
	decisions: countersOf[[3]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "decisions_total",
		Help: "Messages judged by the policy, by kind of name (tool, prompt, resource, reference, none), era and decision.",
	}, "kind", "era", "decision"),
	messages: countersOf[[3]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "messages_total",
		Help: "Messages of clients, by method (other for those that MCP does not define), era and what was decided about them.",
	}, "method", "era", "decision"),
	authentications: countersOf[[1]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "authentications_total",
		Help: "Requests whose caller was looked at, by outcome: accepted, anonymous, or the cause why the caller was not let in.",
	}, "outcome"),
	refusals: countersOf[[1]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "refusals_total",
		Help: "Requests that were not let through, by the cause that stands in the audit log.",
	}, "cause"),
	refused: countersOf[[1]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "refused_total",
		Help: "Error answers that the gateway itself gave, by HTTP status.",
	}, "status"),
	withheld: countersOf[[1]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "answers_withheld_total",
		Help: "Answers of the server that were replaced by an error, by reason (unfilterable, limit, encoding, transport, empty, form).",
	}, "reason"),
	catalogs: countersOf[[0]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "catalog_failures_total",
		Help: "Catalogs that could not be had from the server, so that capabilities were withheld.",
	}),
	questions: countersOf[[1]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "catalog_questions_total",
		Help: "Times a catalog was needed, by where it came from: remembered, shared (with a question under way) or asked (of the server).",
	}, "from"),
	streamsEnded: countersOf[[1]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "streams_ended_total",
		Help: "Streams without an end of their own that have ended, by cause.",
	}, "cause"),
	callsEnded: countersOf[[1]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "calls_ended_total",
		Help: "Running calls that the gateway ended, by cause.",
	}, "cause"),
	findings: countersOf[[1]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "findings_total",
		Help: "Declarations and answers of the server that broke a rule of the OpenAI extensions, by rule.",
	}, "rule"),
	memos: countersOf[[2]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "memo_lookups_total",
		Help: "Lists and tools that had been rewritten before (hit) or not (miss).",
	}, "memo", "outcome"),
	rewriteBytes: countersOf[[1]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "rewrite_bytes_total",
		Help: "Bytes of messages of the server before (in) and after (out) rewriting.",
	}, "direction"),
	stateErrors: countersOf[[1]string](prometheus.CounterOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "state_errors_total",
		Help: "Failed uses of shared state or storage, by use (rate_limit, registration, revocation, seal_key).",
	}, "use"),
	rewriteSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "rewrite_seconds",
		Help:    "Time it took to rewrite one message of the server.",
		Buckets: []float64{.00001, .0001, .001, .01, .1, 1},
	}),
	streams: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "caddy", Subsystem: "mcp_app", Name: "open_streams",
		Help: "Streams without an end of their own that are open, by era.",
	}, []string{"era"}),
}

// counters is a counter with labels. Its children are kept: looking one up costs
// no memory.
type counters[K interface {
	[0]string | [1]string | [2]string | [3]string
}] struct {
	*prometheus.CounterVec
	mu       sync.RWMutex
	children map[K]prometheus.Counter
}

func countersOf[K interface {
	[0]string | [1]string | [2]string | [3]string
}](opts prometheus.CounterOpts, labels ...string) *counters[K] {
	return &counters[K]{CounterVec: prometheus.NewCounterVec(opts, labels), children: make(map[K]prometheus.Counter)}
}

// with returns the counter of these values, which must come from fixed sets.
func (c *counters[K]) with(values K) prometheus.Counter {
	c.mu.RLock()
	child := c.children[values]
	c.mu.RUnlock()
	if child != nil {
		return child
	}
	var list []string
	switch v := any(values).(type) {
	case [1]string:
		list = v[:]
	case [2]string:
		list = v[:]
	case [3]string:
		list = v[:]
	}
	child = c.WithLabelValues(list...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.children[values] = child
	return child
}

// registerMetrics adds the collectors to a configuration's registry. Two
// endpoints of one configuration share them.
func registerMetrics(ctx caddy.Context) error {
	registry := ctx.GetMetricsRegistry()
	for _, collector := range []prometheus.Collector{
		metrics.decisions, metrics.messages, metrics.authentications, metrics.refusals, metrics.refused, metrics.withheld,
		metrics.catalogs, metrics.questions, metrics.streamsEnded, metrics.callsEnded, metrics.findings, metrics.memos,
		metrics.rewriteBytes, metrics.stateErrors, metrics.rewriteSeconds, metrics.streams,
		configCollector{registry},
	} {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(collector); err != nil && !errors.As(err, &already) {
			return err
		}
	}
	return nil
}

// countSettled counts a decision about a request. A message is counted by the
// first of them: the server may still refuse what was let through.
func (t *trail) countSettled(d decided) {
	if t.heard != nil {
		return
	}
	if d.decision != policy.Allowed.String() {
		t.cause = causeLabel(d.cause)
		metrics.refusals.with([1]string{t.cause}).Inc()
	}
	if t.message == nil || t.counted {
		return
	}
	t.counted = true
	metrics.messages.with([3]string{methodLabel(t.message), t.message.Era.String(), d.decision}).Inc()
}

// countAuthentication counts what became of a caller, nil for one who was not
// let in.
func (t *trail) countAuthentication(p *policy.Principal) {
	outcome := t.cause
	switch {
	case p != nil && p.Anonymous:
		outcome = "anonymous"
	case p != nil:
		outcome = "accepted"
	}
	metrics.authentications.with([1]string{outcome}).Inc()
}

// methodLabel is a method of MCP. Patterns of the operator let others through,
// but not into a label.
func methodLabel(msg *mcp.Request) string {
	switch {
	case msg.Kind == mcp.Response:
		return "response"
	case mcp.Known(msg.Era, msg.Method):
		return msg.Method
	default:
		return labelOther
	}
}

// causes are all that a record of the audit log can have.
var causes = func() map[string]bool {
	set := make(map[string]bool)
	for _, cause := range []string{
		causeBoundary, causeRoute, causeNoToken, causeToken, causeRevoked, causeUnavailable, causeTenant, causeMembership, causeReload,
		causeScope, causeRate, causeSignal, causeArguments, causeRegistration, causeMessage, causeExpired, causeServer, causeClient,
	} {
		set[cause] = true
	}
	for _, cause := range []policy.Cause{
		policy.CauseDefault, policy.CauseDeny, policy.CauseLogin, policy.CauseTenant, policy.CauseRole, policy.CauseAnnotation,
		policy.CauseUnknown, policy.CauseCondition, policy.CauseConditionError, policy.CauseScope, policy.CauseMembership,
		policy.CauseTools, policy.CauseArguments, policy.CauseRegistration,
	} {
		set[string(cause)] = true
	}
	return set
}()

func causeLabel(cause string) string {
	if causes[cause] {
		return cause
	}
	return labelOther
}

// countFindings counts broken rules, each time one is met.
func countFindings(findings []openai.Finding) {
	for _, f := range findings {
		rule := labelOther
		if _, known := openai.RuleOf(f.Code); known {
			rule = f.Code
		}
		metrics.findings.with([1]string{rule}).Inc()
	}
}

// countMemo counts a look into a memo.
func countMemo(memo string, hit bool) {
	outcome := "miss"
	if hit {
		outcome = "hit"
	}
	metrics.memos.with([2]string{memo, outcome}).Inc()
}

// countQuestion counts where a catalog came from.
func countQuestion(source flight.Source) {
	metrics.questions.with([1]string{string(source)}).Inc()
}

// countRefused counts an error answer of ours. Statuses come from ourselves and
// from errors of other handlers, but there are only so many.
func countRefused(status int) {
	label := labelOther
	if status >= 400 && status < 600 {
		label = strconv.Itoa(status)
	}
	metrics.refused.with([1]string{label}).Inc()
}
