package token

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	testissuer "github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

const upstreamAudience = "https://upstream.example"

func exchangerFor(t testing.TB, i *testissuer.Running, changes ...func(*ExchangeConfig)) *Exchanger {
	t.Helper()
	config := ExchangeConfig{URL: i.TokenURL(), Client: testClient(), Audience: upstreamAudience}
	for _, change := range changes {
		change(&config)
	}
	x, err := NewExchanger(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)

	return x
}

func wantExchangeError(t testing.TB, err error, kind ExchangeKind, secrets ...string) *ExchangeError {
	t.Helper()
	e, ok := err.(*ExchangeError) //nolint:errorlint // the type is promised
	if !ok {
		t.Fatalf("error %v (%T), want an *ExchangeError", err, err)
	}
	if e.Kind != kind || (e.RetryAfter != 0) != (kind == ExchangeUnavailable) {
		t.Fatalf("%+v, want kind %s", e, kind)
	}
	wantSilent(t, err, secrets...)

	return e
}

func TestExchangeGivesATokenForTheUpstreamAlone(t *testing.T) {
	i := runningIssuer(t)
	x := exchangerFor(t, i, func(c *ExchangeConfig) {
		c.Resource, c.Scopes, c.RequestedTokenType = upstreamAudience+"/mcp", []string{"orders.read"}, JWTType
	})
	grant := goodGrant()
	grant.Scopes = []string{"orders.read", "orders.write"}
	for kind, callers := range map[string]string{"opaque": must(i.IssueOpaque(grant)), "JWT": must(i.Issue(grant))} {
		upstream, err := x.Exchange(t.Context(), callers)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if upstream.Token == callers || upstream.Type != JWTType || !reflect.DeepEqual(upstream.Scopes, []string{"orders.read"}) {
			t.Errorf("%s: %v", kind, upstream)
		}
		if left := time.Until(upstream.Expiry); left < 4*time.Minute || left > 5*time.Minute {
			t.Errorf("%s: expires in %s", kind, left)
		}

		v := keyVerifier(t, i)
		claims, err := v.Verify(t.Context(), upstream.Token, upstreamAudience)
		if err != nil || claims.Subject != "ada" || !reflect.DeepEqual(claims.Audience, []string{upstreamAudience, upstreamAudience + "/mcp"}) {
			t.Errorf("%s: %+v, %v", kind, claims, err)
		}
		wantKind(t, second(v.Verify(t.Context(), upstream.Token)), InvalidToken) // not for us
		if text := sprint(*upstream) + sprint(upstream); strings.Contains(text, upstream.Token) {
			t.Errorf("printed with the token: %s", text)
		}
	}
}

