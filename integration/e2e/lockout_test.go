package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// warnings are the log lines at WARN with a message.
func (g *gateway) warnings(t *testing.T, message string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range strings.SplitSeq(g.log(t), "\n") {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["level"] == "warn" && entry["msg"] == message {
			found = append(found, entry)
		}
	}
	return found
}

// An endpoint that refuses everybody on its first day is most often wrong in one
// word: the log says which line to write, once a minute, and only for tokens
// whose signature is good (mcp-context-forge 4384).
func TestTheLogSaysWhichLineWouldLetAGoodTokenIn(t *testing.T) {
	const mismatch = "an otherwise good token was refused"
	g := startBefore(t, pong(), endpoint(allTools))
	send := func(change func(*issuer.Grant), want int) {
		t.Helper()
		grant := g.grant(viewer("acme"))
		change(&grant)
		c := g.nobody()
		c.header.Set("Authorization", "Bearer "+g.issue(t, grant))
		for range 3 {
			a := c.post(t, pingMessage, nil)
			wantStatus(t, "a refused token", a, want)
			for _, secret := range []string{"wrong.example", "elsewhere", "JWT"} {
				if strings.Contains(string(a.body)+a.header.Get("WWW-Authenticate"), secret) {
					t.Errorf("the caller is told what was seen: %s", a)
				}
			}
		}
	}
	// Nobody's word counts before the signature does.
	send(func(grant *issuer.Grant) {
		grant.Audience, grant.Header = []string{"https://wrong.example"}, map[string]any{"kid": "no-such-key"}
	}, http.StatusUnauthorized)
	if got := g.warnings(t, mismatch); len(got) != 0 {
		t.Errorf("a stranger's token gives a hint: %v", got)
	}

	send(func(grant *issuer.Grant) { grant.Audience = []string{"https://wrong.example/mcp"} }, http.StatusUnauthorized)
	send(func(grant *issuer.Grant) { grant.Type = "JWT" }, http.StatusUnauthorized)
	hints := g.warnings(t, mismatch)
	if len(hints) != 2 {
		t.Fatalf("%d hints for six refusals of two kinds, want two: %v", len(hints), hints)
	}
	for i, want := range []struct{ member, seen, fix string }{
		{"aud", "https://wrong.example/mcp", "audience https://wrong.example/mcp"},
		{"typ", "JWT", "token_type jwt"},
	} {
		entry := string(marshal(t, hints[i]))
		if hints[i]["member"] != want.member || !strings.Contains(entry, want.seen) || !strings.Contains(entry, want.fix) || !strings.Contains(entry, g.Issuer.URL) {
			t.Errorf("hint %d: %s, want the %s seen, %q, and %q", i, entry, want.member, want.seen, want.fix)
		}
	}

	send(func(grant *issuer.Grant) { grant.Claims["org_id"] = "elsewhere" }, http.StatusForbidden)
	tenants := g.warnings(t, "a correctly signed token was refused for its tenant")
	if len(tenants) != 1 {
		t.Fatalf("%d hints for three refusals, want one: %v", len(tenants), tenants)
	}
	if entry := string(marshal(t, tenants[0])); !strings.Contains(entry, "elsewhere") || !strings.Contains(entry, "allow") || !strings.Contains(entry, "org_id") {
		t.Errorf("the hint is %s", entry)
	}

	// What the hint says is true.
	fixed := strings.Replace(endpoint(allTools), "scopes mcp.use", "scopes mcp.use\naudience https://wrong.example/mcp", 1)
	fixed = strings.Replace(fixed, "jwks_url", "token_type jwt\njwks_url", 1)
	if err := g.reload(t, site(fixed)); err != nil {
		t.Fatal(err)
	}
	send(func(grant *issuer.Grant) { grant.Audience, grant.Type = []string{"https://wrong.example/mcp"}, "JWT" }, http.StatusOK)
}

// Tokens without aud or tenant get a hint that helps, too.
func TestTheLogHelpsWhereATokenSaysNothing(t *testing.T) {
	g := startBefore(t, pong(), endpoint(allTools))
	for want, change := range map[string]func(*issuer.Grant){
		"let the authorization server put aud into its tokens": func(g *issuer.Grant) { g.Audience = nil },
		"claim \\\"org_id\\\"":                                 func(g *issuer.Grant) { delete(g.Claims, "org_id") },
	} {
		grant := g.grant(viewer("acme"))
		change(&grant)
		c := g.nobody()
		c.header.Set("Authorization", "Bearer "+g.issue(t, grant))
		c.post(t, pingMessage, nil)
		if log := g.log(t); !strings.Contains(log, want) {
			t.Errorf("the log does not say %q: %s", want, log)
		}
	}
}
