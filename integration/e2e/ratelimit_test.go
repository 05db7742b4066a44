package e2e

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

// asUser calls a tool for a user of the host.
func (c *caller) asUser(t *testing.T, tool, user string) *answer {
	t.Helper()
	meta := modernMeta
	if c.era != modern {
		meta = "{}"
	}
	meta = meta[:len(meta)-1]
	if meta != "{" {
		meta += ","
	}
	return c.post(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+tool+`","arguments":{},"_meta":`+
		meta+`"openai/subject":"`+user+`"}}}`, c.mirrored("tools/call", tool))
}

// mirrored are the headers of a modern request.
func (c *caller) mirrored(method, name string) http.Header {
	if c.era != modern {
		return nil
	}
	return http.Header{"Mcp-Method": {method}, "Mcp-Name": {name}}
}

// wantLimited checks the answer to one call too many.
func wantLimited(t *testing.T, what string, a *answer) {
	t.Helper()
	wantStatus(t, what, a, http.StatusTooManyRequests)
	if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 3600 {
		t.Errorf("%s: Retry-After %q", what, a.header.Get("Retry-After"))
	}
	if string(a.message.Get("id")) != "7" || a.code() == "" {
		t.Errorf("%s: no JSON-RPC error with the id: %s", what, a)
	}
}

func TestCallsAreLimitedByWhatTheLineNames(t *testing.T) {
	tools := func(string) string {
		return toolWith("put.one", `{}`) + "," + toolWith("put.two", `{}`) + "," + toolWith("get", `{}`)
	}
	type call struct {
		who        person
		tool, user string
		good       bool
	}
	erin, victor, other := editor("acme"), viewer("acme"), editor("globex")
	for name, tt := range map[string]struct {
		line  string
		calls []call
	}{
		"a principal": {"rate_limit 1 1h per principal tools *", []call{
			{erin, "get", "u", true}, {erin, "put.one", "v", false}, {victor, "get", "u", true}, {other, "get", "u", true},
		}},
		"a tenant": {"rate_limit 1 1h per tenant tools *", []call{
			{erin, "get", "u", true}, {victor, "get", "v", false}, {other, "get", "u", true}, {other, "get", "u", false},
		}},
		// Whoever calls, nobody can use up what another caller's users have.
		"the host's user": {"rate_limit 1 1h per openai_subject tools *", []call{
			{erin, "get", "u", true}, {erin, "get", "u", false}, {erin, "get", "v", true}, {victor, "get", "u", true}, {victor, "get", "u", false},
		}},
		"tools of a pattern": {"rate_limit 1 1h per endpoint tools put.*", []call{
			{erin, "get", "u", true}, {erin, "get", "u", true}, {erin, "put.one", "u", true}, {victor, "put.two", "v", false}, {erin, "get", "u", true},
		}},
		"each tool": {"rate_limit 1 1h per tool tools put.*", []call{
			{erin, "put.one", "u", true}, {erin, "put.two", "u", true}, {victor, "put.one", "u", false},
		}},
		"two lines": {"rate_limit 2 1h per tenant tools *\nrate_limit 1 1h per principal tools *", []call{
			{erin, "get", "u", true}, {erin, "get", "u", false}, {victor, "get", "u", false}, {other, "get", "u", true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, era := range eras {
				for place, line := range states(t) { // what Redis has counted outlives the gateway
					t.Run(place+", "+era, func(t *testing.T) {
						server := cataloged(tools)
						g := startBefore(t, server, endpoint(allTools+line+tt.line))
						callers := map[string]*caller{}
						for i, step := range tt.calls {
							c := callers[step.who.subject]
							if c == nil {
								c = g.caller(t, era, step.who)
								callers[step.who.subject] = c
							}
							before := server.toolCalls()
							a := c.asUser(t, step.tool, step.user)
							what := strconv.Itoa(i) + ": " + step.who.subject + " calls " + step.tool
							if arrived := server.toolCalls() > before; arrived != step.good {
								t.Errorf("%s: arrived %t: %s", what, arrived, a)
							}
							if !step.good {
								wantLimited(t, what, a)
							}
						}
						wantStatus(t, "a list", callers[erin.subject].call(t, "tools/list", "", nil), http.StatusOK)
					})
				}
			}
		})
	}
}

// Nobody uses up anything before the token has been judged.
func TestABadTokenUsesUpNothing(t *testing.T) {
	g := startBefore(t, cataloged(func(string) string { return toolWith("get", `{}`) }), endpoint(allTools+"rate_limit 1 1h per endpoint tools *"))
	c := g.caller(t, modern, editor("acme"))
	for range 3 {
		bad := http.Header{"Authorization": {"Bearer " + g.issue(t, badTokens(g)["expired"])}}
		body, mirrored := c.message(t, "tools/call", "get", map[string]any{"name": "get", "arguments": map[string]any{}})
		for name, values := range mirrored {
			bad[name] = values
		}
		wantStatus(t, "a bad token", c.post(t, body, bad), http.StatusUnauthorized)
	}
	wantStatus(t, "a good one", c.asUser(t, "get", "u"), http.StatusOK)
	wantLimited(t, "a second call", c.asUser(t, "get", "u"))
}

// Two Caddys that share a Redis count together.
func TestALimitIsSharedThroughRedis(t *testing.T) {
	redis := statetest.StartRedis(t)
	line := "state redis " + redis.URL + "\nrate_limit 2 1h per principal tools *\n"
	g := startBefore(t, cataloged(func(string) string { return toolWith("get", `{}`) }), endpoint(allTools+line))
	here := g.caller(t, modern, editor("acme"))
	there := *here
	there.client, there.url = g.replica(t, endpoint(allTools+line))
	wantStatus(t, "here", here.asUser(t, "get", "u"), http.StatusOK)
	wantStatus(t, "there", there.asUser(t, "get", "u"), http.StatusOK)
	wantLimited(t, "here again", here.asUser(t, "get", "u"))
	wantLimited(t, "there again", there.asUser(t, "get", "u"))

	// Without the Redis each counts for itself.
	redis.Stop()
	eventually(t, "calls are counted locally", func() bool { return there.asUser(t, "get", "u").status == http.StatusOK })
}
