package token

import (
	"errors"
	"testing"
	"time"
)

// TestGivenClaimsAreReadLikeThoseOfAToken: what may be left out is made up, what
// is wrong is as wrong as in a token.
func TestGivenClaimsAreReadLikeThoseOfAToken(t *testing.T) {
	claims, err := GivenClaims([]byte(`{"sub":"alice","scope":"a b","org":{"id":"acme"}}`), "https://id.example")
	if err != nil {
		t.Fatal(err)
	}
	if tenant, _ := claims.Lookup("org.id"); claims.Issuer != "https://id.example" || claims.Subject != "alice" || len(claims.Scopes) != 2 || tenant != "acme" || !claims.Expiry.After(time.Now()) {
		t.Errorf("%+v", claims)
	}
	if claims, err := GivenClaims([]byte(`{"iss":"https://other.example","sub":"alice"}`), "https://id.example"); err != nil || claims.Issuer != "https://other.example" {
		t.Errorf("%+v, %v", claims, err)
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"sub":""}`, `{"sub":"a","sub":"b"}`, `{"sub":"a","scope":5}`, `{"sub":"a","exp":"soon"}`} {
		_, err := GivenClaims([]byte(bad), "https://id.example")
		if refused, ok := errors.AsType[*Error](err); !ok || refused.Kind != InvalidToken {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := GivenClaims([]byte(`{"sub":"alice"}`), ""); err == nil {
		t.Error("claims without an issuer are taken")
	}
}

func TestOnlyAJWTHasAPayload(t *testing.T) {
	if got := string(UnverifiedPayload("e30.eyJzdWIiOiJhIn0.c2ln")); got != `{"sub":"a"}` {
		t.Errorf("payload %q", got)
	}
	for _, raw := range []string{"", "opaque", "a.b", "a.!.c", "a.b.c.d"} {
		if got := UnverifiedPayload(raw); len(got) > 0 {
			t.Errorf("%q has payload %q", raw, got)
		}
	}
}
