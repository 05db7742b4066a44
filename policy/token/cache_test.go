package token

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

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
