package token

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	testissuer "github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// keyVerifier verifies the JWTs of a live issuer by its keys.
func keyVerifier(t testing.TB, i *testissuer.Running) *Verifier {
	t.Helper()
	return newTestVerifier(t, Config{
		Issuers:   []IssuerConfig{{Issuer: i.URL, Keys: newHolder(t, KeyConfig{JWKSURL: i.JWKSURL()})}},
		Audiences: []string{testAudience},
	})
}

func newTestChecker(t testing.TB, v *Verifier, introspectors ...*Introspector) *Checker {
	t.Helper()
	c, err := NewChecker(v, introspectors...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)

	return c
}

// A JWT of an issuer with keys stands and falls with its signature. A server
// that is more generous must not get to see it.
func TestJWTsOfKnownIssuersAreNeverIntrospected(t *testing.T) {
	i := runningIssuer(t)
	other := runningIssuer(t)
	c := newTestChecker(t, keyVerifier(t, i), introspectorFor(t, i),
		introspectorFor(t, other, func(c *IntrospectConfig) { c.JWTs = true }))

	jwt := must(i.Issue(goodGrant()))
	if _, err := c.Verify(t.Context(), jwt); err != nil {
		t.Fatal(err)
	}
	part := strings.Split(jwt, ".")
	respelled := func(change func([]byte) []byte) string {
		header := must(base64.RawURLEncoding.DecodeString(part[0]))
		return b64(change(header)) + "." + part[1] + "." + part[2]
	}
	prefixed := func(s string) string {
		return respelled(func(h []byte) []byte { return append([]byte(s), h...) })
	}
	for name, token := range map[string]string{
		"badly signed":               part[0] + "." + part[1] + "." + strings.Repeat("A", len(part[2])),
		"without signature":          part[0] + "." + part[1] + ".",
		"padded":                     part[0] + "==." + part[1] + "." + part[2],
		"header in plain base64":     base64.RawStdEncoding.EncodeToString([]byte(`{"~":1,"alg":"ES256"}`)) + "." + part[1] + "." + part[2],
		"header with white space":    prefixed(" \n"),
		"much white space":           prefixed(strings.Repeat(" ", 300)),
		"space within the brace":     respelled(func(h []byte) []byte { return append([]byte("{ \t"), h[1:]...) }),
		"header cut off":             part[0][:len(part[0])-3] + "." + part[1] + "." + part[2],
		"header with rubbish behind": part[0] + "~~." + part[1] + "." + part[2],
		"payload not base64":         part[0] + ".~~~." + part[2],
		"payload not JSON":           part[0] + ".AAAA." + part[2],
		"two issuers in the payload": part[0] + "." + b64([]byte(`{"iss":"`+i.URL+`","iss":"`+other.URL+`"}`)) + "." + part[2],
		"of an unknown issuer":       must(i.Issue(testissuer.Grant{Subject: "ada", Claims: map[string]any{"iss": "https://evil.example"}})),
		"of no issuer":               must(i.Issue(testissuer.Grant{Subject: "ada", Claims: map[string]any{"iss": nil}})),
		"expired":                    must(i.Issue(testissuer.Grant{Subject: "ada", TTL: -time.Hour})),
		"for another audience":       must(i.Issue(testissuer.Grant{Subject: "ada", Audience: []string{"other"}})),
	} {
		if _, err := c.Verify(t.Context(), token); err == nil {
			t.Errorf("%s: accepted", name)
		} else {
			wantKind(t, err, InvalidToken)
		}
		if n := i.Fetches(testissuer.Introspection) + other.Fetches(testissuer.Introspection); n != 0 {
			t.Fatalf("%s: %d introspections", name, n)
		}
	}
}

func TestOpaqueTokensAreIntrospected(t *testing.T) {
	i := runningIssuer(t)
	c := newTestChecker(t, keyVerifier(t, i), introspectorFor(t, i))
	if _, err := c.Verify(t.Context(), opaqueToken(t, i)); err != nil {
		t.Error(err)
	}
	// None of these is a JWT that could be read.
	for _, token := range []string{
		"a", "a.b", "a.b.c.d", "v2.public.abc", "e30.e30.e30", "eyJhbGciOiJkaXIifQ..iv.text.tag", "ory_at_x.y", "eeee.eeee.eeee",
	} {
		before := i.Fetches(testissuer.Introspection)
		wantKind(t, second(c.Verify(t.Context(), token)), InvalidToken)
		if n := i.Fetches(testissuer.Introspection) - before; n != 1 {
			t.Errorf("%s: %d introspections", token, n)
		}
	}
	if n := i.Fetches(testissuer.JWKS); n != 0 {
		t.Errorf("%d key fetches for opaque tokens", n)
	}
}

