package token

import (
	"fmt"
	"testing"
)

func TestNewKeyIsAcceptedAfterOneRefetch(t *testing.T) {
	first, second := newEC("first"), newEC("second")
	server := newKeyServer(t, first)
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))
	if _, err := v.Verify(t.Context(), first.token()); err != nil {
		t.Fatal(err)
	}

	server.publish(jwks(second))
	if _, err := v.Verify(t.Context(), second.token()); err != nil {
		t.Fatal(err)
	}
	if n := server.fetches.Load(); n != 2 {
		t.Fatalf("%d fetches, want 2", n)
	}
	// The withdrawn key is gone at once, also for a token not seen before.
	_, err := v.Verify(t.Context(), first.token(map[string]any{"jti": "another"}))
	wantKind(t, err, InvalidToken)
}

func TestWithdrawnKeyEndsRememberedTokens(t *testing.T) {
	first, second := newEC("first"), newEC("second")
	server := newKeyServer(t, first)
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))
	token := first.token()
	for range 2 {
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}

	server.publish(jwks(second))
	if _, err := v.Verify(t.Context(), second.token()); err != nil {
		t.Fatal(err)
	}
	_, err := v.Verify(t.Context(), token)
	wantKind(t, err, InvalidToken)
	eventually(t, "the cache forgets the old key's tokens", func() bool {
		v.cache.mu.RLock()
		defer v.cache.mu.RUnlock()
		_, ok := v.cache.entries[hashToken(token)]
		return !ok
	})
}

func TestKeyReplacedUnderTheSameKidIsFoundByOneRefetch(t *testing.T) {
	before, after := newEC("same"), newEC("same")
	server := newKeyServer(t, before)
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))
	if _, err := v.Verify(t.Context(), before.token()); err != nil {
		t.Fatal(err)
	}
	server.publish(jwks(after))
	if _, err := v.Verify(t.Context(), after.token()); err != nil {
		t.Fatal(err)
	}

	// A flood of bad signatures under the known kid costs nothing more.
	for i := range 100 {
		_, err := v.Verify(t.Context(), before.token(map[string]any{"jti": fmt.Sprint(i)}))
		wantKind(t, err, InvalidToken)
	}
	if n := server.fetches.Load(); n != 2 {
		t.Fatalf("%d fetches, want 2", n)
	}
}
