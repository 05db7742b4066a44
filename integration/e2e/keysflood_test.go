package e2e

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// twoIssuers is an endpoint for the tokens of two issuers.
func twoIssuers(first, second string) []byte {
	two := fmt.Sprintf("auth {\nissuer %s {\njwks_url %s/keys\n}\nissuer %s {\njwks_url %s/keys\n}\nscopes mcp.use\n}\n", first, first, second, second)
	return site("mcp_app /mcp {$WORKSPACE} {\n" + resource + two + tenants + allTools + "}\n")
}

// startSecondIssuer runs another authorization server.
func startSecondIssuer(t *testing.T) *issuer.Running {
	t.Helper()
	other, err := issuer.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	return other
}

// by is a caller with a token of another issuer.
func (g *gateway) by(t *testing.T, other *issuer.Running, p person) *caller {
	t.Helper()
	token, err := other.Issue(g.grant(p))
	if err != nil {
		t.Fatal(err)
	}
	return &caller{g.client, g.URL(p.tenant), legacy, http.Header{"Authorization": {"Bearer " + token}}}
}

// A dead issuer harms no other issuer, no endpoint and no reload (agentgateway
// 219, 3616).
func TestADeadIssuerHarmsNobodyElse(t *testing.T) {
	for _, fault := range []issuer.Fault{issuer.Down, issuer.Slow, issuer.Endless, issuer.BrokenJSON} {
		t.Run(string(fault), func(t *testing.T) {
			dead := startSecondIssuer(t)
			dead.SetFault(issuer.JWKS, fault)
			g := startBefore(t, pong(), "respond 404") // the address of the issuers is known only now
			caddyfile := twoIssuers(g.Issuer.URL, dead.URL)
			if err := g.reload(t, caddyfile); err != nil {
				t.Fatalf("a dead issuer keeps the configuration from loading: %v", err)
			}
			living, locked := g.bearer(t, viewer("acme")), g.by(t, dead, viewer("acme"))
			var group sync.WaitGroup
			group.Go(func() {
				a := locked.post(t, pingMessage, nil)
				wantStatus(t, "a caller of the dead issuer", a, http.StatusServiceUnavailable)
				if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 {
					t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
				}
			})
			for range 50 {
				wantStatus(t, "a caller of the living issuer", living.post(t, pingMessage, nil), http.StatusOK)
			}
			group.Wait()
			if err := g.reload(t, append(slices.Clone(caddyfile), "\n# reloaded\n"...)); err != nil {
				t.Fatalf("a dead issuer keeps the configuration from reloading: %v", err)
			}
			wantStatus(t, "after a reload", living.post(t, pingMessage, nil), http.StatusOK)
			dead.SetFault(issuer.JWKS, issuer.None)
			eventually(t, "callers of the issuer that is back are let in", func() bool {
				return locked.post(t, pingMessage, nil).status == http.StatusOK
			})
		})
	}
}

// 50 reloads neither ask the issuers again nor leave anything running.
func TestManyReloadsKeepOneHolderForEachIssuer(t *testing.T) {
	other := startSecondIssuer(t)
	g := startBefore(t, pong(), "respond 404")
	configurations := [][]byte{
		twoIssuers(g.Issuer.URL, other.URL),
		[]byte(strings.Replace(string(twoIssuers(g.Issuer.URL, other.URL)), "tool *", "tool x*", 1)),
	}
	first, second := g.bearer(t, viewer("acme")), g.by(t, other, viewer("acme"))
	check := func(i int) {
		t.Helper()
		if err := g.reload(t, configurations[i%2]); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*caller{first, second} {
			c.client = g.client
			wantStatus(t, fmt.Sprintf("after reload %d", i), c.post(t, pingMessage, nil), http.StatusOK)
		}
	}
	for i := range 5 {
		check(i)
	}
	before := settled()
	for i := range 50 {
		check(i)
	}
	eventually(t, fmt.Sprintf("no more goroutines than the %d after the first reloads", before), func() bool { return settled() <= before+5 })
	for name, i := range map[string]*issuer.Running{"first": g.Issuer, "second": other} {
		if got := i.Fetches(issuer.JWKS); got != 1 {
			t.Errorf("the %s issuer was asked for its keys %d times", name, got)
		}
	}
}

