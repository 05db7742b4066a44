package token

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
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
