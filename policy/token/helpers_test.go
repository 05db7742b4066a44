package token

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	testIssuer   = "https://id.example/"
	testAudience = "https://gw.example/mcp"
)

// testKey signs with the standard library, so that the tests do not check the
// JOSE library against itself.
type testKey struct {
	kid  string
	alg  Algorithm
	priv crypto.Signer
}

var (
	rsaKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	// otherRSAKey is never published.
	otherRSAKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey       = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	ec384Key    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	ec521Key    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	edKey       = sync.OnceValue(func() ed25519.PrivateKey {
		_, priv, err := ed25519.GenerateKey(rand.Reader)
		return must(priv, err)
	})
)

func k1() testKey { return testKey{"k1", RS256, rsaKey()} }
func e1() testKey { return testKey{"e1", ES256, ecKey()} }
func o1() testKey { return testKey{"o1", EdDSA, edKey()} }

func newEC(kid string) testKey {
	return testKey{kid, ES256, must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// jwk returns the public JWK of a key, without "alg".
func (k testKey) jwk() map[string]any {
	jwk := map[string]any{"kid": k.kid, "use": "sig"}
	switch pub := k.priv.Public().(type) {
	case *rsa.PublicKey:
		jwk["kty"], jwk["n"], jwk["e"] = "RSA", b64(pub.N.Bytes()), b64(big.NewInt(int64(pub.E)).Bytes())
	case *ecdsa.PublicKey:
		point := must(pub.Bytes())[1:]
		jwk["kty"], jwk["crv"] = "EC", pub.Curve.Params().Name
		jwk["x"], jwk["y"] = b64(point[:len(point)/2]), b64(point[len(point)/2:])
	case ed25519.PublicKey:
		jwk["kty"], jwk["crv"], jwk["x"] = "OKP", "Ed25519", b64(pub)
	}

	return jwk
}

func jwks(keys ...testKey) []byte {
	list := []any{}
	for _, k := range keys {
		list = append(list, k.jwk())
	}

	return must(json.Marshal(map[string]any{"keys": list}))
}

func hashOf(alg Algorithm) crypto.Hash {
	switch {
	case strings.HasSuffix(string(alg), "384"):
		return crypto.SHA384
	case strings.HasSuffix(string(alg), "512"):
		return crypto.SHA512
	default:
		return crypto.SHA256
	}
}

// signRaw signs exactly these header and payload texts under alg.
func (k testKey) signRaw(alg Algorithm, header, payload string) string {
	input := b64([]byte(header)) + "." + b64([]byte(payload))
	return input + "." + b64(k.signature(alg, []byte(input)))
}

func (k testKey) signature(alg Algorithm, input []byte) []byte {
	if priv, ok := k.priv.(ed25519.PrivateKey); ok {
		return ed25519.Sign(priv, input)
	}
	h := hashOf(alg).New()
	h.Write(input)
	digest := h.Sum(nil)
	switch priv := k.priv.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, priv, digest)
		if err != nil {
			panic(err)
		}
		size := (priv.Curve.Params().BitSize + 7) / 8
		return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	case *rsa.PrivateKey:
		if strings.HasPrefix(string(alg), "PS") {
			return must(rsa.SignPSS(rand.Reader, priv, hashOf(alg), digest, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}))
		}
		return must(rsa.SignPKCS1v15(nil, priv, hashOf(alg), digest))
	}
	panic("unknown key")
}

// token signs the default claims with changes; a nil value removes a member.
func (k testKey) token(changes ...map[string]any) string {
	return k.tokenWith(nil, changes...)
}

func (k testKey) tokenWith(header map[string]any, changes ...map[string]any) string {
	h := map[string]any{"alg": string(k.alg), "kid": k.kid, "typ": "at+jwt"}
	merge(h, header)
	if k.kid == "" {
		delete(h, "kid")
	}
	c := map[string]any{
		"iss": testIssuer, "aud": testAudience, "sub": "u1",
		"exp": time.Now().Add(5 * time.Minute).Unix(), "scope": "orders.read",
	}
	for _, change := range changes {
		merge(c, change)
	}

	return k.signRaw(k.alg, string(must(json.Marshal(h))), string(must(json.Marshal(c))))
}

func merge(to, changes map[string]any) {
	maps.Copy(to, changes)
	maps.DeleteFunc(to, func(_ string, v any) bool { return v == nil })
}

// keyServer is an issuer's key endpoint on a loopback socket.
type keyServer struct {
	*httptest.Server
	fetches atomic.Int64

	mu      sync.Mutex
	handler http.HandlerFunc
}

func newKeyServer(t testing.TB, keys ...testKey) *keyServer {
	t.Helper()
	s := &keyServer{}
	s.publish(jwks(keys...))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fetches.Add(1)
		s.mu.Lock()
		handler := s.handler
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)

	return s
}

func (s *keyServer) serve(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

func (s *keyServer) publish(body []byte) {
	s.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
}

func (s *keyServer) fail(status int) {
	s.serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", status) })
}

func newHolder(t testing.TB, config KeyConfig) *KeyHolder {
	t.Helper()
	k, err := NewKeyHolder(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)

	return k
}

func newTestVerifier(t testing.TB, config Config) *Verifier {
	t.Helper()
	v, err := NewVerifier(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)

	return v
}

// verifierFor returns a verifier of the test issuer that accepts any type of
// token and every algorithm, so that nothing but the fault under test can be
// the reason for a refusal.
func verifierFor(t testing.TB, k *KeyHolder) *Verifier {
	t.Helper()

	return newTestVerifier(t, Config{
		Issuers: []IssuerConfig{{
			Issuer: testIssuer, Keys: k, Algorithms: allAlgorithms, TokenType: TypeAny,
		}},
		Audiences: []string{testAudience},
	})
}

func wantKind(t testing.TB, err error, kind Kind) *Error {
	t.Helper()
	e, ok := err.(*Error) //nolint:errorlint // the type is promised
	if !ok {
		t.Fatalf("error %v (%T), want an *Error of kind %s", err, err, kind)
	}
	if e.Kind != kind {
		t.Fatalf("error %v, want kind %s", e, kind)
	}

	return e
}

// eventually polls a condition that other goroutines bring about.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("timed out waiting: %s", what)
		}
	}
}

// fakeIssuer answers in memory, for tests on a fake clock.
type fakeIssuer struct {
	mu     sync.Mutex
	body   []byte
	status int
	header http.Header
	delay  time.Duration
	calls  []time.Time
	seen   []http.Header
}

func (f *fakeIssuer) set(status int, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status, f.body = status, body
}

func (f *fakeIssuer) times() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()

	return slices.Clone(f.calls)
}

func (f *fakeIssuer) count() int { return len(f.times()) }

func (f *fakeIssuer) headers() []http.Header {
	f.mu.Lock()
	defer f.mu.Unlock()

	return slices.Clone(f.seen)
}

func (f *fakeIssuer) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.calls = append(f.calls, time.Now())
	f.seen = append(f.seen, r.Header)
	delay, status, body, header := f.delay, f.status, f.body, f.header.Clone()
	f.mu.Unlock()

	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}

	rec := httptest.NewRecorder()
	rec.Body = bytes.NewBuffer(body)
	maps.Copy(rec.Header(), header)
	rec.WriteHeader(status)

	return rec.Result(), nil
}
