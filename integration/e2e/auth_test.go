package e2e

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// Where the metadata of protected resources is published (RFC 9728 §3).
const wellKnown = "/.well-known/oauth-protected-resource"

// pingBody is a message that would be answered if it got through.
const pingBody = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`

// nobody sends requests of nobody in particular to acme's endpoint.
func (g *gateway) nobody() *caller {
	return &caller{client: g.client, url: g.URL("acme"), era: legacy, header: http.Header{}}
}

// bearer sends requests with a person's token and without a session.
func (g *gateway) bearer(t *testing.T, p person) *caller {
	t.Helper()
	return &caller{g.client, g.URL(p.tenant), legacy, http.Header{"Authorization": {"Bearer " + g.token(t, p)}}}
}

// challengeOf returns the parameters of the one challenge of an answer.
func challengeOf(t *testing.T, a *answer) map[string]string {
	t.Helper()
	challenges, err := oauthex.ParseWWWAuthenticate(a.header.Values("WWW-Authenticate"))
	if err != nil || len(challenges) != 1 || challenges[0].Scheme != "bearer" {
		t.Errorf("challenges %+v, %v in %q, want one for Bearer", challenges, err, a.header.Values("WWW-Authenticate"))
		return nil
	}
	return challenges[0].Params
}

func TestNobodyGetsInWithoutAToken(t *testing.T) {
	g := start(t, exampleConfig(t))
	c := g.nobody()
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		for name, header := range map[string]http.Header{
			"no header":                nil,
			"another scheme":           {"Authorization": {"Basic dTpw"}},
			"a header of another name": {"X-Access-Token": {g.token(t, editor("acme"))}},
		} {
			a := c.send(t, method, c.url, pingBody, header)
			wantStatus(t, method+", "+name, a, http.StatusUnauthorized)
			params := challengeOf(t, a)
			if params["resource_metadata"] != strings.Replace(g.URL("acme"), "/mcp", wellKnown+"/mcp", 1) {
				t.Errorf("%s, %s: resource_metadata is %q", method, name, params["resource_metadata"])
			}
			if params["scope"] != "mcp.use" {
				t.Errorf("%s, %s: scope is %q", method, name, params["scope"])
			}
			if _, ok := params["error"]; ok {
				t.Errorf("%s, %s: the challenge has an error although no token was wrong", method, name)
			}
			if got := a.header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("%s, %s: Cache-Control is %q", method, name, got)
			}
		}
	}
	a := c.send(t, http.MethodPost, c.url+"?access_token="+g.token(t, editor("acme")), pingBody, nil)
	wantStatus(t, "token in the query", a, http.StatusUnauthorized)
	if got := g.Workspace.Requests(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
}

// badTokens are grants that make a token no good for acme's endpoint.
func badTokens(g *gateway) map[string]issuer.Grant {
	changed := func(change func(*issuer.Grant)) issuer.Grant {
		grant := g.grant(editor("acme"))
		grant.Claims, grant.Header = maps.Clone(grant.Claims), map[string]any{}
		change(&grant)
		return grant
	}
	return map[string]issuer.Grant{
		"expired":                      changed(func(g *issuer.Grant) { g.TTL = -time.Hour }),
		"without an end":               changed(func(g *issuer.Grant) { g.Claims["exp"] = nil }),
		"not valid yet":                changed(func(g *issuer.Grant) { g.Claims["nbf"] = time.Now().Add(time.Hour).Unix() }),
		"for the other tenant's URL":   changed(func(grant *issuer.Grant) { grant.Audience = []string{g.URL("globex")} }),
		"for a longer URL":             changed(func(grant *issuer.Grant) { grant.Audience = []string{g.URL("acme") + "/"} }),
		"for nobody":                   changed(func(g *issuer.Grant) { g.Audience = nil }),
		"of another issuer":            changed(func(g *issuer.Grant) { g.Claims["iss"] = "https://evil.example" }),
		"of an algorithm not accepted": changed(func(g *issuer.Grant) { g.Algorithm = issuer.RS256 }),
		"of another type":              changed(func(g *issuer.Grant) { g.Type = "JWT" }),
		"claiming no algorithm":        changed(func(g *issuer.Grant) { g.Header["alg"] = "none" }),
		"of an unknown key":            changed(func(g *issuer.Grant) { g.Header["kid"] = "no-such-key" }),
		"without a subject":            changed(func(g *issuer.Grant) { g.Subject = "" }),
	}
}

func TestABadTokenIsRefusedInTheSameWordsWhateverIsWrong(t *testing.T) {
	g := start(t, exampleConfig(t))
	c := g.nobody()
	var body, challenge string
	for name, grant := range badTokens(g) {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			a := c.send(t, method, c.url, pingBody, http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}})
			wantStatus(t, method+" "+name, a, http.StatusUnauthorized)
			if params := challengeOf(t, a); params["error"] != "invalid_token" || params["resource_metadata"] == "" || params["scope"] != "mcp.use" {
				t.Errorf("%s %s: challenge %v", method, name, params)
			}
			if body == "" {
				body, challenge = string(a.body), a.header.Get("WWW-Authenticate")
			}
			if string(a.body) != body || a.header.Get("WWW-Authenticate") != challenge {
				t.Errorf("%s %s: answered differently from other bad tokens: %s %q", method, name, a, a.header.Get("WWW-Authenticate"))
			}
		}
	}
	if got := g.Workspace.Requests(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
	if log := g.log(t); strings.Contains(log, "Bearer ") || strings.Contains(log, "eyJ") {
		t.Error("the log holds a token")
	}
}

func TestAMalformedHeaderIsABadRequest(t *testing.T) {
	g := start(t, exampleConfig(t))
	c := g.nobody()
	token := g.token(t, editor("acme"))
	for name, values := range map[string][]string{
		"repeated":      {"Bearer " + token, "Bearer " + token},
		"two tokens":    {"Bearer " + token + ", Bearer " + token},
		"tab":           {"Bearer\t" + token},
		"quoted":        {`Bearer "` + token + `"`},
		"trailing text": {"Bearer " + token + " x"},
		"too long":      {"Bearer " + strings.Repeat("a", 17<<10)},
	} {
		a := c.send(t, http.MethodPost, c.url, pingBody, http.Header{"Authorization": values})
		wantStatus(t, name, a, http.StatusBadRequest)
		if params := challengeOf(t, a); params["error"] != "invalid_request" {
			t.Errorf("%s: challenge %v", name, params)
		}
	}
	if got := g.Workspace.Requests(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
}

func TestATokenWithoutTheEndpointsScopeIsAskedToStepUp(t *testing.T) {
	g := start(t, exampleConfig(t))
	who := person{"zoe@acme", "acme", []string{"decks.write"}}
	for name, scopes := range map[string][]string{"another scope": {"decks.write"}, "no scope": nil} {
		who.scopes = scopes
		c := g.nobody()
		a := c.send(t, http.MethodPost, c.url, pingBody, http.Header{"Authorization": {"Bearer " + g.token(t, who)}})
		wantStatus(t, name, a, http.StatusForbidden)
		params := challengeOf(t, a)
		want := strings.Join(append([]string{"mcp.use"}, scopes...), " ")
		if params["error"] != "insufficient_scope" || params["scope"] != want || params["resource_metadata"] == "" {
			t.Errorf("%s: challenge %v, want insufficient_scope for %q", name, params, want)
		}
	}
}

// Clients replace the token they have, so that the challenge asks for what is
// needed and for what was granted (claude-code 28258, 44652).
func TestAToolMayAskForMoreScopes(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		c := g.caller(t, era, viewer("acme"))
		g.Workspace.ForgetCalls()
		a := c.tool(t, "create_deck", map[string]any{"title": "Plans"})
		wantStatus(t, "create_deck", a, http.StatusForbidden)
		params := challengeOf(t, a)
		if params["error"] != "insufficient_scope" || params["scope"] != "mcp.use decks.write" || params["resource_metadata"] == "" {
			t.Errorf("challenge %v", params)
		}
		if got := g.Workspace.Calls(); len(got) != 0 {
			t.Errorf("%d calls reached the server", len(got))
		}
		if a := g.caller(t, era, editor("acme")).tool(t, "create_deck", map[string]any{"title": "Plans"}); !a.message.Get("result").Exists() {
			t.Errorf("with the scope: %s", a)
		}
	})
}
