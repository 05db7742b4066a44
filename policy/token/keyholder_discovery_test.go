package token

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

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
