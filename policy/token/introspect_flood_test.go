package token

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// asked answers forms in memory, for tests on a fake clock.
type asked struct {
	mu       sync.Mutex
	answer   func(token string) (status int, header http.Header, body string)
	hold     chan struct{} // strangers wait for it
	calls    []time.Time
	now, max int // calls at once
}

func (a *asked) set(status int, body string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = func(string) (int, http.Header, string) { return status, nil, body }
}

func (a *asked) times() []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]time.Time(nil), a.calls...)
}

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	token := r.PostForm.Get("token") + r.PostForm.Get("subject_token")

	a.mu.Lock()
	a.calls = append(a.calls, time.Now())
	a.now++
	a.max = max(a.max, a.now)
	answer, hold := a.answer, a.hold
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.now--
		a.mu.Unlock()
	}()

	if hold != nil && strings.HasPrefix(token, "stranger") {
		select {
		case <-hold:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	status, header, body := answer(token)
	f := &fakeIssuer{status: status, header: header, body: []byte(body)}

	return f.RoundTrip(r)
}

func activeAnswer(sub string) string {
	return fmt.Sprintf(`{"active":true,"sub":%q,"aud":%q}`, sub, testAudience)
}

// onFakeClockAsked runs a test with an introspector whose server is in memory.
func onFakeClockAsked(t *testing.T, server *asked, change func(*IntrospectConfig), test func(t *testing.T, in *Introspector)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config := IntrospectConfig{
			URL: "https://id.example/introspect", Client: testClient(), Issuer: testIssuer,
			Audiences: []string{testAudience}, Transport: server,
		}
		if change != nil {
			change(&config)
		}
		in := must(NewIntrospector(config))
		defer in.Close()
		test(t, in)
		synctest.Wait() // and no goroutine is left, or the bubble panics
	})
}

