package token

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

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
