package e2e

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

// serverChallenge leads to a document about the server itself.
const serverChallenge = `Bearer resource_metadata="http://10.0.0.7/internal"`

// A server that asks for a login of its own never sends clients to its own
// documents (agentgateway 234), and no client is left without a way on
// (oauth2-proxy 3488, litellm 31296).
func TestRefusalsOfTheServerAreAnsweredByRule(t *testing.T) {
	forward := endpoint(allTools + "identity {\nforward_token\n}\n")
	mixed := mixedSite
	insufficient := serverChallenge + `, error="insufficient_scope", scope="reports.read other"`
	for name, test := range map[string]struct {
		site, challenge   string
		anonymous         bool
		status, want      int
		wantError, scopes string // of our challenge; no challenge if both are empty
	}{
		"401 without the token":                {endpoint(allTools), serverChallenge, false, 401, 502, "", ""},
		"401 without the token nor challenge":  {endpoint(allTools), "", false, 401, 502, "", ""},
		"403 without the token":                {endpoint(allTools), insufficient, false, 403, 403, "", ""},
		"401 to nobody":                        {mixed, serverChallenge, true, 401, 401, "none", "mcp.use"},
		"403 to nobody":                        {mixed, serverChallenge, true, 403, 403, "", ""},
		"401 to the caller's token":            {forward, serverChallenge + `, error="invalid_token"`, false, 401, 401, "invalid_token", "mcp.use"},
		"401 to the caller's token, bare":      {forward, "", false, 401, 401, "invalid_token", "mcp.use"},
		"403 for scopes to the caller's token": {forward, insufficient, false, 403, 403, "insufficient_scope", "mcp.use reports.read other"},
		"403 to the caller's token":            {forward, serverChallenge, false, 403, 403, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			header := map[string]string{"Content-Type": "text/plain", "X-Served-By": "server"}
			if test.challenge != "" {
				header["WWW-Authenticate"] = test.challenge
			}
			server := record(answerWith(test.status, header, "go to http://10.0.0.7/internal"))
			g := startBefore(t, server, test.site)
			for _, era := range eras {
				c := g.nobody()
				if !test.anonymous {
					c = g.bearer(t, viewer("acme"))
				}
				c.era = era
				c.header.Set("Mcp-Protocol-Version", era)
				for _, method := range []string{http.MethodPost, http.MethodGet} {
					if method == http.MethodGet && era == modern {
						continue
					}
					server.forget()
					body, mirrored := c.message(t, "ping", "", nil)
					if era == modern {
						body, mirrored = c.message(t, "tools/list", "", nil)
					}
					maps.Copy(mirrored, http.Header{"Origin": nil})
					a := c.send(t, method, c.url, body, mirrored)
					wantStatus(t, era+" "+method, a, test.want)
					if len(server.seen()) == 0 {
						t.Fatalf("%s %s: the server was not asked", era, method)
					}
					if strings.Contains(a.header.Get("WWW-Authenticate"), "10.0.0.7") {
						t.Errorf("%s %s: the server's challenge leaks: %q", era, method, a.header.Get("WWW-Authenticate"))
					}
					if test.wantError == "" {
						if got := a.header.Values("WWW-Authenticate"); len(got) != 0 {
							t.Errorf("%s %s: WWW-Authenticate %q", era, method, got)
						}
					} else {
						params := challengeOf(t, a)
						if params["resource_metadata"] != g.document("acme", "/mcp") || params["scope"] != test.scopes || params["error"] != strings.TrimPrefix(test.wantError, "none") {
							t.Errorf("%s %s: challenge %v", era, method, params)
						}
					}
					if test.want != test.status || test.wantError != "" {
						if strings.Contains(string(a.body), "10.0.0.7") || a.framing != "application/json" {
							t.Errorf("%s %s: the server's words leak: %s", era, method, a)
						}
						if era == modern && string(a.message.Get("id")) != "7" {
							t.Errorf("%s %s: no JSON-RPC error with the id: %s", era, method, a)
						}
					}
				}
			}
			if log := g.log(t); test.want == http.StatusBadGateway && (!strings.Contains(log, "the server does not accept the gateway") || !strings.Contains(log, "forward_token")) {
				t.Errorf("the log does not say what to write: %s", log)
			}
		})
	}
}

// Without authentication here the server's own is the only one there is.
func TestChallengesOfTheServerPassInModeNone(t *testing.T) {
	server := answerWith(http.StatusUnauthorized, map[string]string{"Content-Type": "application/json", "WWW-Authenticate": serverChallenge}, `{"error":"login_required"}`)
	_, c := startOpen(t, server, "none")
	a := c.post(t, pingMessage, nil)
	wantStatus(t, "a message", a, http.StatusUnauthorized)
	if got := a.header.Get("WWW-Authenticate"); got != serverChallenge {
		t.Errorf("WWW-Authenticate %q", got)
	}
}
