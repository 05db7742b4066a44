package token

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The tests of this file talk to key servers on loopback sockets.

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

func TestOutageBeforeTheFirstFetchIsUnavailableAndHeals(t *testing.T) {
	server := newKeyServer(t, k1())
	server.fail(http.StatusServiceUnavailable)
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := verifierFor(t, k)
	if server.fetches.Load() != 0 {
		t.Fatal("constructing a holder or verifier fetched")
	}

	_, err := v.Verify(t.Context(), k1().token())
	e := wantKind(t, err, Unavailable)
	if e.RetryAfter < time.Second || e.RetryAfter > time.Minute || !strings.Contains(e.Reason, "503") {
		t.Fatalf("retry after %s, reason %q", e.RetryAfter, e.Reason)
	}
	if s := k.Stats(); s.State != Down || s.Failures == 0 {
		t.Fatalf("stats %+v", s)
	}

	server.publish(jwks(k1()))
	eventually(t, "the holder retries by itself", func() bool { return k.Stats().State == Fresh })
	if _, err := v.Verify(t.Context(), k1().token()); err != nil {
		t.Fatal(err)
	}
}

func TestOutageAfterTheFirstFetchHarmsNoGoodToken(t *testing.T) {
	server := newKeyServer(t, k1())
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := verifierFor(t, k)
	if _, err := v.Verify(t.Context(), k1().token()); err != nil {
		t.Fatal(err)
	}

	server.Server.Close()
	// An unknown key cannot be judged while the issuer is away: it may be new.
	_, err := v.Verify(t.Context(), newEC("new").token())
	wantKind(t, err, Unavailable)
	_, err = v.Verify(t.Context(), newEC("newer").token())
	wantKind(t, err, Unavailable)
	if _, err := v.Verify(t.Context(), k1().token(map[string]any{"jti": "fresh"})); err != nil {
		t.Fatal(err)
	}
	if s := k.Stats(); s.State != Stale || s.Keys != 1 || s.LastError == "" {
		t.Fatalf("stats %+v", s)
	}
}