// TestAFloodOfInventedTokensLocksNobodyOut is about bounds: of calls at once, of
// tokens that wait, of memory, and of the time that anybody waits.
func TestAFloodOfInventedTokensLocksNobodyOut(t *testing.T) {
	server := &asked{}
	server.answer = func(token string) (int, http.Header, string) {
		if strings.HasPrefix(token, "good") {
			return http.StatusOK, nil, activeAnswer("ada")
		}
		return http.StatusOK, nil, `{"active":false}`
	}
	small := func(c *IntrospectConfig) { c.Concurrent, c.CacheSize = 8, 100 }
	onFakeClockAsked(t, server, small, func(t *testing.T, in *Introspector) {
		server.hold = make(chan struct{})
		if _, err := in.Verify(t.Context(), "good_1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // the answer is outdated, the token known

		const flood = 3000
		var wg sync.WaitGroup
		errs := make([]error, flood)
		began := time.Now()
		for n := range flood {
			wg.Go(func() { _, errs[n] = in.Verify(t.Context(), fmt.Sprintf("stranger_%d", n)) })
		}
		synctest.Wait()
		server.mu.Lock()
		running := server.now
		server.mu.Unlock()
		if running != 6 {
			t.Errorf("%d calls for strangers at once, want 6 of 8", running)
		}
		in.inquiries.mu.Lock()
		waiting := len(in.inquiries.running)
		in.inquiries.mu.Unlock()
		if waiting != maxInquiries*3/4 {
			t.Errorf("%d strangers wait, want %d", waiting, maxInquiries*3/4)
		}

		if _, err := in.Verify(t.Context(), "good_1"); err != nil {
			t.Errorf("a known token during the flood: %v", err)
		}
		if since := time.Since(began); since != 0 {
			t.Errorf("it waited for %s", since)
		}

		time.Sleep(4 * time.Second) // longer than anybody waits for a place
		close(server.hold)
		wg.Wait()
		kinds := map[Kind]int{}
		for _, err := range errs {
			if e, ok := errors.AsType[*Error](err); ok {
				kinds[e.Kind]++
			}
		}
		if kinds[InvalidToken] != 6 || kinds[Unavailable] != flood-6 {
			t.Errorf("answers: %v", kinds)
		}
		server.mu.Lock()
		most, calls := server.max, len(server.calls)
		server.mu.Unlock()
		if most > 8 || calls != 8 {
			t.Errorf("%d calls, %d at once", calls, most)
		}

		for n := range 500 {
			wantKind(t, second(in.Verify(t.Context(), fmt.Sprintf("invented_%d", n))), InvalidToken)
			if _, err := in.Verify(t.Context(), fmt.Sprintf("good_%d", n)); err != nil {
				t.Fatal(err)
			}
		}
		if good, bad := len(in.inquiries.good.entries), len(in.inquiries.refused.entries); good > 100 || bad > 100 {
			t.Errorf("%d good and %d bad answers remembered, want at most 100", good, bad)
		}
	})
}

// A failing server is left alone, whatever the reason, and found again.
func TestAFailingEndpointIsLeftAlone(t *testing.T) {
	for name, failure := range map[string]struct {
		status int
		body   string
	}{"down": {503, ""}, "our secret is wrong": {401, `{"error":"invalid_client"}`}, "no such page": {404, ""}} {
		t.Run(name, func(t *testing.T) {
			server := &asked{}
			server.set(failure.status, failure.body)
			onFakeClockAsked(t, server, nil, func(t *testing.T, in *Introspector) {
				// One token a tenth of a second, for two minutes.
				for n := range 1200 {
					e := wantKind(t, second(in.Verify(t.Context(), fmt.Sprintf("t%d", n))), Unavailable)
					if e.RetryAfter < time.Second || e.RetryAfter > time.Minute {
						t.Fatalf("retry after %s", e.RetryAfter)
					}
					time.Sleep(100 * time.Millisecond)
				}
				calls := server.times()
				if len(calls) < 9 || len(calls) > 12 {
					t.Fatalf("%d calls in two minutes", len(calls))
				}
				for i, want := range []time.Duration{1, 2, 4, 8, 16, 30} {
					want *= time.Second
					if got := calls[i+3].Sub(calls[i+2]); got < want*9/10 || got > want*11/10+100*time.Millisecond {
						t.Errorf("pause %d is %s, want about %s", i, got, want)
					}
				}
				if s := in.Stats(); !s.Down || !strings.Contains(s.Reason, fmt.Sprint(failure.status)) || s.Calls != s.Failures {
					t.Errorf("stats %+v", s)
				}

				server.set(http.StatusOK, activeAnswer("ada"))
				time.Sleep(33 * time.Second)
				for n := range 10 {
					if _, err := in.Verify(t.Context(), fmt.Sprintf("good%d", n)); err != nil {
						t.Error(err)
					}
				}
				if in.Stats().Down {
					t.Error("still left alone")
				}
			})
		})
	}
}

// Only one request tries a server that has failed; the others do not wait for it.
func TestOneCallTriesAFailedEndpoint(t *testing.T) {
	server := &asked{}
	server.set(http.StatusBadGateway, "")
	onFakeClockAsked(t, server, nil, func(t *testing.T, in *Introspector) {
		for n := range 3 {
			wantKind(t, second(in.Verify(t.Context(), fmt.Sprintf("t%d", n))), Unavailable)
		}
		time.Sleep(2 * time.Second)
		server.mu.Lock()
		server.hold = make(chan struct{})
		server.mu.Unlock()

		ctx, leave := context.WithCancel(t.Context())
		tried := make(chan error)
		go func() { tried <- second(in.Verify(ctx, "stranger_1")) }()
		synctest.Wait()
		wantKind(t, second(in.Verify(t.Context(), "stranger_2")), Unavailable)
		if n := len(server.times()); n != 4 {
			t.Errorf("%d calls", n)
		}
		// The caller goes; the next one tries instead.
		leave()
		wantKind(t, <-tried, Unavailable)
		synctest.Wait()
		server.set(http.StatusOK, activeAnswer("ada"))
		close(server.hold)
		if _, err := in.Verify(t.Context(), "stranger_3"); err != nil {
			t.Error(err)
		}
	})
}

// What may be the token's own fault must not stop the calls for all others.
func TestOneTokenCannotStopTheCalls(t *testing.T) {
	for name, bad := range map[string]struct {
		status int
		body   string
	}{
		"400": {400, `{"error":"invalid_request"}`}, "413": {413, ""}, "431": {431, ""},
		"unreadable": {200, `{"active":true,"active":true}`}, "too long": {200, strings.Repeat(" ", maxAnswerBytes) + "{}"},
	} {
		server := &asked{}
		server.answer = func(token string) (int, http.Header, string) {
			if token == "bad" {
				return bad.status, nil, bad.body
			}
			return http.StatusOK, nil, activeAnswer("ada")
		}
		onFakeClockAsked(t, server, nil, func(t *testing.T, in *Introspector) {
			for range 10 {
				wantKind(t, second(in.Verify(t.Context(), "bad")), Unavailable)
			}
			if _, err := in.Verify(t.Context(), "good"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// Failures that arrive together are one sign of trouble, not many.
func TestOnePauseForCallsThatFailTogether(t *testing.T) {
	server := &asked{}
	server.set(http.StatusBadGateway, "")
	onFakeClockAsked(t, server, nil, func(t *testing.T, in *Introspector) {
		server.hold = make(chan struct{})
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() { _, _ = in.Verify(t.Context(), fmt.Sprintf("stranger_%d", n)) })
		}
		synctest.Wait()
		close(server.hold)
		wg.Wait()
		time.Sleep(1100 * time.Millisecond)
		wantKind(t, second(in.Verify(t.Context(), "tried")), Unavailable)
		if n := len(server.times()); n != 21 {
			t.Errorf("%d calls after the first pause, want 21", n)
		}
		time.Sleep(2200 * time.Millisecond) // the second
		server.set(http.StatusOK, activeAnswer("ada"))
		if _, err := in.Verify(t.Context(), "good"); err != nil {
			t.Error(err)
		}
	})
}

// An answer that arrives between a caller's look into the memory and the call is
// used.
func TestAnAnswerIsNotAskedForTwice(t *testing.T) {
	server := &asked{}
	server.set(http.StatusOK, activeAnswer("ada"))
	onFakeClockAsked(t, server, nil, func(t *testing.T, in *Introspector) {
		want := must(in.Verify(t.Context(), "a"))
		got, err := in.inquiries.decide(t.Context(), hashToken("a"), false, func(context.Context) (kept[*Claims], error) {
			t.Error("asked again")
			return kept[*Claims]{}, nil
		})
		if got != want || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestRetryAfterOfTheEndpointIsHonoured(t *testing.T) {
	server := &asked{}
	server.answer = func(string) (int, http.Header, string) {
		return http.StatusTooManyRequests, http.Header{"Retry-After": {"20"}}, ""
	}
	onFakeClockAsked(t, server, nil, func(t *testing.T, in *Introspector) {
		for range 19 {
			e := wantKind(t, second(in.Verify(t.Context(), "a")), Unavailable)
			if e.RetryAfter > 20*time.Second {
				t.Errorf("retry after %s", e.RetryAfter)
			}
			time.Sleep(time.Second)
		}
		if n := len(server.times()); n != 1 {
			t.Errorf("%d calls within the time", n)
		}
		server.set(http.StatusOK, activeAnswer("ada"))
		time.Sleep(2 * time.Second)
		if _, err := in.Verify(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	})
}

func TestAnswersAreBoundedInBytes(t *testing.T) {
	server := &asked{}
	server.set(http.StatusOK, strings.TrimSuffix(activeAnswer("ada"), "}")+`,"x":"`+strings.Repeat("x", 60<<10)+`"}`)
	onFakeClockAsked(t, server, nil, func(t *testing.T, in *Introspector) {
		for n := range 1000 {
			if _, err := in.Verify(t.Context(), fmt.Sprintf("t%d", n)); err != nil {
				t.Fatal(err)
			}
		}
		m := in.inquiries.good
		if m.bytes > maxCacheBytes || len(m.entries) > 280 || m.order.Len() != len(m.entries) {
			t.Errorf("%d bytes in %d entries", m.bytes, len(m.entries))
		}
		for _, e := range m.entries {
			m.bytes -= e.Value.(*keptAt[*Claims]).size
		}
		if m.bytes != 0 {
			t.Errorf("%d bytes are not accounted for", m.bytes)
		}
	})
}

// Tokens without an end are judged anew from time to time, and their streams end.
func TestATokenWithoutExpiryGetsOne(t *testing.T) {
	server := &asked{}
	server.set(http.StatusOK, activeAnswer("ada"))
	onFakeClockAsked(t, server, nil, func(t *testing.T, in *Introspector) {
		claims := must(in.Verify(t.Context(), "a"))
		if got := time.Until(claims.Expiry); got != assumedLifetime {
			t.Errorf("expires in %s", got)
		}
		if _, ok := claims.Raw["exp"]; ok {
			t.Error("a claim was invented")
		}
	})
}
