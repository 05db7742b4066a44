package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// What a service says of scopes only takes away: it is no second issuer.
func TestAMembershipServiceWidensNothing(t *testing.T) {
	const challenge = " {\nscopes decks.write\non_missing_scope challenge\n}\n"
	tools := func(string) string {
		return toolWith("get", `{}`) + "," + toolWith("put", `{}`) + "," + toolWith("erase", `{}`)
	}
	rules := "policy {\nroles_claim roles\ntool get\ntool put" + challenge + "tool erase {\nroles owner\n}\n}\n"
	for name, tt := range map[string]struct {
		answer string
		who    person
		status int // of a message at all
		listed []string
		put    string // allow, ask or unknown
	}{
		"no word of scopes":      {`{"member":true}`, editor("acme"), 200, []string{"get", "put"}, "allow"},
		"more than granted":      {`{"member":true,"scopes":["mcp.use","decks.write"]}`, viewer("acme"), 200, []string{"get", "put"}, "ask"},
		"less than granted":      {`{"member":true,"scopes":["mcp.use"]}`, editor("acme"), 200, []string{"get"}, "unknown"},
		"none of them":           {`{"member":true,"scopes":[]}`, editor("acme"), 403, nil, ""},
		"a role, which is added": {`{"member":true,"roles":["owner"]}`, viewer("acme"), 200, []string{"erase", "get", "put"}, "ask"},
	} {
		t.Run(name, func(t *testing.T) {
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.answer) }))
			t.Cleanup(service.Close)
			server := cataloged(tools)
			g := startBefore(t, server, strings.Replace(endpoint(rules), "claim org_id", "claim org_id\nmembers http "+service.URL, 1))
			for _, era := range eras {
				if tt.status != http.StatusOK {
					a := g.bearer(t, tt.who).post(t, pingBody, nil)
					wantStatus(t, era, a, tt.status)
					if got := a.header.Get("WWW-Authenticate"); got != "" { // asking would be in vain
						t.Errorf("%s: the caller is asked for %q", era, got)
					}
					continue
				}
				c := g.caller(t, era, tt.who)
				if got := c.call(t, "tools/list", "", nil).names("tools", "name"); !slices.Equal(got, tt.listed) {
					t.Errorf("%s: tools %q, want %q", era, got, tt.listed)
				}
				server.forget()
				a := c.tool(t, "put", map[string]any{})
				arrived := slices.ContainsFunc(server.seen(), func(seen seenRequest) bool {
					return seen.rpc == "tools/call" && strings.Contains(seen.body, `"put"`)
				})
				switch {
				case arrived != (tt.put == "allow"):
					t.Errorf("%s: put arrived %t: %s", era, arrived, a)
				case tt.put == "ask":
					wantStatus(t, era, a, http.StatusForbidden)
					if params := challengeOf(t, a); params["scope"] != "mcp.use decks.write" {
						t.Errorf("%s: challenge %v", era, params)
					}
				case tt.put == "unknown" && (a.header.Get("WWW-Authenticate") != "" || strings.Contains(string(a.body), "decks.write")):
					t.Errorf("%s: %s", era, a)
				}
			}
		})
	}
}