func TestExchangedTokensAreUsedUntilShortlyBeforeTheirEnd(t *testing.T) {
	i := runningIssuer(t)
	x := exchangerFor(t, i)
	clock := &shiftedClock{}
	x.inquiries.now = clock.now
	callers, another := opaqueToken(t, i), opaqueToken(t, i)
	exchange := func(calls int, token string, audiences ...string) *UpstreamToken {
		t.Helper()
		upstream, err := x.Exchange(t.Context(), token, audiences...)
		if err != nil {
			t.Fatal(err)
		}
		if n := i.Fetches(testissuer.TokenExchange); n != calls {
			t.Errorf("%d calls, want %d", n, calls)
		}
		return upstream
	}

	first := exchange(1, callers)
	for range 10 {
		if exchange(1, callers) != first {
			t.Error("another token")
		}
	}
	exchange(2, another)
	exchange(3, callers, "https://other.example")
	exchange(4, callers, "https://other.example", "https://third.example")
	exchange(4, callers, upstreamAudience)

	clock.pass(5*time.Minute - exchangeMargin - 5*time.Second)
	exchange(4, callers)
	clock.pass(6 * time.Second)
	if exchange(5, callers).Token == first.Token {
		t.Error("the same token after its time")
	}
	if s := x.Stats(); s.Calls != 5 || s.Hits != 12 || s.Failures != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestExchangeErrorsSayWhoseFaultItIs(t *testing.T) {
	i := runningIssuer(t)
	callers := opaqueToken(t, i)
	revoked := opaqueToken(t, i)
	i.Revoke(revoked)

	for name, tc := range map[string]struct {
		token  string
		change func(*ExchangeConfig)
		kind   ExchangeKind
		status int
		code   string
	}{
		"revoked token":      {revoked, nil, ExchangeDenied, 400, "invalid_request"},
		"scope not granted":  {callers, func(c *ExchangeConfig) { c.Scopes = []string{"admin"} }, ExchangeDenied, 400, "invalid_scope"},
		"not a bearer token": {"to ken", nil, ExchangeDenied, 0, ""},
		"wrong secret":       {callers, func(c *ExchangeConfig) { c.Client.ClientSecret = "other" }, ExchangeMisconfigured, 401, "invalid_client"},
		"wrong path":         {callers, func(c *ExchangeConfig) { c.URL += "s" }, ExchangeMisconfigured, 404, ""},
		"nobody listens":     {callers, func(c *ExchangeConfig) { c.URL = unusedURL(t) }, ExchangeUnavailable, 0, ""},
	} {
		var change []func(*ExchangeConfig)
		if tc.change != nil {
			change = append(change, tc.change)
		}
		x := exchangerFor(t, i, change...)
		_, err := x.Exchange(t.Context(), tc.token)
		e := wantExchangeError(t, err, tc.kind, tc.token)
		if e.Status != tc.status || e.Code != tc.code {
			t.Errorf("%s: %+v", name, e)
		}
		t.Logf("%s: %v", name, err)
	}

	for fault, want := range map[testissuer.Fault]ExchangeKind{
		testissuer.Down: ExchangeUnavailable, testissuer.Throttled: ExchangeUnavailable, testissuer.Slow: ExchangeUnavailable,
		testissuer.NotFound: ExchangeMisconfigured, testissuer.Moved: ExchangeMisconfigured, testissuer.Endless: ExchangeMisconfigured,
		testissuer.BrokenJSON: ExchangeMisconfigured, testissuer.Twice: ExchangeMisconfigured, testissuer.EmptySet: ExchangeMisconfigured,
	} {
		i.SetFault(testissuer.TokenExchange, fault)
		x := exchangerFor(t, i, func(c *ExchangeConfig) {
			if fault == testissuer.Slow {
				c.Timeout = 50 * time.Millisecond
			}
		})
		_, err := x.Exchange(t.Context(), callers)
		_ = wantExchangeError(t, err, want, callers)
		t.Logf("%s: %v", fault, err)
	}
}

// A refusal is asked for once, and a broken client registration a few times.
func TestRefusedExchangesAreNotRepeated(t *testing.T) {
	i := runningIssuer(t)
	x := exchangerFor(t, i)
	clock := &shiftedClock{}
	x.inquiries.now = clock.now
	for range 10 {
		_, err := x.Exchange(t.Context(), "unknown")
		wantExchangeError(t, err, ExchangeDenied).Reason = "changed by its owner"
	}
	if n := i.Fetches(testissuer.TokenExchange); n != 1 {
		t.Errorf("%d calls for a refused token", n)
	}
	clock.pass(refusalTTL)
	_, err := x.Exchange(t.Context(), "unknown")
	if e := wantExchangeError(t, err, ExchangeDenied); e.Reason != "status 400 invalid_request" {
		t.Errorf("%+v", e)
	}
	if _, err := x.Exchange(t.Context(), opaqueToken(t, i)); err != nil {
		t.Error(err)
	}

	wrong := exchangerFor(t, i, func(c *ExchangeConfig) { c.Client.ClientSecret = "other" })
	before := i.Fetches(testissuer.TokenExchange)
	for range 10 {
		_, err := wrong.Exchange(t.Context(), opaqueToken(t, i))
		_ = wantExchangeError(t, err, ExchangeMisconfigured)
	}
	if n := i.Fetches(testissuer.TokenExchange) - before; n != failuresToPause {
		t.Errorf("%d calls with a wrong secret", n)
	}
}

func TestRequestsOfOneCallerShareOneExchange(t *testing.T) {
	i := runningIssuer(t)
	x := exchangerFor(t, i)
	callers := opaqueToken(t, i)
	i.SetFault(testissuer.TokenExchange, testissuer.Slow)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := x.Exchange(t.Context(), callers); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all have come", func() bool {
		x.inquiries.mu.Lock()
		defer x.inquiries.mu.Unlock()
		for _, r := range x.inquiries.running {
			return r.waiters == 50
		}
		return false
	})
	i.SetFault(testissuer.TokenExchange, testissuer.None)
	wg.Wait()
	if n := i.Fetches(testissuer.TokenExchange); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// All callers have been verified, so none of them is a stranger here.
func TestExchangesUseEveryPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &asked{hold: make(chan struct{})}
		server.answer = func(string) (int, http.Header, string) { return http.StatusServiceUnavailable, nil, "" }
		x := must(NewExchanger(ExchangeConfig{URL: "https://id.example/token", Client: testClient(), Audience: "a", Concurrent: 4, Transport: server}))
		var wg sync.WaitGroup
		for _, token := range []string{"stranger_1", "stranger_2", "stranger_3", "stranger_4", "stranger_5"} {
			wg.Go(func() { _, _ = x.Exchange(t.Context(), token) })
		}
		synctest.Wait()
		if server.max != 4 {
			t.Errorf("%d calls at once, want 4", server.max)
		}
		close(server.hold)
		wg.Wait()
	})
}

// TestExchangeLifetimes: what the server says of the life decides how long a
// token is used.
func TestExchangeLifetimes(t *testing.T) {
	for _, tc := range []struct {
		expires string
		used    time.Duration
	}{
		{``, unknownLifetimeTTL},
		{`,"expires_in":3600`, time.Hour - exchangeMargin},
		{`,"expires_in":60`, 45 * time.Second},
		{`,"expires_in":1`, 750 * time.Millisecond},
		{`,"expires_in":86400`, maxExchangedTTL},
		{`,"expires_in":9223372036854775807`, maxExchangedTTL},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &asked{}
			server.set(http.StatusOK, `{"access_token":"new","token_type":"bearer","issued_token_type":"`+AccessTokenType+`"`+tc.expires+`}`)
			x := must(NewExchanger(ExchangeConfig{URL: "https://id.example/token", Client: testClient(), Audience: "a", Transport: server}))
			for range 2 {
				must(x.Exchange(t.Context(), "t"))
				time.Sleep(tc.used - time.Millisecond)
			}
			if n := len(server.times()); n != 1 {
				t.Errorf("%s: %d calls too early", tc.expires, n)
			}
			time.Sleep(time.Millisecond)
			must(x.Exchange(t.Context(), "t"))
			if n := len(server.times()); n != 2 {
				t.Errorf("%s: %d calls after %s, want 2", tc.expires, n, tc.used)
			}
		})
	}
}

func TestExchangeConfigurationIsChecked(t *testing.T) {
	for name, change := range map[string]func(*ExchangeConfig){
		"no URL":                 func(c *ExchangeConfig) { c.URL = "" },
		"http beyond loopback":   func(c *ExchangeConfig) { c.URL = "http://id.example/token" },
		"no client":              func(c *ExchangeConfig) { c.Client = ClientConfig{} },
		"for nobody":             func(c *ExchangeConfig) { c.Audience = "" },
		"audience with controls": func(c *ExchangeConfig) { c.Audience = "a\n" },
		"resource not a URL":     func(c *ExchangeConfig) { c.Resource = "upstream" },
		"resource with fragment": func(c *ExchangeConfig) { c.Resource = "https://a.example/#x" },
		"bad scope":              func(c *ExchangeConfig) { c.Scopes = []string{"a b"} },
		"refresh token":          func(c *ExchangeConfig) { c.RequestedTokenType = "urn:ietf:params:oauth:token-type:refresh_token" },
		"unknown type":           func(c *ExchangeConfig) { c.RequestedTokenType = "jwt" },
		"negative cache":         func(c *ExchangeConfig) { c.CacheSize = -1 },
		"negative concurrency":   func(c *ExchangeConfig) { c.Concurrent = -1 },
		"endless timeout":        func(c *ExchangeConfig) { c.Timeout = time.Hour },
	} {
		config := ExchangeConfig{URL: "https://id.example/token", Client: testClient(), Audience: "a"}
		if x, err := NewExchanger(config); err != nil {
			t.Fatal(err)
		} else {
			x.Close()
		}
		change(&config)
		if _, err := NewExchanger(config); err == nil {
			t.Errorf("%s: accepted", name)
		} else {
			wantSilent(t, err)
		}
	}
}

