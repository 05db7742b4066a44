package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestClaimsAreMapped(t *testing.T) {
	server := newKeyServer(t, k1())
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))
	now := time.Now().Truncate(time.Second)
	claims, err := v.Verify(t.Context(), k1().token(map[string]any{
		"aud": []string{"other", testAudience}, "scope": "a b a c", "client_id": "client", "azp": "party", "jti": "id-1",
		"iat": now.Unix(), "nbf": now.Unix() - 1, "exp": now.Unix() + 60,
		"org_id": "acme", "https://x.example/claims.tenant": "dotted", "realm": map[string]any{"roles": []string{"admin"}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	raw := claims.Raw
	claims = new(*claims)
	claims.Raw = nil
	want := &Claims{
		Issuer: testIssuer, Subject: "u1", ClientID: "client", ID: "id-1",
		Scopes: []string{"a", "b", "c"}, Audience: []string{"other", testAudience},
		Expiry: now.Add(time.Minute), IssuedAt: now, NotBefore: now.Add(-time.Second),
	}
	want.Expiry, want.IssuedAt, want.NotBefore = time.Unix(want.Expiry.Unix(), 0), time.Unix(now.Unix(), 0), time.Unix(now.Unix()-1, 0)
	if !reflect.DeepEqual(claims, want) {
		t.Errorf("got  %+v\nwant %+v", claims, want)
	}
	if got, ok := (&Claims{Raw: raw}).Lookup("realm.roles"); !ok || !reflect.DeepEqual(got, []any{"admin"}) {
		t.Errorf("realm.roles is %v", got)
	}

	claims, err = v.Verify(t.Context(), k1().token(map[string]any{"azp": "party", "scope": nil}))
	if err != nil || claims.ClientID != "party" || claims.Scopes != nil || !claims.IssuedAt.IsZero() {
		t.Errorf("got %+v, %v", claims, err)
	}
}

func TestScopesAreReadFromWhatIssuersSend(t *testing.T) {
	for _, tc := range []struct {
		claims string
		want   []string
	}{
		{`{}`, nil},
		{`{"scope":""}`, nil},
		{`{"scope":"a"}`, []string{"a"}},
		{`{"scope":"a b:c/d.e"}`, []string{"a", "b:c/d.e"}},
		{`{"scope":["a","b"]}`, []string{"a", "b"}},
		{`{"scope":[]}`, nil},
		{`{"scp":"a b"}`, []string{"a", "b"}},
		{`{"scp":["a","b"]}`, []string{"a", "b"}},
		{`{"scope":"a","scp":["b"]}`, []string{"a"}},
		{`{"scope":"","scp":["b"]}`, nil},
	} {
		got, err := scopesOf(must(strict.Object([]byte(tc.claims))))
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s gave %q, %v", tc.claims, got, err)
		}
	}
	for _, claims := range []string{
		`{"scope":"a  b"}`, `{"scope":" a"}`, `{"scope":"a "}`, `{"scope":" "}`, `{"scope":"a\nb"}`, `{"scope":"ä"}`,
		`{"scope":[""]}`, `{"scope":[["a"]]}`, `{"scope":1}`, `{"scope":null}`, `{"scp":null}`, `{"scp":{"a":1}}`,
	} {
		if got, err := scopesOf(must(strict.Object([]byte(claims)))); err == nil {
			t.Errorf("%s gave %q", claims, got)
		}
	}
}

func TestLookupFindsNestedAndNamespacedClaims(t *testing.T) {
	c := &Claims{Raw: must(strict.Object([]byte(`{
		"org_id": "acme", "a.b": "exact", "a": {"b": "nested", "c": {"d": 1}, "c.d": 2, "": "empty"},
		"https://x.example/claims": {"tenant": "t1", "https://y.example/z": true},
		"https://x.example/role": "r", "list": ["x"], "null": null}`)))}
	for path, want := range map[string]any{
		"org_id": "acme", "a.b": "exact", "a.c.d": int64(2), "a.c": map[string]any{"d": int64(1)}, "a.": "empty",
		"https://x.example/claims.tenant": "t1", "https://x.example/claims.https://y.example/z": true,
		"https://x.example/role": "r", "list": []any{"x"}, "null": nil,
	} {
		if got, ok := c.Lookup(path); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, %t, want %v", path, got, ok, want)
		}
	}
	for _, path := range []string{"", ".", "org", "org_id.x", "a.x", "list.0", "null.x", "ORG_ID", "a..b"} {
		if got, ok := c.Lookup(path); ok {
			t.Errorf("%q is %v", path, got)
		}
	}
}

func TestNumbersSurvive(t *testing.T) {
	got := must(strict.Object([]byte(`{"i":9007199254740993,"n":-9223372036854775808,"u":18446744073709551615,
		"b":123456789012345678901234567890,"f":1.5,"e":1e2,"h":1e999,"z":-0}`)))
	want := map[string]any{
		"i": int64(9007199254740993), "n": int64(math.MinInt64), "u": uint64(math.MaxUint64),
		"b": json.Number("123456789012345678901234567890"), "f": 1.5, "e": 100.0, "h": json.Number("1e999"), "z": int64(0),
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %#v", got)
	}
}

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

func TestRememberedTokensAreJudgedAgain(t *testing.T) {
	server := newKeyServer(t, k1())
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := newTestVerifier(t, Config{
		Issuers:     []IssuerConfig{{Issuer: testIssuer, Keys: k}},
		Audiences:   []string{testAudience},
		MaxTokenAge: 40 * time.Second,
	})
	now := time.Now()
	var mu sync.Mutex
	v.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	advance := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }

	short := k1().token(map[string]any{"iat": now.Unix(), "exp": now.Unix() + 10})
	old := k1().token(map[string]any{"iat": now.Unix(), "exp": now.Unix() + 300})
	for _, token := range []string{short, old} {
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := v.Verify(t.Context(), old)
	b, _ := v.Verify(t.Context(), old)
	if a != b {
		t.Error("a remembered token was verified again")
	}

	advance(41 * time.Second)
	_, err := v.Verify(t.Context(), short)
	wantKind(t, err, InvalidToken)
	if c, err := v.Verify(t.Context(), old); err != nil || c != a {
		t.Errorf("got %p, %v, want the remembered %p", c, err, a)
	}
	advance(20 * time.Second) // 61 seconds: the entry is too old, the token not yet
	if c, err := v.Verify(t.Context(), old); err != nil || c == a {
		t.Errorf("got the same claims after the entry's end, %v", err)
	}
	advance(10 * time.Second) // 71 seconds: 40 of age and 30 of leeway are over
	_, err = v.Verify(t.Context(), old)
	wantKind(t, err, InvalidToken)
}

func TestRememberedTokensEndWithTheKeys(t *testing.T) {
	server := newKeyServer(t, k1())
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := verifierFor(t, k)
	token := k1().token()
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	k.Close() // its goroutine no longer reads the clock
	k.now = func() time.Time { return time.Now().Add(DefaultMaxStale + time.Minute) }
	_, err := v.Verify(t.Context(), token)
	wantKind(t, err, Unavailable)
	if !errors.Is(err, ErrKeysUnavailable) {
		t.Error("the error does not wrap ErrKeysUnavailable")
	}
}

// TestRememberedTokenOfOldKeysIsVerifiedAgain covers a token whose verification
// was overtaken by a rotation.
func TestRememberedTokenOfOldKeysIsVerifiedAgain(t *testing.T) {
	server := newKeyServer(t, k1())
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))
	token := k1().token()
	claims, err := v.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	late := *v.cache.get(hashToken(token))
	late.generation--
	v.cache.put(hashToken(token), &late, time.Now())
	if again, err := v.Verify(t.Context(), token); err != nil || again == claims {
		t.Fatalf("got %p, %v: the entry of another generation was used", again, err)
	}
}

