package assertion

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// An upstream that uses this project's own verifier, over HTTP, takes an
// assertion for what it is and nothing else.
func TestUpstreamVerifiesAssertions(t *testing.T) {
	keys := New(Config{Storage: newFiles()})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, err := keys.JWKS(r.Context())
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(document)
	}))
	t.Cleanup(server.Close)
	holder, err := token.NewKeyHolder(token.KeyConfig{JWKSURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(holder.Close)
	verifier, err := token.NewVerifier(token.Config{
		Audiences: []string{"files"},
		Issuers: []token.IssuerConfig{{
			Issuer: "https://gw.example/mcp", Keys: holder,
			Algorithms: []token.Algorithm{token.ES256}, TokenType: token.TypeJWT,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(verifier.Close)

	claims := alice()
	claims.Audience, claims.Tenant, claims.ClientID, claims.Scopes = "files", "acme", "chatgpt", []string{"cad.read", "cad.write"}
	assertion, err := keys.Sign(t.Context(), claims)
	if err != nil {
		t.Fatal(err)
	}
	got, err := verifier.Verify(t.Context(), assertion)
	if err != nil {
		t.Fatal(err)
	}
	if got.Subject != "alice" || got.ClientID != "chatgpt" || !slices.Equal(got.Scopes, claims.Scopes) || got.Raw["tenant"] != "acme" {
		t.Errorf("claims %+v", got)
	}
	if life := got.Expiry.Sub(got.IssuedAt); life != TTL || time.Since(got.IssuedAt) > 5*time.Second {
		t.Errorf("valid for %s from %s on", life, got.IssuedAt)
	}
	if id, _ := got.Lookup("sub_id.iss"); id != "https://id.example/" {
		t.Errorf("sub_id %v", got.Raw["sub_id"])
	}

	claims.Audience = ""
	forAnybody, err := keys.Sign(t.Context(), claims)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verifier.Verify(t.Context(), forAnybody); err == nil {
		t.Error("an assertion for another upstream is accepted")
	}
	head, rest, _ := strings.Cut(assertion, ".")
	body, signature, _ := strings.Cut(rest, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(body)
	for name, forged := range map[string]string{
		"another tenant":    head + "." + encode([]byte(strings.Replace(string(raw), "acme", "evil", 1))) + "." + signature,
		"another signature": head + "." + body + "." + signature[:80] + "AAAAAA",
	} {
		if _, err := verifier.Verify(t.Context(), forged); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAssertionSaysWhatItShould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := New(Config{Storage: newFiles()})
		assertion := sign(t, keys)
		var head, body map[string]any
		part(t, assertion, 0, &head)
		part(t, assertion, 1, &body)
		kid := slices.Collect(maps.Keys(published(t, keys)))[0]
		if want := map[string]any{"typ": "JWT", "alg": "ES256", "kid": kid}; !maps.Equal(head, want) {
			t.Errorf("header %v, want %v", head, want)
		}
		now := float64(time.Now().Unix())
		id, _ := body["jti"].(string)
		delete(body, "jti")
		got, _ := json.Marshal(body)
		want, _ := json.Marshal(map[string]any{
			"iss": "https://gw.example/mcp", "aud": "mcp-app-upstream", "sub": "alice", "iat": now, "exp": now + 60,
			"sub_id": map[string]any{"format": "iss_sub", "iss": "https://id.example/", "sub": "alice"},
		})
		if string(got) != string(want) {
			t.Errorf("claims %s, want %s", got, want)
		}
		if len(id) < 26 {
			t.Errorf("jti %q has less than 128 bits", id)
		}
		seen := map[string]bool{id: true}
		for range 100 {
			var p payload
			part(t, sign(t, keys), 1, &p)
			if seen[p.ID] {
				t.Fatalf("jti %q twice", p.ID)
			}
			seen[p.ID] = true
		}
	})
}

func TestNobodyGetsAnAssertion(t *testing.T) {
	keys := New(Config{Storage: newFiles()})
	for _, spoil := range []func(*Claims){
		func(c *Claims) { c.Resource = "" }, func(c *Claims) { c.Issuer = "" }, func(c *Claims) { c.Subject = "" },
	} {
		claims := alice()
		spoil(&claims)
		if assertion, err := keys.Sign(t.Context(), claims); err == nil {
			t.Errorf("%+v is certified: %s", claims, assertion)
		}
	}
}

// Private keys are in the storage and nowhere else.
func TestPrivateKeysAreNotShown(t *testing.T) {
	storage := newFiles()
	keys := New(Config{Storage: storage})
	sign(t, keys)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "keys", keys, "held", storage.held(t))
	encoded, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	document, err := keys.JWKS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held := storage.held(t)
	shown := []string{log.String(), string(encoded), string(document)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		shown = append(shown, fmt.Sprintf(verb, keys), fmt.Sprintf(verb, *held[0]), fmt.Sprintf(verb, held))
	}
	raw, err := held[0].private.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	secret := new(big.Int).SetBytes(raw)
	for _, text := range shown {
		for _, form := range []string{secret.String(), secret.Text(16), encode(raw), base64.StdEncoding.EncodeToString(raw)} {
			if strings.Contains(text, form) {
				t.Errorf("shown: %s", text)
			}
		}
	}
	if strings.Contains(string(document), `"d"`) {
		t.Errorf("published: %s", document)
	}
}

func BenchmarkSign(b *testing.B) {
	keys := New(Config{Storage: newFiles()})
	claims := alice()
	claims.Scopes = []string{"cad.read", "cad.write"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := keys.Sign(b.Context(), claims); err != nil {
			b.Fatal(err)
		}
	}
}