func TestExchangeAnswersAreReadStrictly(t *testing.T) {
	answer := func(members string) string {
		return `{"access_token":"new","token_type":"Bearer","issued_token_type":"` + JWTType + `"` + members + `}`
	}
	for _, body := range []string{
		answer(``), answer(`,"expires_in":1,"scope":"a b","refresh_token":"r"`), answer(`,"scope":["a"]`), answer(`,"x":{}`),
		strings.Replace(answer(``), "Bearer", "bEARER", 1), strings.Replace(answer(``), ":jwt", ":access_token", 1),
	} {
		if entry, err := readExchange([]byte(body), "callers", "", time.Now()); err != nil || entry.value.Token != "new" {
			t.Errorf("%s: %v", body, err)
		}
	}

	for _, body := range []string{
		``, `null`, `[]`, `{}`, `new`, answer(`,"access_token":"eve"`), answer(`}`), answer(`,"scope":1`), answer(`,"scope":"a\"b"`),
		answer(`,"expires_in":0`), answer(`,"expires_in":-1`), answer(`,"expires_in":"60"`), answer(`,"expires_in":1.5`), answer(`,"expires_in":null`),
		answer(`,"expires_in":99999999999999999999`),
		strings.Replace(answer(``), "new", "callers", 1), strings.Replace(answer(``), "new", "", 1),
		strings.Replace(answer(``), "new", `a\r\nX-Admin: 1`, 1), strings.Replace(answer(``), "new", "a b", 1),
		strings.Replace(answer(``), "new", strings.Repeat("a", MaxTokenBytes+1), 1), strings.Replace(answer(``), `"new"`, "1", 1),
		strings.Replace(answer(``), "Bearer", "N_A", 1), strings.Replace(answer(``), "Bearer", "DPoP", 1), strings.Replace(answer(``), "token_type", "x", 1),
		strings.Replace(answer(``), ":jwt", ":refresh_token", 1), strings.Replace(answer(``), ":jwt", ":saml2", 1), strings.Replace(answer(``), "issued_", "x_", 1),
	} {
		entry, err := readExchange([]byte(body), "callers", "", time.Now())
		if _, ok := errors.AsType[*callError](err); !ok || entry.value != nil {
			t.Errorf("%s: %v, %v", body, entry.value, err)
		}
	}
	if _, err := readExchange([]byte(answer(``)), "callers", AccessTokenType, time.Now()); err == nil {
		t.Error("a JWT in place of the requested access token")
	}
}

func FuzzExchangeAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"access_token":"new","token_type":"Bearer","issued_token_type":"` + JWTType + `","expires_in":60,"scope":"a b"}`,
		`{"access_token":"a","token_type":"bearer","issued_token_type":"` + AccessTokenType + `","refresh_token":"b"}`, `{}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		now := time.Unix(1_800_000_000, 0)
		entry, err := readExchange(body, "callers", "", now)
		if err != nil {
			if _, ok := errors.AsType[*callError](err); !ok || entry.value != nil {
				t.Fatalf("%v, %v", entry.value, err)
			}
			return
		}
		// It becomes a header value.
		header := http.Header{"Authorization": {"Bearer " + entry.value.Token}}
		if got, err := Bearer(header); len(entry.value.Token)+len("Bearer ") <= MaxTokenBytes && (err != nil || got != entry.value.Token) {
			t.Fatalf("token %q: %v", entry.value.Token, err)
		}
		if !entry.until.After(now) || entry.until.After(now.Add(maxExchangedTTL)) ||
			!entry.value.Expiry.IsZero() && entry.until.After(entry.value.Expiry) || entry.value.Token == "callers" {
			t.Fatalf("%s gave %+v until %s", body, entry.value, entry.until)
		}
	})
}
