package token

import (
	"errors"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	testissuer "github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

func TestAnOpaqueTokenGivesTheSamePrincipalAsAJWT(t *testing.T) {
	i := runningIssuer(t)
	grant := goodGrant()
	grant.Audience = []string{"other", testAudience}
	grant.Scopes = []string{"a", "b"}
	now := time.Now().Unix()
	grant.Claims = map[string]any{"jti": "id-1", "iat": now, "nbf": now - 1, "exp": now + 60, "org_id": "acme", "realm": map[string]any{"roles": []string{"admin"}}}

	v := newTestVerifier(t, Config{
		Issuers:   []IssuerConfig{{Issuer: i.URL, Keys: newHolder(t, KeyConfig{JWKSURL: i.JWKSURL()})}},
		Audiences: []string{testAudience},
	})
	want, err := v.Verify(t.Context(), must(i.Issue(grant)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := introspectorFor(t, i).Verify(t.Context(), must(i.IssueOpaque(grant)))
	if err != nil {
		t.Fatal(err)
	}

	for _, claim := range []string{"org_id", "realm.roles"} {
		a, _ := got.Lookup(claim)
		b, ok := want.Lookup(claim)
		if !ok || !reflect.DeepEqual(a, b) {
			t.Errorf("%s is %v, in the JWT %v", claim, a, b)
		}
	}
	got, want = new(*got), new(*want)
	got.Raw, want.Raw = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("opaque %+v\nJWT    %+v", got, want)
	}
}

func TestIntrospectedTokensAreJudged(t *testing.T) {
	i := runningIssuer(t)
	revoked := opaqueToken(t, i)
	i.Revoke(revoked)
	past, future := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()

	good := map[string]string{
		"as issued":         opaqueToken(t, i),
		"scope array":       opaqueToken(t, i, claiming(map[string]any{"scope": []string{"a", "b"}})),
		"scp":               opaqueToken(t, i, claiming(map[string]any{"scope": nil, "scp": "a b"})),
		"no scope":          opaqueToken(t, i, claiming(map[string]any{"scope": nil})),
		"no iss":            opaqueToken(t, i, claiming(map[string]any{"iss": nil})),
		"no exp":            opaqueToken(t, i, claiming(map[string]any{"exp": nil})),
		"several audiences": opaqueToken(t, i, claiming(map[string]any{"aud": []string{"x", testAudience}})),
	}
	in := introspectorFor(t, i)
	for name, token := range good {
		claims, err := in.Verify(t.Context(), token)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if claims.Issuer != i.URL || claims.Subject != "ada" || claims.Expiry.IsZero() {
			t.Errorf("%s: %+v", name, claims)
		}
	}

	for name, token := range map[string]string{
		"unknown":               "opaque_unknown",
		"revoked":               revoked,
		"expired":               opaqueToken(t, i, func(g *testissuer.Grant) { g.TTL = -time.Second }),
		"not yet valid":         opaqueToken(t, i, claiming(map[string]any{"nbf": future})),
		"issued in the future":  opaqueToken(t, i, claiming(map[string]any{"iat": future})),
		"of another issuer":     opaqueToken(t, i, claiming(map[string]any{"iss": i.URL + "/"})),
		"issuer not a string":   opaqueToken(t, i, claiming(map[string]any{"iss": []string{i.URL}})),
		"no subject":            opaqueToken(t, i, claiming(map[string]any{"sub": nil})),
		"empty subject":         opaqueToken(t, i, claiming(map[string]any{"sub": ""})),
		"exp zero":              opaqueToken(t, i, claiming(map[string]any{"exp": 0})),
		"exp with a fraction":   opaqueToken(t, i, claiming(map[string]any{"exp": 1.5e9 + 0.5})),
		"exp in milliseconds":   opaqueToken(t, i, claiming(map[string]any{"exp": future * 1000})),
		"scope a number":        opaqueToken(t, i, claiming(map[string]any{"scope": 1})),
		"a refresh token":       opaqueToken(t, i, claiming(map[string]any{"token_use": "refresh_token"})),
		"bound to a key":        opaqueToken(t, i, claiming(map[string]any{"token_type": "DPoP"})),
		"an ID token":           opaqueToken(t, i, claiming(map[string]any{"typ": "ID"})),
		"not a b64token":        "a token",
		"nothing":               "",
		"longer than any token": strings.Repeat("a", MaxTokenBytes+1),
	} {
		claims, err := in.Verify(t.Context(), token)
		if e := wantKind(t, err, InvalidToken); claims != nil || e.Mismatch != nil {
			t.Errorf("%s: %v, %+v", name, claims, e)
		}
		if token != "" {
			wantSilent(t, err, token)
		}
	}

	for name, aud := range map[string]any{"another audience": "https://other.example/mcp", "a longer audience": testAudience + "/", "no audience": nil, "an empty list": []string{}} {
		_, err := in.Verify(t.Context(), opaqueToken(t, i, claiming(map[string]any{"aud": aud})))
		if e := wantKind(t, err, InvalidToken); e.Mismatch == nil || e.Mismatch.Member != "aud" || e.Mismatch.Issuer != i.URL {
			t.Errorf("%s: %+v", name, e)
		}
	}

	aged := introspectorFor(t, i, func(c *IntrospectConfig) { c.MaxTokenAge = time.Minute })
	for name, iat := range map[string]any{"too old": past, "of unknown age": nil} {
		_, err := aged.Verify(t.Context(), opaqueToken(t, i, claiming(map[string]any{"iat": iat})))
		if wantKind(t, err, InvalidToken); !strings.Contains(err.Error(), "issued") && !strings.Contains(err.Error(), "iat") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An answer that says nothing about the token must not make its bearer throw it
// away.
func TestTroubleOfTheEndpointIsNeverTheTokensFault(t *testing.T) {
	i := runningIssuer(t)
	token := opaqueToken(t, i)

	for _, fault := range []testissuer.Fault{
		testissuer.Down, testissuer.NotFound, testissuer.Slow, testissuer.Endless, testissuer.BrokenJSON, testissuer.Twice,
		testissuer.EmptySet, testissuer.Throttled, testissuer.Moved,
	} {
		i.SetFault(testissuer.Introspection, fault)
		in := introspectorFor(t, i, func(c *IntrospectConfig) {
			if fault == testissuer.Slow {
				c.Timeout = 500 * time.Millisecond
			}
		})
		before := i.Fetches(testissuer.Introspection)
		_, err := in.Verify(t.Context(), token)
		e := wantKind(t, err, Unavailable)
		wantSilent(t, err, token)
		if want := map[bool]time.Duration{true: 7 * time.Second, false: time.Second}[fault == testissuer.Throttled]; e.RetryAfter != want {
			t.Errorf("%s: retry after %s", fault, e.RetryAfter)
		}
		if n := i.Fetches(testissuer.Introspection) - before; n != 1 {
			t.Errorf("%s: %d calls", fault, n)
		}
		t.Logf("%s: %v", fault, err)

		i.SetFault(testissuer.Introspection, testissuer.None)
		if fault == testissuer.Throttled {
			continue // asked to wait
		}
		if _, err := in.Verify(t.Context(), token); err != nil {
			t.Errorf("after %s: %v", fault, err)
		}
	}

	i.SetFault(testissuer.Introspection, testissuer.WrongIssuer)
	_, err := introspectorFor(t, i).Verify(t.Context(), token)
	wantKind(t, err, InvalidToken)
	i.SetFault(testissuer.Introspection, testissuer.None)

	for name, change := range map[string]func(*IntrospectConfig){
		"wrong secret":      func(c *IntrospectConfig) { c.Client.ClientSecret = "other" },
		"no authentication": func(c *IntrospectConfig) { c.Client = ClientConfig{AuthMethod: ClientNone} },
		"nobody listens":    func(c *IntrospectConfig) { c.URL = unusedURL(t) },
		"no TLS":            func(c *IntrospectConfig) { c.URL = strings.Replace(c.URL, "http:", "https:", 1) },
	} {
		_, err := introspectorFor(t, i, change).Verify(t.Context(), token)
		wantKind(t, err, Unavailable)
		wantSilent(t, err, token, "other")
		t.Logf("%s: %v", name, err)
	}

	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = introspectorFor(t, i).Verify(t.Context(), token)
	wantKind(t, err, Unavailable)
}

func unusedURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	return "http://" + l.Addr().String()
}

// A server that sends back what it got must not bring it into our log.
func TestAnEchoingEndpointGivesNothingAway(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"as error code": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"` + r.PostForm.Get("token") + `","error_description":"` + testSecret + `"}`))
		},
		"as body": func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.PostForm.Encode())) },
		"as HTTP": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n" + r.PostForm.Encode() + testSecret + "\r\n\r\n"))
		},
		"as protocol": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = conn.Write([]byte(r.Header.Get("Authorization") + r.PostForm.Encode() + "\r\n\r\n"))
		},
	} {
		in := newTestIntrospector(t, IntrospectConfig{URL: formServer(t, answer).URL, Client: testClient(), Issuer: testIssuer})
		_, err := in.Verify(t.Context(), "opaque_1234567890")
		wantKind(t, err, Unavailable)
		wantSilent(t, err, "opaque_1234567890")
		t.Logf("%s: %v", name, err)
	}
}

func TestClientAuthenticationOnTheWire(t *testing.T) {
	i := runningIssuer(t)
	i.Register("public", "")
	token := opaqueToken(t, i)
	for _, client := range []ClientConfig{
		testClient(),
		{ClientID: "gateway", ClientSecret: testSecret, AuthMethod: ClientSecretBasic},
		{ClientID: "gateway", ClientSecret: testSecret, AuthMethod: ClientSecretPost},
		{ClientID: "public", AuthMethod: ClientNone},
	} {
		in := introspectorFor(t, i, func(c *IntrospectConfig) { c.Client = client })
		if _, err := in.Verify(t.Context(), token); err != nil {
			t.Errorf("%v: %v", client, err)
		}
	}

	var got *http.Request
	server := formServer(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = w.Write([]byte(`{"active":false}`))
	})
	in := newTestIntrospector(t, IntrospectConfig{
		URL: server.URL + "/introspect?tenant=1", Issuer: testIssuer,
		Client: ClientConfig{ClientSecret: "abc.def", AuthMethod: ClientBearer},
	})
	_, err := in.Verify(t.Context(), "a+b/c=")
	wantKind(t, err, InvalidToken)
	if got.Header.Get("Authorization") != "Bearer abc.def" || got.PostForm.Encode() != "token=a%2Bb%2Fc%3D&token_type_hint=access_token" ||
		got.Header.Get("Accept") != "application/json" || got.URL.RawQuery != "tenant=1" || got.Header["Idempotency-Key"] != nil {
		t.Errorf("%v %v %v", got.URL, got.Header, got.PostForm)
	}
}

// TestIdleConnectionsMayClose: servers close idle connections at any moment, and
// the request that meets this must not fail for it.
func TestIdleConnectionsMayClose(t *testing.T) {
	var served int
	server := formServer(t, func(w http.ResponseWriter, _ *http.Request) {
		served++
		if served == 2 { // the second use of a connection
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.Close()
			return
		}
		_, _ = w.Write([]byte(`{"active":false}`))
	})
	in := newTestIntrospector(t, IntrospectConfig{URL: server.URL, Client: testClient(), Issuer: testIssuer})
	for _, token := range []string{"a", "b"} {
		_, err := in.Verify(t.Context(), token)
		wantKind(t, err, InvalidToken)
	}
	if served != 3 {
		t.Errorf("%d requests served, want 3", served)
	}
}

func TestIntrospectionConfigurationIsChecked(t *testing.T) {
	for name, change := range map[string]func(*IntrospectConfig){
		"no URL":                  func(c *IntrospectConfig) { c.URL = "" },
		"http beyond loopback":    func(c *IntrospectConfig) { c.URL = "http://id.example/introspect" },
		"password in the URL":     func(c *IntrospectConfig) { c.URL = "https://u:s3cret@id.example/" },
		"no issuer":               func(c *IntrospectConfig) { c.Issuer = "" },
		"insecure issuer":         func(c *IntrospectConfig) { c.Issuer = "http://id.example" },
		"empty audience":          func(c *IntrospectConfig) { c.Audiences = []string{""} },
		"negative age":            func(c *IntrospectConfig) { c.MaxTokenAge = -1 },
		"answers used too long":   func(c *IntrospectConfig) { c.CacheTTL = 61 * time.Second },
		"negative cache":          func(c *IntrospectConfig) { c.CacheSize = -1 },
		"negative concurrency":    func(c *IntrospectConfig) { c.Concurrent = -1 },
		"huge concurrency":        func(c *IntrospectConfig) { c.Concurrent = 1 << 20 },
		"negative timeout":        func(c *IntrospectConfig) { c.Timeout = -1 },
		"endless timeout":         func(c *IntrospectConfig) { c.Timeout = time.Hour },
		"no client":               func(c *IntrospectConfig) { c.Client = ClientConfig{} },
		"no secret":               func(c *IntrospectConfig) { c.Client.ClientSecret = "" },
		"secret with a line end":  func(c *IntrospectConfig) { c.Client.ClientSecret += "\n" },
		"secret with a control":   func(c *IntrospectConfig) { c.Client.ClientSecret = "a\x00b" },
		"unknown method":          func(c *IntrospectConfig) { c.Client.AuthMethod = "client_secret_jwt" },
		"method in another case":  func(c *IntrospectConfig) { c.Client.AuthMethod = "NONE" },
		"none with a secret":      func(c *IntrospectConfig) { c.Client.AuthMethod = ClientNone },
		"bearer with an id":       func(c *IntrospectConfig) { c.Client.AuthMethod = ClientBearer },
		"bearer with no b64token": func(c *IntrospectConfig) { c.Client = ClientConfig{ClientSecret: "a b", AuthMethod: ClientBearer} },
	} {
		config := IntrospectConfig{URL: "https://id.example/introspect", Issuer: testIssuer, Client: testClient()}
		if in, err := NewIntrospector(config); err != nil {
			t.Fatal(err)
		} else {
			in.Close()
		}
		change(&config)
		_, err := NewIntrospector(config)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		wantSilent(t, err)
	}

	config := IntrospectConfig{Client: testClient()}
	for _, text := range []string{config.Client.String(), config.Client.GoString(), sprint(config), sprint(&config)} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("printed with its secret: %s", text)
		}
	}
}

func TestIntrospectionErrorsBelongToTheCaller(t *testing.T) {
	i := runningIssuer(t)
	in := introspectorFor(t, i)
	first := wantKind(t, second(in.Verify(t.Context(), "unknown")), InvalidToken)
	want := first.Reason
	first.Reason = "changed"
	if again := wantKind(t, second(in.Verify(t.Context(), "unknown")), InvalidToken); again.Reason != want {
		t.Errorf("the refusal became %q", again.Reason)
	}
	i.SetFault(testissuer.Introspection, testissuer.Down)
	err := second(in.Verify(t.Context(), "another"))
	if wantKind(t, err, Unavailable); !errors.Is(err, ErrKeysUnavailable) {
		t.Errorf("%v is not ErrKeysUnavailable", err)
	}
}