// settled counts goroutines when they have stopped coming and going.
func settled() int {
	count := runtime.NumGoroutine()
	for range 50 {
		time.Sleep(20 * time.Millisecond)
		if now := runtime.NumGoroutine(); now < count {
			count = now
		}
	}
	return count
}

// Tokens with invented key ids cost the issuer nothing to speak of, and nobody
// else anything (evevault 142).
func TestAFloodOfUnknownKeysIsNoFloodForTheIssuer(t *testing.T) {
	g := start(t, exampleConfig(t))
	g.connect(t, modern, viewer("acme"))
	before, fetched := settled(), g.Issuer.Fetches(issuer.JWKS)
	began := time.Now()
	var group sync.WaitGroup
	const workers, each = 8, 250
	for worker := range workers {
		group.Go(func() {
			c := g.nobody()
			for i := range each {
				grant := g.grant(viewer("acme"))
				grant.Header = map[string]any{"kid": fmt.Sprintf("invented-%d-%d", worker, i)}
				c.header.Set("Authorization", "Bearer "+g.issue(t, grant))
				wantStatus(t, "an invented key", c.post(t, pingMessage, nil), http.StatusUnauthorized)
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	allowed := 2 * (1 + int(took/time.Minute))
	if got := g.Issuer.Fetches(issuer.JWKS) - fetched; got > allowed {
		t.Errorf("the issuer was asked %d times in %s", got, took)
	}
	t.Logf("%d tokens in %s, %d fetches", workers*each, took.Round(time.Millisecond), g.Issuer.Fetches(issuer.JWKS)-fetched)
	g.client.CloseIdleConnections()
	eventually(t, "no goroutine is left of it", func() bool { return settled() <= before+workers })
	g.connect(t, modern, viewer("acme"))
}

// Issuers that put new keys under an old id are followed as well (quack-oauth
// 15).
func TestAKeyReplacedUnderItsIDIsAccepted(t *testing.T) {
	g := start(t, exampleConfig(t))
	g.connect(t, modern, viewer("acme"))
	old := g.token(t, viewer("acme"))
	if err := g.Issuer.Replace(g.Issuer.KeyIDs(issuer.ES256)[0]); err != nil {
		t.Fatal(err)
	}
	c := g.bearer(t, viewer("acme"))
	eventually(t, "a token of the new key is accepted", func() bool {
		return c.post(t, pingBody, nil).status != http.StatusUnauthorized
	})
	c.header.Set("Authorization", "Bearer "+old)
	wantStatus(t, "a token of the key that is gone", c.post(t, pingBody, nil), http.StatusUnauthorized)
}

// A key set that is slow or does not end holds up nobody who has a known key.
func TestASlowKeySetHoldsUpNobody(t *testing.T) {
	for _, fault := range []issuer.Fault{issuer.Slow, issuer.Endless} {
		t.Run(string(fault), func(t *testing.T) {
			g := startBefore(t, pong(), endpoint(allTools))
			known := g.bearer(t, viewer("acme"))
			wantStatus(t, "before", known.post(t, pingMessage, nil), http.StatusOK)
			g.Issuer.SetFault(issuer.JWKS, fault)
			grant := g.grant(viewer("acme"))
			grant.Header = map[string]any{"kid": "invented"}
			stranger := g.nobody()
			stranger.header.Set("Authorization", "Bearer "+g.issue(t, grant))
			var group sync.WaitGroup
			group.Go(func() {
				a := stranger.post(t, pingMessage, nil)
				wantStatus(t, "an invented key", a, http.StatusUnauthorized, http.StatusServiceUnavailable)
			})
			for range 20 {
				wantStatus(t, "a known key", known.post(t, pingMessage, nil), http.StatusOK)
			}
			g.Issuer.SetFault(issuer.JWKS, issuer.None)
			group.Wait()
		})
	}
}
