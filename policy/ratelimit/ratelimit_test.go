package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

const minute = policy.Duration(time.Minute)

func newLimiter(t testing.TB, shared Counter, onFault string, limits ...Limit) *Limiter {
	t.Helper()
	l, err := New(Config{Limits: limits, OnFault: onFault}, shared)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// allowed counts how many of n equal messages are let through.
func allowed(t testing.TB, l *Limiter, n int, u Use) (passed int) {
	t.Helper()
	for range n {
		out := l.Take(t.Context(), u)
		if out.Allowed {
			passed++
		} else if out.Limit == "" || out.RetryAfter < time.Second {
			t.Fatalf("refused without saying until when: %+v", out)
		}
	}
	return passed
}

func TestALimitCountsApartWhatItIsPer(t *testing.T) {
	ann := Use{Endpoint: "/mcp", Tool: "cad.open", Issuer: "i", Subject: "ann", Tenant: "acme", OpenAISubject: "v1/a", ClientIP: "1.1.1.1"}
	change := func(f func(*Use)) Use {
		u := ann
		f(&u)
		return u
	}
	tests := []struct {
		name  string
		limit Limit
		other Use
		apart bool
	}{
		{"all together", Limit{}, change(func(u *Use) { u.Subject, u.Tenant, u.Tool = "bob", "globex", "" }), false},
		{"another endpoint", Limit{}, change(func(u *Use) { u.Endpoint = "/other" }), true},
		{"per endpoint is all together", Limit{Per: []string{Endpoint}}, change(func(u *Use) { u.Subject = "bob" }), false},
		{"per tenant", Limit{Per: []string{Tenant}}, change(func(u *Use) { u.Tenant = "globex" }), true},
		{"per tenant, other caller", Limit{Per: []string{Tenant}}, change(func(u *Use) { u.Subject = "bob" }), false},
		{"per principal", Limit{Per: []string{Principal}}, change(func(u *Use) { u.Subject = "bob" }), true},
		{"per principal, other issuer", Limit{Per: []string{Principal}}, change(func(u *Use) { u.Issuer = "j" }), true},
		{"per principal, other address", Limit{Per: []string{Principal}}, change(func(u *Use) { u.ClientIP = "2.2.2.2" }), false},
		{"per principal, cut elsewhere", Limit{Per: []string{Principal}}, change(func(u *Use) { u.Issuer, u.Subject = "ia", "nn" }), true},
		{"per openai_subject", Limit{Per: []string{OpenAISubject}}, change(func(u *Use) { u.OpenAISubject = "v1/b" }), true},
		{"per openai_subject of another caller", Limit{Per: []string{OpenAISubject}}, change(func(u *Use) { u.Subject = "bob" }), true},
		{"per tool", Limit{Per: []string{Tool}}, change(func(u *Use) { u.Tool = "cad.close" }), true},
		{"tools together", Limit{Tools: []string{"cad.*"}}, change(func(u *Use) { u.Tool = "cad.close" }), false},
		{"tools apart", Limit{Tools: []string{"cad.*"}, Per: []string{Tool}}, change(func(u *Use) { u.Tool = "cad.close" }), true},
		{"other tools", Limit{Tools: []string{"cad.*", "x"}}, change(func(u *Use) { u.Tool = "list" }), true},
		{"other methods", Limit{Tools: []string{"*"}}, change(func(u *Use) { u.Tool = "" }), true},
		{"both", Limit{Per: []string{Tenant, Principal}}, change(func(u *Use) { u.Tenant = "globex" }), true},
	}
	for _, tt := range tests {
		tt.limit.Calls, tt.limit.Window = 3, minute
		l := newLimiter(t, nil, "", tt.limit)
		if got := allowed(t, l, 5, ann); got != 3 {
			t.Errorf("%s: %d of 5 let through, want 3", tt.name, got)
		}
		if got := allowed(t, l, 1, tt.other) == 1; got != tt.apart {
			t.Errorf("%s: counted apart: %v, want %v", tt.name, got, tt.apart)
		}
	}
	l := newLimiter(t, nil, "", Limit{Calls: 1, Window: minute, Per: []string{Principal}})
	if allowed(t, l, 2, Use{ClientIP: "1.1.1.1"}) != 1 || allowed(t, l, 2, Use{ClientIP: "2.2.2.2"}) != 1 {
		t.Error("callers without a token are not counted by address")
	}
}

func TestAWindowEndsAndSaysWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, nil, "", Limit{Calls: 2, Window: minute}, Limit{Calls: 3, Window: policy.Duration(time.Hour)})
		allowed(t, l, 2, Use{})
		time.Sleep(20 * time.Second)
		if out := l.Take(t.Context(), Use{}); out.Allowed || out.RetryAfter != 40*time.Second || out.Limit != "2 in 1m0s" {
			t.Errorf("got %+v", out)
		}
		time.Sleep(40 * time.Second)
		if got := allowed(t, l, 5, Use{}); got != 1 {
			t.Errorf("%d let through in the second minute, want what the hour leaves", got)
		}
		if out := l.Take(t.Context(), Use{}); out.Allowed || out.RetryAfter > time.Minute {
			t.Errorf("got %+v", out)
		}
		time.Sleep(time.Hour)
		if got := allowed(t, l, 5, Use{}); got != 2 {
			t.Errorf("%d let through after an hour", got)
		}
	})
}

