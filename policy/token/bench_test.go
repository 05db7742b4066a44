package token

import (
	"testing"
)

// BenchmarkVerify measures one token over and over, with and without the
// memory of verified tokens.
func BenchmarkVerify(b *testing.B) {
	for _, key := range []testKey{
		k1(), {"ps", PS256, rsaKey()}, e1(), {"e384", ES384, ec384Key()}, {"e521", ES512, ec521Key()}, o1(),
	} {
		server := newKeyServer(b, key)
		k := newHolder(b, KeyConfig{JWKSURL: server.URL})
		token := key.token()
		for name, size := range map[string]int{"cached": 0, "uncached": -1} {
			b.Run(string(key.alg)+"/"+name, func(b *testing.B) {
				v := newTestVerifier(b, Config{
					Issuers:   []IssuerConfig{{Issuer: testIssuer, Keys: k, Algorithms: allAlgorithms}},
					Audiences: []string{testAudience}, CacheSize: size,
				})
				b.ReportAllocs()
				for b.Loop() {
					if _, err := v.Verify(b.Context(), token); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkVerifyRefused(b *testing.B) {
	server := newKeyServer(b, k1())
	v := verifierFor(b, newHolder(b, KeyConfig{JWKSURL: server.URL}))
	for name, token := range map[string]string{
		"opaque":        "abc123",
		"expired":       k1().token(map[string]any{"exp": 1}),
		"unknown kid":   newEC("unknown").token(),
		"bad signature": testKey{"k1", RS256, otherRSAKey()}.token(),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(b.Context(), token); err == nil {
					b.Fatal("accepted")
				}
			}
		})
	}
}

func BenchmarkChallengeHeader(b *testing.B) {
	c := Challenge{ResourceMetadata: "https://gw.example/.well-known/oauth-protected-resource/mcp", Scopes: []string{"a.read", "a.write"}, Error: "invalid_token"}
	b.ReportAllocs()
	for b.Loop() {
		_ = c.Header()
	}
}
