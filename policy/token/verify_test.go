package token

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTimesAreJudgedToTheSecond walks over the edges with the default leeway
// of 30 seconds.
func TestTimesAreJudgedToTheSecond(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	at := func(offset int) time.Time { return now.Add(time.Duration(offset) * time.Second) }
	for _, tc := range []struct {
		name   string
		claims Claims
		maxAge time.Duration
		good   bool
	}{
		{"expires now", Claims{Expiry: at(0)}, 0, true},
		{"expired within leeway", Claims{Expiry: at(-29)}, 0, true},
		{"expired at leeway", Claims{Expiry: at(-30)}, 0, false},
		{"not before within leeway", Claims{Expiry: at(60), NotBefore: at(30)}, 0, true},
		{"not before beyond", Claims{Expiry: at(60), NotBefore: at(31)}, 0, false},
		{"issued ahead within leeway", Claims{Expiry: at(60), IssuedAt: at(30)}, 0, true},
		{"issued ahead beyond", Claims{Expiry: at(60), IssuedAt: at(31)}, 0, false},
		{"old without rule", Claims{Expiry: at(60), IssuedAt: at(-1e6)}, 0, true},
		{"young enough", Claims{Expiry: at(60), IssuedAt: at(-630)}, 10 * time.Minute, true},
		{"too old", Claims{Expiry: at(60), IssuedAt: at(-631)}, 10 * time.Minute, false},
		{"no iat", Claims{Expiry: at(60)}, 10 * time.Minute, false},
	} {
		v := &Verifier{leeway: DefaultLeeway, maxTokenAge: tc.maxAge, now: func() time.Time { return now }}
		if err := v.checkTimes(&tc.claims); (err == nil) != tc.good {
			t.Errorf("%s: %v, want good %t", tc.name, err, tc.good)
		}
	}
}

func TestTypeRules(t *testing.T) {
	for _, tc := range []struct {
		rule TokenType
		typ  string
		good bool
	}{
		{TypeAccessToken, "at+jwt", true},
		{TypeAccessToken, "AT+JWT", true},
		{TypeAccessToken, "application/at+jwt", true},
		{TypeAccessToken, "Application/AT+jwt", true},
		{TypeAccessToken, "application/application/at+jwt", false},
		{TypeAccessToken, "application/", false},
		{TypeAccessToken, "text/at+jwt", false},
		{TypeAccessToken, "at+jwt ", false},
		{TypeAccessToken, "JWT", false},
		{TypeAccessToken, "", false},
		{TypeJWT, "JWT", true},
		{TypeJWT, "jwt", true},
		{TypeJWT, "application/jwt", true},
		{TypeJWT, "at+jwt", false},
		{TypeJWT, "", false},
		{TypeAny, "", true},
		{TypeAny, "at+jwt", true},
		{TypeAny, "anything", true},
	} {
		err := (&issuer{name: "i", tokenType: tc.rule}).checkType(tc.typ)
		if (err == nil) != tc.good {
			t.Errorf("%s, typ %q: %v, want good %t", tc.rule, tc.typ, err, tc.good)
		}
	}
}

// TestOnlySignedTokensGiveHints keeps strangers from writing into the hint
// that tells an operator which line to change.
func TestOnlySignedTokensGiveHints(t *testing.T) {
	server := newKeyServer(t, k1())
	v := newTestVerifier(t, Config{
		Issuers:   []IssuerConfig{{Issuer: testIssuer, Keys: newHolder(t, KeyConfig{JWKSURL: server.URL})}},
		Audiences: []string{testAudience, "tunnel"},
	})
	forger := testKey{"k1", RS256, otherRSAKey()}
	withoutAud := map[string]any{"aud": nil}
	wrongAud := map[string]any{"aud": []string{"client", strings.Repeat("x", 1000)}}
	for _, tc := range []struct {
		name   string
		header map[string]any
		claims map[string]any
		want   *Mismatch
	}{
		{"typ", map[string]any{"typ": "JWT"}, nil, &Mismatch{Member: "typ", Issuer: testIssuer, Seen: []string{"JWT"}, Want: []string{"at+jwt"}}},
		{"typ absent", map[string]any{"typ": nil}, nil, &Mismatch{Member: "typ", Issuer: testIssuer, Seen: []string{}, Want: []string{"at+jwt"}}},
		{"aud absent", nil, withoutAud, &Mismatch{
			Member: "aud", Issuer: testIssuer, Seen: []string{}, Want: []string{testAudience, "tunnel"},
		}},
		{"aud", nil, wrongAud, &Mismatch{
			Member: "aud", Issuer: testIssuer, Want: []string{testAudience, "tunnel"},
			Seen: []string{"client", strings.Repeat("x", 253) + "..."},
		}},
		{"expired", nil, map[string]any{"exp": 1}, nil},
		{"other issuer", nil, map[string]any{"iss": "https://evil.example"}, nil},
	} {
		_, err := v.Verify(t.Context(), k1().tokenWith(tc.header, tc.claims))
		if e := wantKind(t, err, InvalidToken); !reflect.DeepEqual(e.Mismatch, tc.want) {
			t.Errorf("%s: mismatch %+v, want %+v", tc.name, e.Mismatch, tc.want)
		}
		_, err = v.Verify(t.Context(), forger.tokenWith(tc.header, tc.claims))
		if e := wantKind(t, err, InvalidToken); e.Mismatch != nil {
			t.Errorf("%s: a forged token gave the hint %+v", tc.name, e.Mismatch)
		}
	}
}