// shared is a counter that can be broken.
type shared struct {
	*Local
	down bool
}

func (s *shared) Count(ctx context.Context, key string, window time.Duration) (int64, time.Duration, error) {
	if s.down {
		return 0, 0, errors.New("connection refused")
	}
	return s.Local.Count(ctx, key, window)
}

func TestReplicasShareACountAndDoWhatIsWrittenWithoutIt(t *testing.T) {
	limit := Limit{Calls: 4, Window: minute, Per: []string{Principal}}
	for onFault, want := range map[string]int{"": 4, CountLocally: 4, Allow: 10, Refuse: 0} {
		store := &shared{Local: NewLocal(100)}
		one, two := newLimiter(t, store, onFault, limit), newLimiter(t, store, onFault, limit)
		if got := allowed(t, one, 3, Use{Subject: "s"}) + allowed(t, two, 3, Use{Subject: "s"}); got != 4 {
			t.Errorf("%d let through by two replicas, want 4", got)
		}
		store.down = true
		if got := allowed(t, one, 10, Use{Subject: "other"}); got != want {
			t.Errorf("on_fault %q: %d let through, want %d", onFault, got, want)
		}
		if out := one.Take(t.Context(), Use{Subject: "third"}); out.Err == nil {
			t.Errorf("on_fault %q: the fault is not told", onFault)
		}
	}
}

func TestMadeUpKeysGainNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local := NewLocal(100)
		for i := range 100 {
			if n, _, _ := local.Count(t.Context(), fmt.Sprint(i), time.Minute); n != 1 {
				t.Fatalf("key %d: %d", i, n)
			}
		}
		for i := range 50 {
			if n, _, _ := local.Count(t.Context(), fmt.Sprint("new", i), time.Minute); n != int64(i+1) {
				t.Fatalf("key %d beyond the bound: %d, want it counted with the others", i, n)
			}
		}
		if n, _, _ := local.Count(t.Context(), "7", time.Minute); n != 2 {
			t.Errorf("a known key lost its count: %d", n)
		}
		if len(local.counts) != 100 {
			t.Errorf("%d keys are kept", len(local.counts))
		}
		time.Sleep(time.Minute)
		if n, _, _ := local.Count(t.Context(), "fresh", time.Minute); n != 1 || len(local.counts) != 1 {
			t.Errorf("%d, with %d keys, after all counts have ended", n, len(local.counts))
		}
	})
}

func TestConcurrentCallsAreAllCounted(t *testing.T) {
	l := newLimiter(t, nil, "", Limit{Calls: 500, Window: minute})
	var mu sync.Mutex
	passed := 0
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			got := allowed(t, l, 100, Use{})
			mu.Lock()
			defer mu.Unlock()
			passed += got
		})
	}
	group.Wait()
	if passed != 500 {
		t.Errorf("%d let through", passed)
	}
}

func TestLimitsThatMeanNothingAreRefused(t *testing.T) {
	tests := map[string]Config{
		"at least 1":                   {Limits: []Limit{{Window: minute}}},
		"from 1s to 24h0m0s":           {Limits: []Limit{{Calls: 1}}},
		"rate limit 2":                 {Limits: []Limit{{Calls: 1, Window: minute}, {Calls: 1, Window: policy.Duration(48 * time.Hour)}}},
		"write endpoint":               {Limits: []Limit{{Calls: 1, Window: minute, Per: []string{"user"}}}},
		"tools: empty":                 {Limits: []Limit{{Calls: 1, Window: minute, Tools: []string{""}}}},
		"write local, allow or refuse": {OnFault: "open"},
	}
	for want, config := range tests {
		if _, err := New(config, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error saying %q", err, want)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	l := newLimiter(b, nil, "", Limit{Calls: 1 << 60, Window: minute, Per: []string{Principal}})
	u := Use{Endpoint: "/mcp", Issuer: "https://login", Subject: "ann"}
	b.ReportAllocs()
	for b.Loop() {
		if !l.Take(b.Context(), u).Allowed {
			b.Fatal("refused")
		}
	}
}
