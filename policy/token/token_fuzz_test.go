package token

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

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
