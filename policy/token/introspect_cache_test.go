package token

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	testissuer "github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

func TestAnswersAreUsedForTheirTimeAndNoLonger(t *testing.T) {
	i := runningIssuer(t)
	in := introspectorFor(t, i)
	clock := clockOf(in)
	token, other := opaqueToken(t, i), opaqueToken(t, i)
	verify := func(token string, calls int) error {
		t.Helper()
		_, err := in.Verify(t.Context(), token)
		if n := i.Fetches(testissuer.Introspection); n != calls {
			t.Errorf("%d calls, want %d", n, calls)
		}
		return err
	}

	for range 10 {
		if err := verify(token, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := verify(other, 2); err != nil {
		t.Fatal(err)
	}

	i.Revoke(token)
	clock.pass(20 * time.Second)
	if err := verify(token, 2); err != nil {
		t.Errorf("within the time of the answer: %v", err)
	}
	clock.pass(11 * time.Second)
	for range 10 { // refused, and the refusal is remembered
		wantKind(t, verify(token, 3), InvalidToken)
	}
	if in.inquiries.knows(hashToken(token)) {
		t.Error("a revoked token counts as known")
	}
	clock.pass(refusalTTL + time.Second)
	wantKind(t, verify(token, 4), InvalidToken)

	if err := verify(other, 5); err != nil {
		t.Error(err)
	}
	if s := in.Stats(); s.Calls != 5 || s.Hits != 19 || s.Failures != 0 || s.Down {
		t.Errorf("stats %+v", s)
	}

	always := introspectorFor(t, i, func(c *IntrospectConfig) { c.CacheTTL = -1 })
	for range 3 {
		if _, err := always.Verify(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	if n := always.Stats().Calls; n != 3 {
		t.Errorf("%d calls without a memory, want 3", n)
	}
}

func TestExpiryIsJudgedOnEveryUse(t *testing.T) {
	i := runningIssuer(t)
	in := introspectorFor(t, i, func(c *IntrospectConfig) { c.Leeway = -1 })
	clock := clockOf(in)
	token := opaqueToken(t, i, func(g *testissuer.Grant) { g.TTL = 25 * time.Second })
	for _, step := range []struct {
		pass time.Duration
		kind Kind
	}{{0, ""}, {15 * time.Second, ""}, {10 * time.Second, InvalidToken}} {
		clock.pass(step.pass)
		if _, err := in.Verify(t.Context(), token); step.kind != "" {
			wantKind(t, err, step.kind)
		} else if err != nil {
			t.Error(err)
		}
	}
	if n := i.Fetches(testissuer.Introspection); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// The audience may depend on the request, so it cannot be part of what is
// remembered.
func TestAudienceIsJudgedOnEveryUse(t *testing.T) {
	i := runningIssuer(t)
	in := introspectorFor(t, i, func(c *IntrospectConfig) { c.Audiences = nil })
	token := opaqueToken(t, i)
	for _, step := range []struct {
		audiences []string
		good      bool
	}{{nil, false}, {[]string{"x"}, false}, {[]string{"x", testAudience}, true}, {[]string{"x"}, false}} {
		if _, err := in.Verify(t.Context(), token, step.audiences...); (err == nil) != step.good {
			t.Errorf("%q: %v", step.audiences, err)
		}
	}
	if n := i.Fetches(testissuer.Introspection); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestRequestsWithOneTokenShareOneCall(t *testing.T) {
	i := runningIssuer(t)
	in := introspectorFor(t, i)
	token := opaqueToken(t, i)
	i.SetFault(testissuer.Introspection, testissuer.Slow)

	const callers = 50
	leaving, leave := context.WithCancel(t.Context())
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			ctx := t.Context()
			if n < callers/2 {
				ctx = leaving
			}
			_, errs[n] = in.Verify(ctx, token)
		})
	}
	waiters := func() int {
		in.inquiries.mu.Lock()
		defer in.inquiries.mu.Unlock()
		if r := in.inquiries.running[hashToken(token)]; r != nil {
			return r.waiters
		}
		return 0
	}
	eventually(t, "all have come", func() bool { return waiters() == callers })
	leave()
	eventually(t, "half have gone", func() bool { return waiters() == callers/2 })
	i.SetFault(testissuer.Introspection, testissuer.None)
	wg.Wait()

	for n, err := range errs {
		if n < callers/2 {
			wantKind(t, err, Unavailable)
		} else if err != nil {
			t.Error(err)
		}
	}
	if n := i.Fetches(testissuer.Introspection); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestTheLastCallerWhoLeavesEndsTheCall(t *testing.T) {
	came, gone := make(chan struct{}), make(chan struct{})
	server := formServer(t, func(_ http.ResponseWriter, r *http.Request) {
		close(came)
		<-r.Context().Done()
		close(gone)
	})
	in := newTestIntrospector(t, IntrospectConfig{URL: server.URL, Client: testClient(), Issuer: testIssuer})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := in.Verify(ctx, "opaque")
		done <- err
	}()
	<-came
	cancel()
	wantKind(t, <-done, Unavailable)
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Fatal("the call goes on")
	}
	if s := in.Stats(); s.Failures != 0 || s.Down {
		t.Errorf("stats %+v: nobody's fault", s)
	}
}
