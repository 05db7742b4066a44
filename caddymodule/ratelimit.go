package caddymodule

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/ratelimit"
)

// parseRateLimit reads:
//
//	rate_limit <calls> <window> [per <what>...] [tools <pattern>...]
//
// where <what> is endpoint, tenant, principal, openai_subject or tool.
func (m *Handler) parseRateLimit(d *caddyfile.Dispenser) error {
	args := d.RemainingArgs()
	if len(args) < 2 {
		return d.Err("expected: rate_limit <calls> <window> [per <what>...] [tools <pattern>...]")
	}
	calls, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return d.Errf("expected a number of calls, got %q", args[0])
	}
	window, err := caddy.ParseDuration(args[1])
	if err != nil {
		return d.Errf("expected a window such as 1m, got %q", args[1])
	}
	limit := ratelimit.Limit{Calls: calls, Window: policy.Duration(window)}
	into := &limit.Per
	for i, word := range args[2:] {
		switch {
		case word == "per":
			into = &limit.Per
		case word == "tools":
			into = &limit.Tools
		case i == 0:
			return d.Errf("expected per or tools, got %q", word)
		default:
			*into = append(*into, word)
		}
	}
	if m.RateLimit == nil {
		m.RateLimit = &ratelimit.Config{}
	}
	m.RateLimit.Limits = append(m.RateLimit.Limits, limit)
	if _, err := ratelimit.New(*m.RateLimit, nil); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

// parseRateLimitFault reads: rate_limit_on_fault local | allow | refuse
func (m *Handler) parseRateLimitFault(d *caddyfile.Dispenser) error {
	if m.RateLimit == nil {
		m.RateLimit = &ratelimit.Config{}
	}
	return oneOf(&m.RateLimit.OnFault, ratelimit.CountLocally, ratelimit.Allow, ratelimit.Refuse)(d)
}

// takeRate counts the message against the limits, and reports whether it was
// refused and the answer written (RFC 6585 §4).
func (e *exchange) takeRate(w http.ResponseWriter) (done bool) {
	if e.limiter == nil {
		return false
	}
	subject, _ := e.message.Params.Get("_meta", "openai/subject").Text()
	outcome := e.limiter.Take(e.r.Context(), ratelimit.Use{
		Endpoint: e.Path, Tool: e.toolName(), Issuer: e.principal.Issuer, Subject: e.principal.Subject,
		Tenant: e.principal.Tenant, OpenAISubject: subject, ClientIP: clientIP(e.r),
	})
	switch health := e.health[useRateLimit]; {
	case outcome.Err == nil:
		health.worked(e.logger)
	case e.r.Context().Err() == nil: // the client still waits
		health.failed(e.logger, outcome.Err)
	}
	if outcome.Allowed {
		return false
	}
	e.deny(e.r, causeRate, "rate limit "+outcome.Limit)
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(outcome.RetryAfter.Seconds()))))
	writeError(w, &mcp.Error{
		Status: http.StatusTooManyRequests, Code: codeRateLimit, ID: e.message.ID,
		Message: "too many requests; try again in " + outcome.RetryAfter.Round(time.Second).String(),
	})
	return true
}

// codeRateLimit lies outside the ranges of JSON-RPC and MCP.
const codeRateLimit = 4290
