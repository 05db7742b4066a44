package revocation

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

func TestWhoIsRevoked(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	ago := now.Add(-time.Hour)
	with := func(change func(*Caller)) Caller {
		c := alice()
		change(&c)
		return c
	}
	bob := with(func(c *Caller) { c.Subject, c.ID = "bob", "t2" })
	undated := with(func(c *Caller) { c.IssuedAt = time.Time{} })
	old := with(func(c *Caller) { c.IssuedAt = ago.Add(-time.Second) })
	sameSecond := with(func(c *Caller) { c.IssuedAt = ago })

	for _, test := range []struct {
		name    string
		request Request
		caller  Caller
		want    error
	}{
		{"the token", Request{JTI: "t1"}, alice(), ErrRevoked},
		{"another token of the subject", Request{JTI: "t0"}, alice(), nil},
		{"a token without an id", Request{JTI: "t1"}, with(func(c *Caller) { c.ID = "" }), nil},
		{"the subject", Request{Issuer: issuer, Subject: "alice"}, alice(), ErrRevoked},
		{"another subject", Request{Issuer: issuer, Subject: "alice"}, bob, nil},
		{"the same name from another issuer", Request{Issuer: "https://other.example/", Subject: "alice"}, alice(), nil},
		{"a name in other letters", Request{Issuer: issuer, Subject: "Alice"}, alice(), nil},
		{"the tenant", Request{Tenant: "acme"}, bob, ErrRevoked},
		{"another tenant", Request{Tenant: "globex"}, alice(), nil},
		{"a tenant, for a caller of none", Request{Tenant: "acme"}, with(func(c *Caller) { c.Tenant = "" }), nil},
		{"an older token", Request{Tenant: "acme", IssuedBefore: ago}, old, ErrRevoked},
		{"a token of that moment", Request{Tenant: "acme", IssuedBefore: ago}, sameSecond, nil},
		{"a token of the second in which that moment lies", Request{Tenant: "acme", IssuedBefore: ago.Add(time.Millisecond)}, sameSecond, ErrRevoked},
		{"a newer token", Request{Tenant: "acme", IssuedBefore: ago}, alice(), nil},
		{"a token that does not tell its age", Request{Tenant: "acme", IssuedBefore: ago}, undated, ErrRevoked},
		{"nobody", Request{Tenant: "acme"}, Caller{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newList(t, Config{Store: state.NewMemory(0)})
			revoke(t, l, test.request)
			wantCheck(t, l, test.caller, test.want)
		})
	}
}

// A second request about the same thing must not take back what the first did.
func TestRevocationsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newList(t, Config{Store: state.NewMemory(0)})
		all := revoke(t, l, Request{Tenant: "acme", TTL: time.Hour})
		revoke(t, l, Request{Tenant: "acme", IssuedBefore: time.Now().Add(-time.Hour), TTL: time.Hour})
		wantCheck(t, l, alice(), ErrRevoked)
		wantEntries(t, l, 2)

		again := revoke(t, l, Request{Tenant: "acme", TTL: time.Minute})
		if again.ID != all.ID || !again.Expires.Equal(all.Expires) {
			t.Errorf("asked again for a shorter time: %+v, before: %+v", again, all)
		}
		longer := revoke(t, l, Request{Tenant: "acme", TTL: 2 * time.Hour})
		if !longer.Expires.After(all.Expires) {
			t.Errorf("asked again for a longer time: %+v, before: %+v", longer, all)
		}
		wantEntries(t, l, 2)
	})
}

func TestRevocationsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newList(t, Config{Store: state.NewMemory(0)})
		revoke(t, l, Request{Tenant: "acme"})
		revoke(t, l, Request{Issuer: issuer, Subject: "alice", TTL: time.Hour})
		time.Sleep(time.Hour + time.Second)
		wantEntries(t, l, 1)
		wantCheck(t, l, alice(), ErrRevoked)
		time.Sleep(DefaultTTL - time.Hour - 2*time.Second)
		wantCheck(t, l, alice(), ErrRevoked)
		time.Sleep(3 * time.Second)
		wantCheck(t, l, alice(), nil)
		wantEntries(t, l, 0)
		if l.mu.Lock(); len(l.known) != 0 {
			t.Errorf("%d entries are kept for nothing", len(l.known))
		}
		l.mu.Unlock()
	})
}

func TestReplicasLearnWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		here, there := newList(t, Config{Store: store}), newList(t, Config{Store: store})
		wantCheck(t, there, alice(), nil)
		e := revoke(t, here, Request{Tenant: "acme"})
		wantCheck(t, here, alice(), ErrRevoked)
		time.Sleep(time.Second)
		wantCheck(t, there, alice(), ErrRevoked)

		if err := there.Lift(t.Context(), e.ID); err != nil {
			t.Fatal(err)
		}
		wantCheck(t, there, alice(), nil)
		time.Sleep(time.Second)
		wantCheck(t, here, alice(), nil)
		if err := here.Lift(t.Context(), e.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("lifted twice: %v", err)
		}

		revoke(t, here, Request{Tenant: "acme"})
		time.Sleep(time.Second)
		wantCheck(t, there, alice(), ErrRevoked)
	})
}

func TestGuardEndsWhoIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		here, there := newList(t, Config{Store: store}), newList(t, Config{Store: store})
		ended := make(chan error, 10)
		guard := func(l *List, c Caller) func() { return l.Guard(c, func(err error) { ended <- err }) }
		bob := alice()
		bob.Subject, bob.ID = "bob", "t2"
		wantCheck(t, there, bob, nil)
		defer guard(there, bob)()
		guard(there, alice())() // released
		defer guard(there, alice())()
		defer guard(there, Caller{})()
		time.Sleep(time.Minute)
		if len(ended) > 0 {
			t.Fatalf("ended without a reason: %v", <-ended)
		}

		revoke(t, here, Request{Issuer: issuer, Subject: "alice"})
		time.Sleep(time.Second)
		if len(ended) != 1 || !errors.Is(<-ended, ErrRevoked) {
			t.Fatal("one caller should have been ended")
		}
		revoke(t, here, Request{JTI: "t1"})
		time.Sleep(time.Second)
		if len(ended) != 0 {
			t.Error("ended twice")
		}

		// Revoked between the check and the guard.
		defer guard(there, alice())()
		synctest.Wait()
		if len(ended) != 1 || !errors.Is(<-ended, ErrRevoked) {
			t.Error("a guard that comes late does not end its caller")
		}
	})
}

func TestOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &flakyStore{Store: state.NewMemory(0)}
		l := newList(t, Config{Store: store})
		wantCheck(t, l, alice(), nil)
		var calls atomic.Int64
		stop := l.OnChange(func() { calls.Add(1) })
		want := func(n int64, what string) {
			t.Helper()
			synctest.Wait()
			if calls.Load() != n {
				t.Fatalf("%s: called %d times, want %d", what, calls.Load(), n)
			}
		}
		time.Sleep(time.Hour)
		want(0, "no change")
		revoke(t, l, Request{Tenant: "acme"})
		want(1, "a revocation")
		store.down.Store(true)
		time.Sleep(DefaultMaxStale + time.Second)
		want(2, "stale")
		store.down.Store(false)
		stop()
		revoke(t, l, Request{Tenant: "globex"})
		want(2, "after stop")
	})
}

func TestListIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newList(t, Config{Store: state.NewMemory(0)})
		for i := range MaxEntries {
			l.known[fmt.Sprint(i)] = Entry{ID: fmt.Sprint(i), Tenant: "x", Expires: time.Now().Add(time.Hour)}
		}
		if _, err := l.Revoke(t.Context(), Request{JTI: "one more"}); !errors.Is(err, ErrFull) {
			t.Errorf("beyond the bound: %v", err)
		}
	})
}

func TestRevokeRefusesNonsense(t *testing.T) {
	l := newList(t, Config{Store: state.NewMemory(0)})
	for _, r := range []Request{
		{},
		{Subject: "alice"},
		{Issuer: issuer},
		{JTI: "t1", Tenant: "acme"},
		{JTI: "t1", Issuer: issuer},
		{Tenant: "acme", TTL: -1},
		{Tenant: "acme", TTL: MaxTTL + 1},
		{Tenant: "acme", IssuedBefore: time.Now().Add(time.Hour)},
	} {
		if _, err := l.Revoke(t.Context(), r); err == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	store := state.NewMemory(0)
	lists := []*List{newList(t, Config{Store: store}), newList(t, Config{Store: store})}
	for _, l := range lists {
		wantCheck(t, l, alice(), nil)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 50 {
				l, c := lists[j%2], alice()
				c.ID = fmt.Sprint(i, j)
				ended := make(chan error, 1)
				release := l.Guard(c, func(err error) { ended <- err })
				e, err := l.Revoke(t.Context(), Request{JTI: c.ID})
				if err != nil {
					t.Error(err)
					return
				}
				if err := <-ended; !errors.Is(err, ErrRevoked) {
					t.Errorf("ended with %v", err)
				}
				release()
				if err := l.Check(t.Context(), c); !errors.Is(err, ErrRevoked) {
					t.Errorf("revoked: %v", err)
				}
				if err := errors.Join(l.Lift(t.Context(), e.ID), l.Check(t.Context(), c)); err != nil {
					t.Errorf("lifted: %v", err)
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkCheck(b *testing.B) {
	for _, entries := range []int{0, 1000} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			l := New(Config{Store: state.NewMemory(0)})
			defer l.Close()
			for i := range entries {
				if _, err := l.Revoke(b.Context(), Request{JTI: fmt.Sprint("r", i)}); err != nil {
					b.Fatal(err)
				}
			}
			c := alice()
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Check(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