func TestRefusedTokensAreNotRemembered(t *testing.T) {
	server := newKeyServer(t, k1())
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))
	forger := testKey{"k1", RS256, otherRSAKey()}
	for i := range 50 {
		_, err := v.Verify(t.Context(), forger.token(map[string]any{"jti": fmt.Sprint(i)}))
		wantKind(t, err, InvalidToken)
		_, err = v.Verify(t.Context(), k1().token(map[string]any{"aud": fmt.Sprint("other", i)}))
		wantKind(t, err, InvalidToken)
	}
	if n := len(v.cache.entries); n != 0 {
		t.Fatalf("%d refused tokens are remembered", n)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newTokenCache(100)
	now := time.Now()
	one, two := &issuer{}, &issuer{}
	put := func(i int, is *issuer, generation uint64, size int, until time.Time) {
		c.put(hashToken(fmt.Sprint(i)), &verified{issuer: is, generation: generation, until: until, size: size}, now)
	}
	check := func(entries int) {
		t.Helper()
		sum := 0
		for _, v := range c.entries {
			sum += v.size
		}
		if len(c.entries) != entries || c.bytes != sum || len(c.order)-c.head != entries {
			t.Fatalf("%d entries of %d bytes, %d bytes counted, %d queued; want %d", len(c.entries), sum, c.bytes, len(c.order)-c.head, entries)
		}
	}
	later := now.Add(time.Minute)
	for i := range 1000 {
		put(i, one, 1, 10, later)
		put(i, one, 1, 20, later) // the same token again
	}
	check(100)
	if cap(c.order) > 1000 {
		t.Errorf("the queue has grown to %d", cap(c.order))
	}
	if c.get(hashToken("999")) == nil || c.get(hashToken("0")) != nil {
		t.Error("not the oldest entries were forgotten")
	}

	for i := range 40 {
		put(2000+i, two, 2, 10, later)
	}
	c.purge(one, 3)
	check(40)
	c.purge(two, 2)
	check(40)
	put(3000, one, 3, maxCacheBytes, later)
	check(1)

	put(3001, one, 3, 1, now.Add(-time.Second))
	check(1)
	now = now.Add(time.Hour)
	put(3002, one, 3, 1, now)
	check(1)

	off := newTokenCache(-1)
	off.put(hashToken("x"), &verified{}, now)
	if len(off.entries) != 0 {
		t.Error("a cache that is off remembers")
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

// FuzzToken goes through everything that reads a token before its signature is
// checked.
func FuzzToken(f *testing.F) {
	add := func(header, payload string) { f.Add(header, payload, "c2ln") }
	add(`{"alg":"RS256","kid":"k1","typ":"at+jwt"}`, `{"iss":"https://id.example/","aud":"a","sub":"u1","exp":1800000000,"scope":"a b"}`)
	add(`{"alg":"ES256"}`, `{"iss":"i","aud":["a"],"sub":"u","exp":1,"nbf":0,"iat":0,"jti":"j","client_id":"c","scp":["a"],"x":{"y":[1.5,null]}}`)
	add(`{"alg":"none"}`, `{"exp":0}`)
	add(`{"alg":"RS256","alg":"RS256"}`, `{"sub":"\ud800"}`)
	f.Fuzz(func(t *testing.T, header, payload, signature string) {
		for _, token := range []string{
			b64([]byte(header)) + "." + b64([]byte(payload)) + "." + signature,
			header + "." + payload + "." + signature,
			header,
		} {
			parsed, err := parseCompact(token)
			if err != nil {
				wantKind(t, err, InvalidToken)
				continue
			}
			if !slices.Contains(allAlgorithms, parsed.alg) || len(parsed.kid) > maxKeyIDBytes || len(parsed.signature) == 0 {
				t.Fatalf("accepted %+v", parsed)
			}
			// One token, one spelling.
			if back := b64([]byte(header)) + "." + b64(parsed.payload) + "." + b64(parsed.signature); token != back && token != header+"."+payload+"."+signature && token != header {
				t.Fatalf("%q was read as %q", token, back)
			}
			if string(parsed.signed)+"."+b64(parsed.signature) != token {
				t.Fatalf("%q covers %q", token, parsed.signed)
			}
			checkClaims(t, parsed.payload)
		}
		checkClaims(t, []byte(payload))
	})
}

func checkClaims(t *testing.T, payload []byte) {
	t.Helper()
	claims, err := mapClaims(payload)
	if err != nil {
		wantKind(t, err, InvalidToken)
		return
	}
	if claims.Issuer == "" || claims.Subject == "" || slices.Contains(claims.Audience, "") || claims.Expiry.Unix() <= 0 {
		t.Fatalf("accepted %+v", claims)
	}
	if strings.TrimSpace(claims.Subject) != claims.Subject || hasControl(claims.Subject+claims.ID+claims.ClientID) {
		t.Fatalf("accepted %+v", claims)
	}
	for _, scope := range claims.Scopes {
		if !IsScopeToken(scope) {
			t.Fatalf("accepted scope %q", scope)
		}
	}
	if !json.Valid(payload) {
		t.Fatalf("accepted invalid JSON %q", payload)
	}
	for name := range claims.Raw {
		claims.Lookup(name)
		claims.Lookup(name + ".x." + name)
	}
}
