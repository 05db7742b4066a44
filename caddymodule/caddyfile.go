package caddymodule

import (
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

func init() {
	httpcaddyfile.RegisterDirective("mcp_app", parseDirective)
	// Inside encode, so that encode compresses what this module wrote and the
	// module sees plain bytes.
	httpcaddyfile.RegisterDirectiveOrder("mcp_app", httpcaddyfile.After, "encode")
}

// parseDirective turns the directive into a route without a matcher: the
// endpoint and its well-known documents belong together, and the handler itself
// knows its paths.
func parseDirective(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
	m := &Handler{RootMetadata: true}
	if err := m.UnmarshalCaddyfile(h.Dispenser); err != nil {
		return nil, err
	}
	return h.NewRoute(nil, m), nil
}

// UnmarshalCaddyfile reads the directive. Syntax:
//
//	mcp_app <path> [<upstream>...] {
//		resource <url>
//		auth { ... }
//		tenant { ... }
//		policy { ... }
//		openai { ... }
//		links { ... }
//		identity { ... }
//		origins <origin>...
//		hosts <host>...
//		limits { ... }
//		methods <method or pattern>...
//		audit { ... }
//		rate_limit <calls> <window> [per <what>...] [tools <pattern>...]
//		rate_limit_on_fault local | allow | refuse
//		registrations { ... }
//		state memory | redis <url> [{ ... }]
//		seal_keys <key>...
//		keep_alive <duration>
//		stream_close_delay <duration>
//		call_drain <duration>
//		preserve_host
//		root_metadata on | off
//	}
func (m *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.Err("mcp_app needs the path of its endpoint: mcp_app /mcp [<upstream>...]")
	}
	m.Path, m.Upstreams = args[0], args[1:]
	if !strings.HasPrefix(m.Path, "/") || strings.ContainsAny(m.Path, "*{}") {
		return d.Errf("the first argument is the endpoint's path, not a matcher: write mcp_app /mcp instead of %q", m.Path)
	}
	for _, upstream := range m.Upstreams {
		if _, err := parseUpstream(upstream); err != nil {
			return d.Errf("upstream %q: %v", upstream, err)
		}
	}
	return block(d, map[string]subdirective{
		"resource":            scalar(&m.Resource),
		"auth":                m.parseAuth,
		"tenant":              m.parseTenant,
		"policy":              m.parsePolicy,
		"openai":              m.parseOpenAI,
		"links":               m.parseLinks,
		"identity":            m.parseIdentity,
		"origins":             words(&m.Origins),
		"hosts":               words(&m.Hosts),
		"limits":              m.parseLimits,
		"methods":             words(&m.Methods),
		"audit":               m.parseAudit,
		"rate_limit":          m.parseRateLimit,
		"rate_limit_on_fault": m.parseRateLimitFault,
		"registrations":       m.parseRegistrations,
		"state":               parseState(&m.StateRaw),
		"seal_keys":           words(&m.SealKeys),
		"keep_alive":          duration(&m.KeepAlive),
		"stream_close_delay":  plainDuration(func(v time.Duration) { m.StreamCloseDelay = caddy.Duration(v) }),
		"call_drain":          plainDuration(func(v time.Duration) { m.CallDrain = caddy.Duration(v) }),
		"preserve_host":       flag(&m.PreserveHost),
		"root_metadata":       onOff(func(on bool) { m.RootMetadata = on }),
	})
}

// subdirective reads one line, with the dispenser on its first word.
type subdirective func(d *caddyfile.Dispenser) error

// block reads the lines of the block that is open, each by its first word. A
// block of one line may stand behind its head: auth issuer https://….
func block(d *caddyfile.Dispenser, known map[string]subdirective) error {
	if d.NextArg() {
		return line(d, known)
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		if err := line(d, known); err != nil {
			return err
		}
	}
	return nil
}

// line reads one line, with the dispenser on its first word.
func line(d *caddyfile.Dispenser, known map[string]subdirective) error {
	word := d.Val()
	parse, ok := known[word]
	if !ok {
		return d.Errf("unrecognized subdirective %q, expected one of: %s", word, strings.Join(sortedKeys(known), ", "))
	}
	return parse(d)
}

func sortedKeys(m map[string]subdirective) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// scalar reads exactly one argument, once.
func scalar(into *string) subdirective {
	return func(d *caddyfile.Dispenser) error {
		word := d.Val()
		if *into != "" {
			return d.Errf("%s already specified: %s", word, *into)
		}
		if !d.AllArgs(into) {
			return d.Errf("%s takes exactly one argument", word)
		}
		return nil
	}
}

// oneOf reads exactly one argument out of a few words, once.
func oneOf(into *string, words ...string) subdirective {
	return func(d *caddyfile.Dispenser) error {
		if err := scalar(into)(d); err != nil {
			return err
		}
		if !slices.Contains(words, *into) {
			return d.Errf("expected one of %s, got %q", strings.Join(words, ", "), *into)
		}
		return nil
	}
}

// words reads one or more arguments; repeated lines append.
func words(into *[]string) subdirective {
	return func(d *caddyfile.Dispenser) error {
		word, args := d.Val(), d.RemainingArgs()
		if len(args) == 0 {
			return d.Errf("%s takes at least one argument", word)
		}
		*into = append(*into, args...)
		return nil
	}
}

// flag reads a bare word.
func flag(into *bool) subdirective {
	return func(d *caddyfile.Dispenser) error {
		word := d.Val()
		if d.NextArg() {
			return d.Errf("%s stands alone, without %q", word, d.Val())
		}
		*into = true
		return nil
	}
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
