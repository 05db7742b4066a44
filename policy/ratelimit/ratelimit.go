package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// What a limit counts apart.
const (
	Endpoint      = "endpoint"
	Tenant        = "tenant"
	Principal     = "principal"
	OpenAISubject = "openai_subject"
	Tool          = "tool"
)

// What happens while the shared counters cannot be reached.
const (
	CountLocally = "local"
	Allow        = "allow"
	Refuse       = "refuse"
)

// MaxWindow bounds a window.
const MaxWindow = 24 * time.Hour

// Config lists limits, all of which count.
type Config struct {
	// Limits are all asked; a message must fit each of them. Default: none.
	Limits []Limit `json:"limits,omitempty"`
	// OnFault is for times when the shared counters cannot be reached: "local"
	// (the default: each process counts for itself), "allow" (nothing is
	// counted) or "refuse".
	OnFault string `json:"on_fault,omitempty"`
}

// Limit is a number of calls in a time.
type Limit struct {
	// Calls is how many are let through in one window.
	Calls int64 `json:"calls"`
	// Window is how long one is; from 1s to 24h.
	Window policy.Duration `json:"window"`
	// Per is what is counted apart: "endpoint" (the default: all calls together),
	// "tenant", "principal" (issuer and subject; the address for callers without
	// a token), "openai_subject" (the user as the host names them in _meta; the
	// client chooses it, so put a limit per principal beside it), "tool". Several
	// mean each combination.
	Per []string `json:"per,omitempty"`
	// Tools are patterns of the tools whose calls count, together unless "tool"
	// is in per. Default: every message counts, of any method.
	Tools []string `json:"tools,omitempty"`
}

// Use is one message that asks to be let through.
type Use struct {
	Endpoint string
	// Tool is empty for all methods but tools/call.
	Tool            string
	Issuer, Subject string
	Tenant          string
	OpenAISubject   string
	ClientIP        string
}

// Outcome says whether a message is let through.
type Outcome struct {
	Allowed bool
	// Limit describes the limit that refused, for logs.
	Limit string
	// RetryAfter is when to try again; above zero if refused.
	RetryAfter time.Duration
	// Err is a fault of the shared counters, also where the message was let
	// through in spite of it.
	Err error
}

// Counter counts calls under a key.
type Counter interface {
	// Count adds one to the number under key, which begins at zero and ends
	// window after its first count, and returns it with the time that is left.
	// Keys are of 43 characters safe in URLs.
	Count(ctx context.Context, key string, window time.Duration) (n int64, remaining time.Duration, err error)
}

// Limiter applies a [Config]. Safe for concurrent use.
type Limiter struct {
	limits  []compiledLimit
	onFault string
	shared  Counter // nil: local only
	local   *Local
}

type compiledLimit struct {
	Limit
	text     string
	patterns []policy.Pattern
}

// New checks the configuration. Without a shared counter each process counts
// for itself.
func New(config Config, shared Counter) (*Limiter, error) {
	l := &Limiter{onFault: config.OnFault, shared: shared, local: NewLocal(DefaultMaxKeys)}
	if l.onFault == "" {
		l.onFault = CountLocally
	}
	if !slices.Contains([]string{CountLocally, Allow, Refuse}, l.onFault) {
		return nil, fmt.Errorf("rate limits: on_fault %q: write local, allow or refuse", config.OnFault)
	}
	for i, limit := range config.Limits {
		compiled, err := limit.compile()
		if err != nil {
			return nil, fmt.Errorf("rate limit %d: %w", i+1, err)
		}
		l.limits = append(l.limits, compiled)
	}
	return l, nil
}

// Take counts a message against every limit that applies, in their order, and
// stops at the first that is used up.
func (l *Limiter) Take(ctx context.Context, u Use) Outcome {
	out := Outcome{Allowed: true}
	for i := range l.limits {
		limit := &l.limits[i]
		if !limit.applies(u) {
			continue
		}
		n, remaining, err := l.count(ctx, limit.key(u), time.Duration(limit.Window))
		out.Err = errors.Join(out.Err, err)
		if n > limit.Calls {
			out.Allowed, out.Limit, out.RetryAfter = false, limit.text, max(remaining, time.Second)
			return out
		}
	}
	return out
}

// count returns no number that refuses where faults are to be let through, and
// the largest where they are not.
func (l *Limiter) count(ctx context.Context, key string, window time.Duration) (n int64, remaining time.Duration, fault error) {
	if l.shared != nil {
		n, remaining, err := l.shared.Count(ctx, key, window)
		if err == nil {
			return n, remaining, nil
		}
		fault = fmt.Errorf("counting: %w", err)
		switch l.onFault {
		case Allow:
			return 0, 0, fault
		case Refuse:
			return 1<<63 - 1, time.Second, fault
		}
	}
	n, remaining, _ = l.local.Count(ctx, key, window)
	return n, remaining, fault
}

func (l Limit) compile() (compiledLimit, error) {
	window := time.Duration(l.Window)
	switch {
	case l.Calls < 1:
		return compiledLimit{}, errors.New("calls: write how many are let through, at least 1")
	case window < time.Second || window > MaxWindow:
		return compiledLimit{}, fmt.Errorf("window: write a time from 1s to %v", MaxWindow)
	}
	c := compiledLimit{Limit: l}
	for _, per := range l.Per {
		if !slices.Contains([]string{Endpoint, Tenant, Principal, OpenAISubject, Tool}, per) {
			return c, fmt.Errorf("per %q: write endpoint, tenant, principal, openai_subject or tool", per)
		}
	}
	for _, text := range l.Tools {
		pattern, err := policy.ParsePattern(text)
		if err != nil {
			return c, fmt.Errorf("tools: %w", err)
		}
		c.patterns = append(c.patterns, pattern)
	}
	c.text = fmt.Sprintf("%d in %v per %s", l.Calls, window, strings.Join(append(slices.Clone(l.Per), l.Tools...), " "))
	if len(l.Per)+len(l.Tools) == 0 {
		c.text = fmt.Sprintf("%d in %v", l.Calls, window)
	}
	return c, nil
}

func (l *compiledLimit) applies(u Use) bool {
	if len(l.patterns) == 0 {
		return u.Tool != "" || !slices.Contains(l.Per, Tool)
	}
	return u.Tool != "" && slices.ContainsFunc(l.patterns, func(p policy.Pattern) bool { return p.Match(u.Tool) })
}

// key names what is counted. It is a hash: parts of it are the client's choice,
// and a shared store need not know who calls.
func (l *compiledLimit) key(u Use) string {
	parts := []string{u.Endpoint, l.text}
	for _, per := range l.Per {
		parts = append(parts, per)
		switch per {
		case Tenant:
			parts = append(parts, u.Tenant)
		case Principal:
			parts = append(parts, u.principal()...)
		case OpenAISubject:
			// The same text from another client is another user.
			parts = append(parts, u.principal()...)
			parts = append(parts, u.OpenAISubject)
		case Tool:
			parts = append(parts, u.Tool)
		}
	}
	hash := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil))
}

func (u Use) principal() []string {
	if u.Issuer == "" && u.Subject == "" {
		return []string{"address", u.ClientIP}
	}
	return []string{u.Issuer, u.Subject}
}
