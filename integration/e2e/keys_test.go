package e2e

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// startWithFault runs the example before an issuer of its own, a document of
// which fails from the beginning.
func startWithFault(t *testing.T, d issuer.Document, f issuer.Fault) *gateway {
	t.Helper()
	own, err := issuer.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Close(); err != nil {
			t.Errorf("closing the issuer: %v", err)
		}
	})
	own.SetFault(d, f)
	g := start(t, stackFor(example(t, "{$ISSUER:http://127.0.0.1:9000}", own.URL)))
	if err := g.Issuer.Close(); err != nil { // the stack's own, which nobody asks
		t.Fatal(err)
	}
	g.Issuer = own
	return g
}

// An outage of the issuer keeps the gateway neither from starting nor from
// recovering, and nobody is told that a good token is bad (agentgateway 219,
// caddy-jwt 48).
func TestWithoutKeysTokensAreNotJudgedUntilTheIssuerIsBack(t *testing.T) {
	for _, fault := range []issuer.Fault{issuer.Down, issuer.BrokenJSON, issuer.EmptySet} {
		t.Run(string(fault), func(t *testing.T) {
			g := startWithFault(t, issuer.JWKS, fault)
			c := g.bearer(t, viewer("acme"))
			a := c.post(t, pingBody, nil)
			wantStatus(t, "during the outage", a, http.StatusServiceUnavailable)
			if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 3600 {
				t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
			}
			if got := a.header.Get("WWW-Authenticate"); got != "" {
				t.Errorf("the client is sent to log in again: %q", got)
			}
			if got := g.Workspace.Requests(); len(got) != 0 {
				t.Errorf("%d requests reached the server", len(got))
			}
			wantStatus(t, "the document", c.send(t, http.MethodGet, g.document("acme", "/mcp"), "", nil), http.StatusOK)
			wantStatus(t, "no token", g.nobody().post(t, pingBody, nil), http.StatusUnauthorized)
			g.Issuer.SetFault(issuer.JWKS, issuer.None)
			eventually(t, "the token is accepted", func() bool {
				return c.post(t, pingBody, nil).status != http.StatusServiceUnavailable
			})
			g.connect(t, modern, viewer("acme"))
		})
	}
}

// A key that the issuer has begun to use is accepted without a restart
// (agentgateway 2798), and a withdrawn key is not for ever (quack-oauth 15).
func TestARotatedKeyIsAccepted(t *testing.T) {
	g := start(t, exampleConfig(t))
	g.connect(t, modern, viewer("acme"))
	old := g.token(t, viewer("acme"))
	if _, err := g.Issuer.Rotate(issuer.ES256); err != nil {
		t.Fatal(err)
	}
	c := g.bearer(t, viewer("acme")) // signed by the new key
	eventually(t, "a token of the new key is accepted", func() bool {
		return c.post(t, pingBody, nil).status != http.StatusUnauthorized
	})
	g.connect(t, legacy, viewer("acme"))
	c.header.Set("Authorization", "Bearer "+old)
	if a := c.post(t, pingBody, nil); a.status == http.StatusUnauthorized {
		t.Errorf("a token of the old key, still published: %s", a)
	}
}

func TestTheIssuerMayGoAwayOnceItsKeysAreKnown(t *testing.T) {
	g := start(t, exampleConfig(t))
	g.connect(t, modern, viewer("acme"))
	g.Issuer.SetFault(issuer.JWKS, issuer.Down)
	if _, err := g.Issuer.Rotate(issuer.EdDSA); err != nil {
		t.Fatal(err)
	}
	stranger := g.grant(viewer("acme"))
	stranger.Header = map[string]any{"kid": "nobody"}
	c := g.bearer(t, viewer("acme"))
	c.header.Set("Authorization", "Bearer "+g.issue(t, stranger))
	c.post(t, pingBody, nil) // may make the gateway ask in vain
	g.connect(t, modern, viewer("acme"))
	g.connect(t, legacy, viewer("acme"))
}

// A reload neither forgets the keys nor asks for them again.
func TestAReloadKeepsTheKeys(t *testing.T) {
	g := start(t, exampleConfig(t))
	g.connect(t, modern, viewer("acme"))
	before := g.Issuer.Fetches(issuer.JWKS)
	g.Issuer.SetFault(issuer.JWKS, issuer.Down)
	changed := example(t, "tool list_decks\n", "")
	for range 3 {
		if err := g.reload(t, changed); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the new policy counts", func() bool {
			return !slices.Contains(toolNames(t, g.connect(t, modern, viewer("acme"))), "list_decks")
		})
	}
	if got := g.Issuer.Fetches(issuer.JWKS); got != before {
		t.Errorf("the keys were asked for %d times again", got-before)
	}
}

// Where the operator names no key URL, it is found through the issuer's
// metadata.
func TestKeysAreFoundThroughTheIssuersMetadata(t *testing.T) {
	file := example(t, "			jwks_url {$ISSUER:http://127.0.0.1:9000}/keys\n", "			jwks_url {$ISSUER}/keys\n")
	file = []byte(strings.Replace(string(file), "jwks_url {$ISSUER}/keys", "", 1))
	g := start(t, stackFor(file))
	g.connect(t, modern, viewer("acme"))
}
