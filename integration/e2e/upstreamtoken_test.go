package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// exchanging is an endpoint whose server gets a token of its own.
func exchanging(lines string) string {
	return endpoint(allTools + `identity {
	exchange {$ISSUER}/token {
		client_id gateway
		client_secret {env.E2E_CLIENT_SECRET}
		audience workspace
		` + lines + `
	}
}
`)
}

func startExchanging(t *testing.T, server http.Handler, lines string) *gateway {
	t.Helper()
	t.Setenv("E2E_CLIENT_SECRET", "correct horse")
	g := startBefore(t, server, exchanging(lines))
	g.Issuer.Register("gateway", "correct horse")
	return g
}

// verifierFor judges tokens as a server behind the gateway would.
func verifierFor(t *testing.T, issuerURL, keysURL string, kind token.TokenType, audience string) *token.Verifier {
	t.Helper()
	holder, err := token.NewKeyHolder(token.KeyConfig{JWKSURL: keysURL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(holder.Close)
	verifier, err := token.NewVerifier(token.Config{
		Audiences: []string{audience},
		Issuers:   []token.IssuerConfig{{Issuer: issuerURL, AllowInsecure: true, Keys: holder, TokenType: kind}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(verifier.Close)
	return verifier
}

// oneTool is a server of both eras.
func oneTool() http.Handler {
	return serveTools(func(*http.Request) []*mcp.Tool {
		return []*mcp.Tool{{Name: "one", InputSchema: schema(`{"type":"object"}`)}}
	})
}

func TestTheServerGetsATokenMadeForIt(t *testing.T) {
	server := record(oneTool())
	g := startExchanging(t, server, "scopes mcp.use")
	verifier := verifierFor(t, g.Issuer.URL, g.Issuer.URL+"/keys", token.TypeAccessToken, "workspace")
	for _, era := range eras {
		server.forget()
		c := g.caller(t, era, editor("acme"))
		if got := c.call(t, "tools/list", "", nil).names("tools", "name"); !slices.Equal(got, []string{"one"}) {
			t.Fatalf("%s: tools %q", era, got)
		}
		caller := c.header.Get("Authorization")
		for _, seen := range server.seen() {
			got := seen.header.Get("Authorization")
			if got == caller {
				t.Fatalf("%s: %s carries the caller's own token", era, seen)
			}
			claims, err := verifier.Verify(t.Context(), strings.TrimPrefix(got, "Bearer "))
			if err != nil {
				t.Errorf("%s: %s: %v", era, seen, err)
				continue
			}
			if claims.Subject != "erin@acme" || !slices.Equal(claims.Scopes, []string{"mcp.use"}) || claims.ClientID != "gateway" {
				t.Errorf("%s: %s: the token is for %s with %q by %s", era, seen, claims.Subject, claims.Scopes, claims.ClientID)
			}
			if got := seen.header.Get("X-Mcp-App-Subject"); got != "erin@acme" {
				t.Errorf("%s: %s: and the headers say %q", era, seen, got)
			}
		}
	}
	if got := g.Issuer.Fetches(issuer.TokenExchange); got != 2 {
		t.Errorf("%d exchanges for two tokens", got)
	}
}

// What goes wrong at an exchange is never the caller's token's fault, except
// that the issuer may know it is revoked; and the caller's token never goes on.
func TestWithoutATokenForTheServerItIsNotAsked(t *testing.T) {
	for name, test := range map[string]struct {
		spoil  func(g *gateway, token string)
		status int
		retry  bool
	}{
		"the issuer is down":       {func(g *gateway, _ string) { g.Issuer.SetFault(issuer.TokenExchange, issuer.Down) }, http.StatusServiceUnavailable, true},
		"the issuer answers trash": {func(g *gateway, _ string) { g.Issuer.SetFault(issuer.TokenExchange, issuer.BrokenJSON) }, http.StatusBadGateway, false},
		"the secret is wrong":      {func(g *gateway, _ string) { g.Issuer.Register("gateway", "another") }, http.StatusBadGateway, false},
		"the token is revoked":     {func(g *gateway, token string) { g.Issuer.Revoke(token) }, http.StatusForbidden, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := record(oneTool())
			g := startExchanging(t, server, "")
			c := g.bearer(t, viewer("acme"))
			c.era = modern
			c.header.Set("Mcp-Protocol-Version", modern)
			test.spoil(g, strings.TrimPrefix(c.header.Get("Authorization"), "Bearer "))
			a := c.call(t, "tools/list", "", nil)
			wantStatus(t, "the message", a, test.status)
			if string(a.message.Get("id")) != "7" || a.code() == "" {
				t.Errorf("no JSON-RPC error with the id: %s", a)
			}
			if got := a.header.Get("Retry-After"); (got != "") != test.retry {
				t.Errorf("Retry-After %q", got)
			}
			if got := server.seen(); len(got) != 0 {
				t.Errorf("the server saw %v", got)
			}
			if log := g.log(t); !strings.Contains(log, "no token for the server") || strings.Contains(log, "correct horse") || strings.Contains(log, "eyJ") {
				t.Errorf("the log: %s", log)
			}
		})
	}
}

func TestTheTokenIsForwardedToTheSameResource(t *testing.T) {
	server := record(oneTool())
	g := startBefore(t, server, endpoint(allTools+"identity {\nforward_token\n}\n"))
	for _, era := range eras {
		server.forget()
		c := g.caller(t, era, viewer("acme"))
		c.call(t, "tools/list", "", nil)
		for _, seen := range server.seen() {
			if got := seen.header.Values("Authorization"); !slices.Equal(got, c.header.Values("Authorization")) {
				t.Errorf("%s: %s carries %q", era, seen, got)
			}
		}
	}
}

// asserting is an endpoint that signs for its callers, with its keys in dir.
func asserting(dir string) []byte {
	text := string(site(endpoint(allTools + "identity {\nassertion workspace\n}\n")))
	return []byte(strings.Replace(text, "persist_config off", "persist_config off\n\tstorage file_system "+dir, 1))
}

// A server that verifies what the gateway signs never notices that keys rotate,
// with the keys it has at any time.
func TestTheServerVerifiesAssertionsAcrossARotation(t *testing.T) {
	dir := t.TempDir()
	server := record(oneTool())
	g := start(t, stackWith(asserting(dir), server))
	keys := strings.Replace(g.URL("acme"), "/mcp", "/.well-known/mcp-app/jwks.json", 1)
	verifier := verifierFor(t, g.URL("acme"), g.resolvable(t, keys), token.TypeJWT, "workspace")

	seenKeys := map[string]bool{}
	check := func(phase string, wantKeys int) {
		t.Helper()
		if got := g.nobody().send(t, http.MethodGet, keys, "", nil).message.Get("keys").Len(); got != wantKeys {
			t.Errorf("%s: %d keys are published, want %d", phase, got, wantKeys)
		}
		for _, era := range eras {
			server.forget()
			g.caller(t, era, editor("acme")).call(t, "tools/list", "", nil)
			used := map[string]bool{}
			for _, seen := range server.seen() {
				signed := seen.header.Get("X-Mcp-App-Assertion")
				claims, err := verifier.Verify(t.Context(), signed)
				if err != nil {
					t.Errorf("%s, %s: %s: %v", phase, era, seen, err)
					continue
				}
				from, _ := claims.Lookup("sub_id.iss")
				if claims.Subject != "erin@acme" || claims.Raw["tenant"] != "acme" || from != g.Issuer.URL || time.Until(claims.Expiry) > time.Minute {
					t.Errorf("%s, %s: the assertion says %v", phase, era, claims.Raw)
				}
				if used[signed] {
					t.Errorf("%s, %s: one assertion for two requests", phase, era)
				}
				used[signed] = true
				seenKeys[keyID(t, signed)] = true
			}
		}
	}
	age := func(by time.Duration) {
		t.Helper()
		ageAssertionKeys(t, dir, by)
		if err := g.reload(t, asserting(dir)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the gateway's keys are there", func() bool {
		return g.nobody().send(t, http.MethodGet, keys, "", nil).status == http.StatusOK
	})
	check("at first", 1)
	age(30 * 24 * time.Hour)
	g.caller(t, modern, editor("acme")).call(t, "tools/list", "", nil) // has the next key made
	check("the next key is published", 2)
	if len(seenKeys) != 1 {
		t.Errorf("the next key is used before anybody can know it")
	}
	age(15 * time.Minute)
	check("the next key is used", 2)
	if len(seenKeys) != 2 {
		t.Errorf("%d keys were used, want two", len(seenKeys))
	}
}

// Who has no token is certified to be nobody.
func TestNobodyIsCertified(t *testing.T) {
	server := record(oneTool())
	g := startBefore(t, server, strings.Replace(mixedSite, "policy {", "identity {\nassertion\n}\npolicy {\ntool one", 1))
	g.anonymous(t, modern).call(t, "tools/list", "", nil)
	for _, seen := range server.seen() {
		if got := identityOf(seen.header); len(got) != 0 {
			t.Errorf("%s carries %v", seen, got)
		}
	}
	if len(server.seen()) == 0 {
		t.Error("nothing reached the server")
	}
}
