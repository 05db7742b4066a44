package caddymodule

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// Audit says what is written down about decisions. Whoever is not let through
// always is, with the exact reason, in the log http.handlers.mcp_app.audit.
type Audit struct {
	// AllowPercent is how many of a hundred messages that were let through are
	// recorded too, chosen by chance: 100 is all. Default: 0, none.
	AllowPercent float64 `json:"allow_percent,omitempty"`
	// Arguments names arguments of tool calls whose values are recorded. Default:
	// none, since arguments are the users' own words.
	Arguments []AuditArguments `json:"arguments,omitempty"`
	// ArgumentBytes is how much of one value is recorded, in bytes of JSON, at
	// most 4096. Default: 256.
	ArgumentBytes int `json:"argument_bytes,omitempty"`
}

// AuditArguments are arguments of some tools.
type AuditArguments struct {
	// Tool is an exact name, or a pattern in which * stands for any run of
	// characters.
	Tool string `json:"tool"`
	// Names of arguments on the top level, at most 16.
	Names []string `json:"names"`
}

// The causes that are found outside the rules, see policy.Cause for the others.
const (
	causeBoundary     = "boundary"    // host, origin, method or peer
	causeRoute        = "route"       // stands for no tenant that is served
	causeNoToken      = "no_token"    // a client that has not logged in yet
	causeToken        = "token"       // malformed, bad, expired, foreign
	causeRevoked      = "revoked"     // taken back
	causeUnavailable  = "unavailable" // cannot be judged at the moment
	causeTenant       = "tenant"
	causeMembership   = "membership"
	causeReload       = "reload"
	causeScope        = "scope"
	causeRate         = "rate_limit"
	causeSignal       = "tenant_signal" // a header or argument names another tenant
	causeArguments    = "arguments"
	causeRegistration = "registration" // unknown or ended, or the request names none that could be
	causeMessage      = "message"      // not what the protocol allows, or an unknown session
	causeExpired      = "expired"      // the token of a stream
	causeServer       = "server"       // has ended a stream
	causeClient       = "client"       // has ended a stream
)

// The decisions beside those of policy.Verdict.
const (
	decisionRefuse = "refuse"
	decisionEnd    = "end" // of a stream or a running call
)

// trail collects what becomes known about a request on its way, for the one
// record that is made of it. It belongs to the goroutine that serves the request.
//
// It is also the request's context: one for all that the request carries, with
// one copy of the request, since each level costs every request and every look
// into the context.
type trail struct {
	context.Context
	cancel           context.CancelCauseFunc
	affinity         *affinity // once it is known
	began            time.Time
	method, remoteIP string
	principal        *policy.Principal // as far as it is known
	published        *policy.Principal // who has been let in
	message          *mcp.Request
	id, trace        string // see correlate
	registration     string // the handle of what the request named
	// heard takes the records in place of the log: of a request that is only
	// tried out.
	heard   func(auditRecord)
	counted bool   // as a message, in the metrics
	cause   string // of the last refusal, as a label
	// For the access log.
	inLog    bool
	name     string // as the client sent it
	decision string // the last
}

type trailKey struct{}

// Value implements context.Context.
func (t *trail) Value(key any) any {
	switch key.(type) {
	case trailKey:
		return t
	case affinityKey:
		if t.affinity != nil {
			return t.affinity
		}
	}
	return t.Context.Value(key)
}

// withTrail begins the trail of a request. Its cancel function should be called
// when the request has been served.
func withTrail(r *http.Request, t *trail) *http.Request {
	t.began, t.method, t.remoteIP = time.Now(), r.Method, clientIP(r)
	t.Context, t.cancel = context.WithCancelCause(r.Context())
	return r.WithContext(t)
}

// trailOf returns the trail of a request, an empty one for requests without.
func trailOf(r *http.Request) *trail {
	if t, ok := r.Context().Value(trailKey{}).(*trail); ok {
		return t
	}
	return &trail{began: time.Now(), method: r.Method, remoteIP: clientIP(r)}
}