func TestEmptyOrBrokenSetNeverReplacesAGoodOne(t *testing.T) {
	good := newEC("good")
	for name, body := range map[string]string{
		"empty": `{"keys":[]}`, "null": `{"keys":null}`, "HTML": "<html>", "no bytes": "",
		"only a secret": `{"keys":[{"kty":"oct","k":"AA","kid":"good"}]}`,
		"too long":      `{"keys":[],"x":"` + strings.Repeat("x", maxKeySetBytes) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			server := newKeyServer(t, good)
			k := newHolder(t, KeyConfig{JWKSURL: server.URL})
			v := verifierFor(t, k)
			if _, err := v.Verify(t.Context(), good.token()); err != nil {
				t.Fatal(err)
			}
			server.publish([]byte(body))
			_, err := v.Verify(t.Context(), newEC("unknown").token())
			wantKind(t, err, Unavailable)
			s := k.Stats()
			if s.State != Stale || s.Failures != 1 || name == "too long" && !strings.Contains(s.LastError, "1 MiB") {
				t.Fatalf("stats %+v", s)
			}
			if _, err := v.Verify(t.Context(), good.token(map[string]any{"jti": "2"})); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestEndlessAndOversizedBodiesAreCutOff(t *testing.T) {
	var sent atomic.Int64
	for name, handler := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, r *http.Request) {
			chunk := []byte(strings.Repeat(" ", 32<<10))
			for r.Context().Err() == nil {
				n, err := w.Write(chunk)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.CopyN(z, zeros{}, 64<<20)
			_ = z.Close()
		},
		"endless error page": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			for r.Context().Err() == nil {
				n, err := w.Write(make([]byte, 32<<10))
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newKeyServer(t)
			server.serve(handler)
			k := newHolder(t, KeyConfig{JWKSURL: server.URL})
			k.Start()
			eventually(t, "the fetch fails", func() bool { return k.Stats().Failures > 0 })
			k.Close()
		})
	}
	// What the sockets buffer comes on top of what is read.
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d bytes were taken from endless answers", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestSlowBodyHoldsNobodyUp lets the key server stop in the middle of its
// answer: callers with their own deadline leave, and so does Close.
func TestSlowBodyHoldsNobodyUp(t *testing.T) {
	server := newKeyServer(t)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	defer close(release)
	server.serve(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"keys":[`)
		_ = http.NewResponseController(w).Flush()
		begun <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := verifierFor(t, k)

	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := v.Verify(ctx, k1().token())
		result <- err
	}()
	<-begun
	cancel()
	wantKind(t, <-result, Unavailable)
	k.Close()
}

// TestFloodOfUnknownKidsCostsOneFetch is what an attacker can do without any
// token: invent key ids as fast as the network allows.
func TestFloodOfUnknownKidsCostsOneFetch(t *testing.T) {
	server := newKeyServer(t, k1())
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := verifierFor(t, k)
	if _, err := v.Verify(t.Context(), k1().token()); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()

	forged := newEC("")
	var wg sync.WaitGroup
	for worker := range 20 {
		wg.Go(func() {
			for i := range 100 {
				forged := forged
				forged.kid = fmt.Sprintf("%d-%d", worker, i)
				if _, err := v.Verify(t.Context(), forged.token()); err == nil {
					t.Error("a forged token was accepted")
				}
			}
		})
	}
	wg.Wait()

	if n := server.fetches.Load(); n > 2 {
		t.Errorf("2000 unknown kids caused %d fetches, want at most 2 in all", n)
	}
	eventually(t, "the number of goroutines is as before", func() bool { return runtime.NumGoroutine() <= before })
	if _, err := v.Verify(t.Context(), k1().token(map[string]any{"jti": "x"})); err != nil {
		t.Fatal(err)
	}
}

func TestManyCallersShareTheFirstFetch(t *testing.T) {
	server := newKeyServer(t)
	release := make(chan struct{})
	server.serve(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = w.Write(jwks(k1()))
	})
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := verifierFor(t, k)

	var good atomic.Int64
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, err := v.Verify(t.Context(), k1().token(map[string]any{"jti": fmt.Sprint(i)})); err == nil {
				good.Add(1)
			}
		})
	}
	eventually(t, "all callers wait", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.flight != nil && k.flight.waiters == 50
	})
	close(release)
	wg.Wait()
	if good.Load() != 50 || server.fetches.Load() != 1 {
		t.Fatalf("%d of 50 accepted after %d fetches", good.Load(), server.fetches.Load())
	}
}

func TestDeadIssuerHarmsNoOther(t *testing.T) {
	alive, dead := newKeyServer(t, k1()), newKeyServer(t)
	dead.Server.Close()
	v := newTestVerifier(t, Config{
		Issuers: []IssuerConfig{
			{Issuer: testIssuer, Keys: newHolder(t, KeyConfig{JWKSURL: alive.URL})},
			{Issuer: "https://dead.example", Keys: newHolder(t, KeyConfig{JWKSURL: dead.URL})},
		},
		Audiences: []string{testAudience},
	})
	_, err := v.Verify(t.Context(), k1().token(map[string]any{"iss": "https://dead.example"}))
	wantKind(t, err, Unavailable)
	if _, err := v.Verify(t.Context(), k1().token()); err != nil {
		t.Fatal(err)
	}
}

func TestKeysOfOneIssuerDoNotVerifyAnother(t *testing.T) {
	a, b := newEC("same"), newEC("same")
	v := newTestVerifier(t, Config{
		Issuers: []IssuerConfig{
			{Issuer: "https://a.example", Keys: newHolder(t, KeyConfig{JWKSURL: newKeyServer(t, a).URL})},
			{Issuer: "https://b.example", Keys: newHolder(t, KeyConfig{JWKSURL: newKeyServer(t, b).URL})},
		},
		Audiences: []string{testAudience},
	})
	for _, tc := range []struct {
		key  testKey
		iss  string
		good bool
	}{{a, "https://a.example", true}, {b, "https://b.example", true}, {a, "https://b.example", false}, {b, "https://a.example", false}} {
		if _, err := v.Verify(t.Context(), tc.key.token(map[string]any{"iss": tc.iss})); (err == nil) != tc.good {
			t.Errorf("issuer %s: error %v, want good %t", tc.iss, err, tc.good)
		}
	}
}

func TestManyHoldersLeaveNoGoroutines(t *testing.T) {
	server := newKeyServer(t, k1())
	before := runtime.NumGoroutine()
	for range 50 {
		k := must(NewKeyHolder(KeyConfig{JWKSURL: server.URL}))
		k.Start()
		k.Start()
		eventually(t, "the first fetch", func() bool { return k.Stats().State == Fresh })
		k.Close()
		k.Close()
	}
	must(NewKeyHolder(KeyConfig{JWKSURL: server.URL})).Close() // never started
	eventually(t, "the number of goroutines is as before", func() bool { return runtime.NumGoroutine() <= before+2 })
}

func TestClosedHolderServesTheKeysItHas(t *testing.T) {
	server := newKeyServer(t, k1())
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := verifierFor(t, k)
	if _, err := v.Verify(t.Context(), k1().token()); err != nil {
		t.Fatal(err)
	}
	k.Close()
	if _, err := v.Verify(t.Context(), k1().token(map[string]any{"jti": "2"})); err != nil {
		t.Fatal(err)
	}
	_, err := v.Verify(t.Context(), newEC("unknown").token())
	wantKind(t, err, Unavailable)

	empty := newHolder(t, KeyConfig{JWKSURL: server.URL})
	empty.Close()
	_, err = verifierFor(t, empty).Verify(t.Context(), k1().token())
	wantKind(t, err, Unavailable)
	if n := server.fetches.Load(); n != 1 {
		t.Fatalf("%d fetches, want 1", n)
	}
}

func TestRedirectsStayOnTheOrigin(t *testing.T) {
	elsewhere := newKeyServer(t, k1())
	mux := http.NewServeMux()
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(jwks(k1())) })
	mux.HandleFunc("/hop/{n}", func(w http.ResponseWriter, r *http.Request) {
		next := "/keys"
		if n := r.PathValue("n"); n != "1" {
			next = fmt.Sprintf("/hop/%c", n[0]-1)
		}
		http.Redirect(w, r, next, http.StatusFound)
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	for path, want := range map[string]State{"/keys": Fresh, "/hop/1": Fresh, "/hop/3": Fresh, "/hop/4": Down, "/away": Down} {
		k := newHolder(t, KeyConfig{JWKSURL: server.URL + path})
		k.Start()
		eventually(t, "the first fetch", func() bool { return k.Stats().State != Starting })
		if s := k.Stats(); s.State != want {
			t.Errorf("%s: state %s (%s), want %s", path, s.State, s.LastError, want)
		}
	}
	if elsewhere.fetches.Load() != 0 {
		t.Error("a redirect led to another origin")
	}
}

func TestKeySetIsDiscoveredFromTheIssuer(t *testing.T) {
	for _, tc := range []struct {
		name, issuer string // issuer is a path on the server
		serves       string // path of the metadata
		says         string // issuer in the metadata, if another
		jwks         string // "jwks_uri", if another
		want         State
	}{
		{name: "RFC 8414", serves: "/.well-known/oauth-authorization-server", want: Fresh},
		{name: "RFC 8414, path", issuer: "/tenant", serves: "/.well-known/oauth-authorization-server/tenant", want: Fresh},
		{name: "OIDC", serves: "/.well-known/openid-configuration", want: Fresh},
		{name: "OIDC, path inserted", issuer: "/tenant", serves: "/.well-known/openid-configuration/tenant", want: Fresh},
		{name: "OIDC, path appended", issuer: "/tenant", serves: "/tenant/.well-known/openid-configuration", want: Fresh},
		{name: "final slash", issuer: "/", serves: "/.well-known/openid-configuration", want: Fresh},
		{name: "path and final slash", issuer: "/tenant/", serves: "/tenant/.well-known/openid-configuration", want: Fresh},
		{name: "other issuer", serves: "/.well-known/openid-configuration", says: "https://evil.example", want: Down},
		{name: "final slash missing", issuer: "/", serves: "/.well-known/openid-configuration", says: "-", want: Down},
		{name: "no jwks_uri", serves: "/.well-known/openid-configuration", jwks: "-", want: Down},
		{name: "jwks_uri over http", serves: "/.well-known/openid-configuration", jwks: "http://keys.example/", want: Down},
		{name: "jwks_uri a file", serves: "/.well-known/openid-configuration", jwks: "file:///etc/passwd", want: Down},
		{name: "nothing there", serves: "/nowhere", want: Down},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var server *httptest.Server
			server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				issuer, keys := server.URL+tc.issuer, server.URL+"/keys"
				if tc.says == "-" {
					issuer = server.URL
				} else if tc.says != "" {
					issuer = tc.says
				}
				if tc.jwks != "" {
					keys = strings.TrimPrefix(tc.jwks, "-")
				}
				switch r.URL.Path {
				case tc.serves:
					_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer, keys)
				case "/keys":
					_, _ = w.Write(jwks(k1()))
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(server.Close)

			issuer := server.URL + tc.issuer
			k := newHolder(t, KeyConfig{Issuer: issuer})
			v := newTestVerifier(t, Config{Issuers: []IssuerConfig{{Issuer: issuer, Keys: k}}, Audiences: []string{testAudience}})
			_, err := v.Verify(t.Context(), k1().token(map[string]any{"iss": issuer}))
			if tc.want == Fresh {
				if err != nil {
					t.Fatal(err)
				}
				if s := k.Stats(); s.URL != server.URL+"/keys" {
					t.Fatalf("stats name %q", s.URL)
				}
				return
			}
			e := wantKind(t, err, Unavailable)
			if tc.says != "" && !strings.Contains(e.Reason, "the metadata is of issuer") {
				t.Fatalf("reason %q does not name the mismatch", e.Reason)
			}
		})
	}
}

// TestMovedKeySetIsDiscoveredAgain lets the issuer publish its keys elsewhere.
func TestMovedKeySetIsDiscoveredAgain(t *testing.T) {
	var path atomic.Value
	path.Store("/old")
	first, second := newEC("first"), newEC("second")
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/"):
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, server.URL, server.URL+path.Load().(string))
		case r.URL.Path == "/old" && path.Load() == "/old":
			_, _ = w.Write(jwks(first))
		case r.URL.Path == "/new":
			_, _ = w.Write(jwks(second))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)

	k := newHolder(t, KeyConfig{Issuer: server.URL, Cooldown: time.Nanosecond})
	v := newTestVerifier(t, Config{Issuers: []IssuerConfig{{Issuer: server.URL, Keys: k}}, Audiences: []string{testAudience}})
	if _, err := v.Verify(t.Context(), first.token(map[string]any{"iss": server.URL})); err != nil {
		t.Fatal(err)
	}
	path.Store("/new")
	_, err := v.Verify(t.Context(), second.token(map[string]any{"iss": server.URL}))
	wantKind(t, err, Unavailable) // the old address answers 404
	if _, err := v.Verify(t.Context(), second.token(map[string]any{"iss": server.URL})); err != nil {
		t.Fatal(err)
	}
}