func TestReasonsNameTheMistake(t *testing.T) {
	server := newKeyServer(t, k1())
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))
	for name, tc := range map[string]struct{ token, want string }{
		"final slash":  {k1().token(map[string]any{"iss": "https://id.example"}), "by a final slash"},
		"issuer":       {k1().token(map[string]any{"iss": "https://other.example"}), `"https://other.example" is not configured`},
		"milliseconds": {k1().token(map[string]any{"exp": time.Now().UnixMilli()}), "milliseconds"},
		"kid":          {newEC("k7").token(), `"k7"`},
		"opaque":       {"abc123", "three parts"},
		"header":       {"abc.def.ghi", "header"},
	} {
		_, err := v.Verify(t.Context(), tc.token)
		if e := wantKind(t, err, InvalidToken); !strings.Contains(e.Reason, tc.want) {
			t.Errorf("%s: reason %q does not hold %q", name, e.Reason, tc.want)
		}
	}
}

func TestAudiencesOfOneCallReplaceTheConfiguredOnes(t *testing.T) {
	server := newKeyServer(t, k1())
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))
	acme := k1().token(map[string]any{"aud": "https://acme.example/mcp"})
	for range 2 { // also from the cache
		if _, err := v.Verify(t.Context(), acme, "https://acme.example/mcp"); err != nil {
			t.Fatal(err)
		}
		_, err := v.Verify(t.Context(), acme, "https://globex.example/mcp")
		wantKind(t, err, InvalidToken)
		_, err = v.Verify(t.Context(), acme)
		wantKind(t, err, InvalidToken)
		_, err = v.Verify(t.Context(), k1().token(), "https://acme.example/mcp")
		wantKind(t, err, InvalidToken)
	}
}

func TestVerifierIsRaceFree(t *testing.T) {
	first := newEC("a")
	server := newKeyServer(t, first)
	k := newHolder(t, KeyConfig{JWKSURL: server.URL, Cooldown: time.Millisecond})
	v := verifierFor(t, k)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 40 {
				switch (worker + i) % 4 {
				case 0:
					_, _ = v.Verify(t.Context(), first.token())
				case 1:
					next := newEC(fmt.Sprint(worker, i))
					server.publish(jwks(first, next))
					_, _ = v.Verify(t.Context(), next.token())
				case 2:
					k.OnEvent(func(Event) {})()
					k.Stats()
				case 3:
					_, _ = v.Verify(t.Context(), newEC("a").token())
				}
			}
		})
	}
	wg.Wait()
}

func TestConfigIsChecked(t *testing.T) {
	k := newHolder(t, KeyConfig{JWKSURL: "https://id.example/keys"})
	discovering := newHolder(t, KeyConfig{Issuer: "https://id.example"})
	good := IssuerConfig{Issuer: testIssuer, Keys: k}
	change := func(f func(*IssuerConfig)) Config { c := good; f(&c); return Config{Issuers: []IssuerConfig{c}} }
	for name, tc := range map[string]struct {
		config Config
		good   bool
	}{
		"good":             {Config{Issuers: []IssuerConfig{good}, Audiences: []string{"a"}}, true},
		"no audience yet":  {Config{Issuers: []IssuerConfig{good}}, true},
		"no issuer":        {Config{}, false},
		"twice":            {Config{Issuers: []IssuerConfig{good, good}}, false},
		"negative age":     {Config{Issuers: []IssuerConfig{good}, MaxTokenAge: -1}, false},
		"empty audience":   {Config{Issuers: []IssuerConfig{good}, Audiences: []string{""}}, false},
		"no keys":          {change(func(c *IssuerConfig) { c.Keys = nil }), false},
		"http issuer":      {change(func(c *IssuerConfig) { c.Issuer = "http://id.example" }), false},
		"http, insecure":   {change(func(c *IssuerConfig) { c.Issuer, c.AllowInsecure = "http://id.example", true }), true},
		"HS256":            {change(func(c *IssuerConfig) { c.Algorithms = []Algorithm{"HS256"} }), false},
		"none":             {change(func(c *IssuerConfig) { c.Algorithms = []Algorithm{RS256, "none"} }), false},
		"unknown type":     {change(func(c *IssuerConfig) { c.TokenType = "JWT" }), false},
		"keys of another":  {change(func(c *IssuerConfig) { c.Keys = discovering }), false},
		"keys of this one": {change(func(c *IssuerConfig) { c.Keys, c.Issuer = discovering, "https://id.example" }), true},
	} {
		v, err := NewVerifier(tc.config)
		if (err == nil) != tc.good {
			t.Errorf("%s: error %v, want good %t", name, err, tc.good)
		}
		if v != nil {
			v.Close()
		}
	}
}