// correlate finds the ids by which log lines of one request are found. The first
// is Caddy's, and asking for it also puts it into the access log.
func (t *trail) correlate(r *http.Request) {
	if t.id == "" {
		t.id, _ = replacerOf(r).GetString("http.request.uuid")
		t.trace, _ = caddyhttp.GetVar(r.Context(), "trace_id").(string)
	}
}

// decided is a decision about a request.
type decided struct{ decision, cause, rule, reason string }

// deny tells the operator why a request was refused; the caller is not told.
// Refused requests are everyday business of a public endpoint: INFO.
func (m *Handler) deny(r *http.Request, cause, reason string) {
	m.settle(r, decided{decision: decisionRefuse, cause: cause, reason: reason})
}

// settle puts a decision into the access log and on record.
func (m *Handler) settle(r *http.Request, d decided) {
	t := trailOf(r)
	t.addToLog(r)
	t.decision = d.decision
	t.countSettled(d)
	allowed := d.decision == policy.Allowed.String()
	if allowed && t.heard == nil && !m.samples() && !decisionEvents.heard() {
		return
	}
	t.correlate(r)
	m.write(t, d)
}

// write puts a decision on record. Unlike settle it may be called beside the
// goroutine that serves the request.
func (m *Handler) write(t *trail, d decided) {
	switch allowed := d.decision == policy.Allowed.String(); {
	case t.heard != nil:
		t.heard(m.recordOf(t, d))
		return
	case allowed && !m.sampled():
		if decisionEvents.heard() {
			decisionEvents.publish(m.recordOf(t, d))
		}
		return
	default:
		if !allowed {
			m.tellDecision(t, d)
		}
		rec := m.recordOf(t, d)
		level, text := zapcore.InfoLevel, "request refused"
		switch {
		case allowed:
			text = "request allowed"
		case d.decision == decisionEnd:
			text = "exchange ended"
		case d.cause == causeNoToken: // how every login begins
			level = zapcore.DebugLevel
		}
		if entry := m.auditLogger.Check(level, text); entry != nil {
			entry.Write(zap.Inline(rec))
		}
		if decisionEvents.heard() {
			decisionEvents.publish(rec)
		}
	}
}

// samples reports whether any allowed message is recorded.
func (m *Handler) samples() bool { return m.Audit != nil && m.Audit.AllowPercent > 0 }

func (m *Handler) sampled() bool {
	return m.samples() && rand.Float64()*100 < m.Audit.AllowPercent //nolint:gosec // chooses a sample, keeps no secret
}

func (m *Handler) recordOf(t *trail, d decided) auditRecord {
	rec := auditRecord{
		Time: time.Now(), Endpoint: m.Path, Decision: d.decision, Cause: d.cause,
		Rule: loggable(d.rule), Reason: loggable(d.reason), HTTPMethod: loggable(t.method),
		Registration: t.registration, RemoteIP: t.remoteIP, ID: t.id, Trace: loggable(t.trace), Latency: time.Since(t.began),
	}
	if p := t.principal; p != nil {
		rec.Issuer, rec.Subject, rec.Tenant, rec.ClientID = loggable(p.Issuer), loggable(p.Subject), loggable(p.Tenant), loggable(p.ClientID)
		rec.Anonymous = p.Anonymous
	}
	if msg := t.message; msg != nil {
		rec.Era, rec.Method, rec.Name = msg.Era.String(), loggable(msg.Method), loggable(msg.Name)
		rec.Arguments = m.auditedArguments(msg)
	}
	return rec
}

// auditedArguments returns the values that the operator chose to see, as JSON.
func (m *Handler) auditedArguments(msg *mcp.Request) map[string]string {
	if m.Audit == nil || msg.Method != "tools/call" {
		return nil
	}
	var values map[string]string
	for i, pattern := range m.auditTools {
		if !pattern.Match(msg.Name) {
			continue
		}
		for _, name := range m.Audit.Arguments[i].Names {
			if value := msg.Params.Get("arguments", name); value.Exists() {
				if values == nil {
					values = make(map[string]string)
				}
				values[name] = bounded(string(value), m.Audit.argumentBytes())
			}
		}
	}
	return values
}