func TestJWTsAreIntrospectedWhereConfigured(t *testing.T) {
	keys, asked := runningIssuer(t), runningIssuer(t)
	takesJWTs := func(c *IntrospectConfig) { c.JWTs = true }
	c := newTestChecker(t, keyVerifier(t, keys), introspectorFor(t, asked, takesJWTs))

	jwt := must(asked.Issue(goodGrant()))
	if claims, err := c.Verify(t.Context(), jwt); err != nil || claims.Issuer != asked.URL {
		t.Errorf("%v, %v", claims, err)
	}
	if _, err := c.Verify(t.Context(), must(keys.Issue(goodGrant()))); err != nil {
		t.Error(err)
	}
	if n := asked.Fetches(testissuer.Introspection); n != 1 {
		t.Errorf("%d introspections", n)
	}

	// Revocation is what it is done for.
	asked.Revoke(jwt)
	fresh := newTestChecker(t, nil, introspectorFor(t, asked, takesJWTs))
	wantKind(t, second(fresh.Verify(t.Context(), jwt)), InvalidToken)
	wantKind(t, second(fresh.Verify(t.Context(), must(keys.Issue(goodGrant())))), InvalidToken)
	if n := asked.Fetches(testissuer.Introspection); n != 2 {
		t.Errorf("%d introspections", n)
	}
}

func TestACheckerWithoutIntrospectorsIsItsVerifier(t *testing.T) {
	i := runningIssuer(t)
	c := newTestChecker(t, keyVerifier(t, i))
	if _, err := c.Verify(t.Context(), must(i.Issue(goodGrant())), testAudience); err != nil {
		t.Error(err)
	}
	for _, token := range []string{"opaque", strings.Repeat("a", MaxTokenBytes+1)} {
		wantKind(t, second(c.Verify(t.Context(), token)), InvalidToken)
	}
}

func TestSeveralServersAreAskedInOrder(t *testing.T) {
	first, last := runningIssuer(t), runningIssuer(t)
	c := newTestChecker(t, nil, introspectorFor(t, first), introspectorFor(t, last, func(c *IntrospectConfig) { c.CacheTTL = -1 }))

	token := opaqueToken(t, last)
	for n := range 3 {
		claims, err := c.Verify(t.Context(), token)
		if err != nil || claims.Issuer != last.URL {
			t.Fatalf("%v, %v", claims, err)
		}
		// Once known, the right one is asked first.
		if a, b := first.Fetches(testissuer.Introspection), last.Fetches(testissuer.Introspection); a != 1 || b != n+1 {
			t.Errorf("%d and %d introspections", a, b)
		}
	}
	if claims, err := c.Verify(t.Context(), opaqueToken(t, first)); err != nil || claims.Issuer != first.URL {
		t.Errorf("%v, %v", claims, err)
	}
	if n := last.Fetches(testissuer.Introspection); n != 3 {
		t.Errorf("the second was asked about a token of the first: %d", n)
	}

	// A token for another audience is worth a hint, though the next one does not
	// know it.
	err := second(c.Verify(t.Context(), opaqueToken(t, first, claiming(map[string]any{"aud": "x"}))))
	if e := wantKind(t, err, InvalidToken); e.Mismatch == nil {
		t.Errorf("%v", e)
	}

	// While one is out, its tokens are unavailable and those of the other good.
	first.SetFault(testissuer.Introspection, testissuer.Down)
	if _, err := c.Verify(t.Context(), opaqueToken(t, last)); err != nil {
		t.Error(err)
	}
	wantKind(t, second(c.Verify(t.Context(), "perhaps_of_the_first")), Unavailable)
}

func TestCheckerConfigurationIsChecked(t *testing.T) {
	i := runningIssuer(t)
	in := introspectorFor(t, i)
	jwts := introspectorFor(t, i, func(c *IntrospectConfig) { c.JWTs = true })
	if _, err := NewChecker(nil); err == nil {
		t.Error("nothing to check with was accepted")
	}
	if _, err := NewChecker(nil, in, in); err == nil {
		t.Error("two introspectors of one issuer were accepted")
	}
	if _, err := NewChecker(keyVerifier(t, i), jwts); err == nil {
		t.Error("JWTs of one issuer by keys and by introspection were accepted")
	}
	if c, err := NewChecker(nil, jwts); err != nil {
		t.Error(err)
	} else {
		wantKind(t, second(c.Verify(t.Context(), must(runningIssuer(t).Issue(goodGrant())))), InvalidToken)
	}
}
