package token

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestIntrospectionAnswersAreReadStrictly tells three outcomes apart: claims, a
// bad token, and an answer that says nothing.
func TestIntrospectionAnswersAreReadStrictly(t *testing.T) {
	const (
		good    = "claims"
		refused = "invalid_token"
		failed  = "failure"
	)
	with := func(members string) string { return `{"active":true,"sub":"ada","aud":"a",` + members + `}` }
	for _, tc := range []struct{ body, want string }{
		{`{"active":true,"sub":"ada","aud":"a"}`, good},
		{` {"sub":"ada","active":true} ` + "\r\n", good}, // the audience is judged later
		{with(`"iss":"https://id.example/"`), good},
		{with(`"exp":2000000000,"iat":1,"nbf":2,"jti":"j","client_id":"c","username":"u","scope":"a b"`), good},
		{with(`"scope":["a","b"]`), good},
		{with(`"scope":""`), good},
		{with(`"token_type":"bearer"`), good},
		{with(`"token_type":"Bearer","token_use":"access_token","typ":"Bearer"`), good},
		{with(`"token_type":"access_token"`), good},
		{with(`"custom":{"a":[1,2,{"b":null}]}`), good},
		{with(`"Active":false`), good}, // names are case-sensitive

		{`{"active":false}`, refused},
		{`{"active":false,"sub":"ada","error":"expired"}`, refused},
		{with(`"iss":"https://id.example"`), refused},
		{with(`"iss":""`), refused},
		{with(`"iss":null`), refused},
		{with(`"token_type":"DPoP"`), refused},
		{with(`"token_type":"refresh_token"`), refused},
		{with(`"token_type":null`), refused},
		{with(`"token_use":"refresh_token"`), refused},
		{with(`"token_use":"id"`), refused},
		{with(`"typ":"Refresh"`), refused},
		{with(`"typ":"Offline"`), refused},
		{with(`"exp":0`), refused},
		{with(`"exp":null`), refused},
		{with(`"exp":"2000000000"`), refused},
		{with(`"exp":2e9`), refused},
		{with(`"exp":-1`), refused},
		{with(`"exp":99999999999999999999`), refused},
		{with(`"iat":"x"`), refused},
		{with(`"jti":1`), refused},
		{with(`"client_id":["c"]`), refused},
		{with(`"client_id":"a\u0000b"`), refused},
		{with(`"scope":"a  b"`), refused},
		{with(`"scope":{"a":true}`), refused},
		{with(`"scope":["a",1]`), refused},
		{`{"active":true,"aud":"a"}`, refused},
		{`{"active":true,"aud":"a","sub":1}`, refused},
		{`{"active":true,"aud":"a","sub":" "}`, refused},
		{`{"active":true,"aud":"a","sub":"a\nb"}`, refused},
		{`{"active":true,"sub":"ada","aud":[1]}`, refused},
		{`{"active":true,"sub":"ada","aud":{}}`, refused},
		{`{"active":true,"sub":"ada","aud":["a",""]}`, refused},
		{`{"active":true,"sub":"ada","aud":""}`, refused},

		{``, failed},
		{`null`, failed},
		{`true`, failed},
		{`[]`, failed},
		{`{}`, failed},
		{`<html>login</html>`, failed},
		{`{"keys":[]}`, failed},
		{`{"active":"true","sub":"ada"}`, failed},
		{`{"active":1,"sub":"ada"}`, failed},
		{`{"active":null,"sub":"ada"}`, failed},
		{`{"Active":true,"sub":"ada"}`, failed},
		{`{"active":false,"active":true,"sub":"ada"}`, failed},
		{`{"active":true,"sub":"ada","sub":"eve"}`, failed},
		{`{"active":true,"sub":"ada","\u0073ub":"eve"}`, failed},
		{with(`"x":{"a":1,"a":2}`), failed},
		{`{"active":true,"sub":"ada"}{}`, failed},
		{`{"active":true,"sub":"ada"`, failed},
		{"\ufeff" + `{"active":true,"sub":"ada"}`, failed},
		{"{\"active\":true,\"sub\":\"\xff\"}", failed},
		{with(`"deep":` + strings.Repeat("[", 40) + strings.Repeat("]", 40)), failed},
		{`eyJhbGciOiJSUzI1NiJ9.e30.c2ln`, failed}, // a JWT answer (RFC 9701) was not asked for
	} {
		claims, err := readIntrospection([]byte(tc.body), testIssuer, time.Now())
		got := good
		if _, ok := errors.AsType[*callError](err); ok {
			got = failed
		} else if err != nil {
			wantKind(t, err, InvalidToken)
			got = refused
		}
		if got != tc.want || (claims != nil) != (got == good) {
			t.Errorf("%s: %s (%v), want %s", tc.body, got, err, tc.want)
		}
	}
}

func FuzzIntrospectionAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"active":true,"sub":"ada","aud":["a","b"],"scope":"a b","exp":2000000000,"iss":"https://id.example/"}`,
		`{"active":false}`, `{"active":true,"sub":"ada","scope":["a"],"iat":1}`, `{"active":true,"active":false}`,
		`{"active":true,"sub":"ada","client_id":"c","jti":"j","x":{"y":[1.5,-0,1e400]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		now := time.Unix(1_800_000_000, 0)
		claims, err := readIntrospection(body, testIssuer, now)
		if err != nil {
			_, failed := errors.AsType[*callError](err)
			refused, _ := errors.AsType[*Error](err)
			if claims != nil || !failed && (refused == nil || refused.Kind != InvalidToken) {
				t.Fatalf("%v, %v", claims, err)
			}
			if len(err.Error()) > 2048 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}

		// Whoever else reads the answer must see the same in it.
		var other struct {
			Active *bool
			Sub    *string
			Iss    *string
		}
		members := map[string]json.RawMessage{}
		if err := json.Unmarshal(body, &members); err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]any{"active": &other.Active, "sub": &other.Sub, "iss": &other.Iss} {
			if value, ok := members[name]; ok {
				if err := json.Unmarshal(value, to); err != nil {
					t.Fatal(err)
				}
			}
		}
		if other.Active == nil || !*other.Active || other.Sub == nil || *other.Sub != claims.Subject || other.Iss != nil && *other.Iss != testIssuer {
			t.Fatalf("%s gave %+v", body, claims)
		}
		if claims.Issuer != testIssuer || claims.Subject == "" || claims.Expiry.Unix() <= 0 || slices.Contains(claims.Audience, "") {
			t.Fatalf("%s gave %+v", body, claims)
		}
		for _, scope := range claims.Scopes {
			if !IsScopeToken(scope) {
				t.Fatalf("scope %q", scope)
			}
		}
		if hasControl(claims.Subject + claims.ClientID + claims.ID) {
			t.Fatalf("control characters in %+v", claims)
		}
	})
}

func BenchmarkIntrospectRemembered(b *testing.B) {
	i := runningIssuer(b)
	in := introspectorFor(b, i)
	token := opaqueToken(b, i)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := in.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
