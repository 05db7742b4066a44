package revocation

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

func TestListIsTrustedNoLongerThanMaxStale(t *testing.T) {
	for _, maxStale := range []time.Duration{0, 5 * time.Second} {
		t.Run(maxStale.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &flakyStore{Store: state.NewMemory(0)}
				told := new(told)
				config := told.config()
				config.Store, config.MaxStale = store, maxStale
				l := newList(t, config)
				if maxStale == 0 {
					maxStale = DefaultMaxStale
				}
				wantCheck(t, l, alice(), nil)
				ended := make(chan error, 1)
				defer l.Guard(alice(), func(err error) { ended <- err })()

				store.down.Store(true)
				time.Sleep(maxStale - time.Second)
				wantCheck(t, l, alice(), nil)
				if s := l.Status(); s.State != Unreachable || s.Age < maxStale-2*time.Second {
					t.Errorf("status %+v", s)
				}
				time.Sleep(2 * time.Second)
				wantCheck(t, l, alice(), ErrStale)
				wantCheck(t, l, Caller{}, nil)
				if len(ended) != 1 || !errors.Is(<-ended, ErrStale) {
					t.Error("what a caller has open goes on with a list that is not trusted")
				}
				if _, err := l.Entries(t.Context()); !errors.Is(err, ErrStale) {
					t.Errorf("Entries: %v", err)
				}

				store.down.Store(false)
				time.Sleep(time.Second)
				wantCheck(t, l, alice(), nil)
				told.wantStates(t, Fresh, Unreachable, Stale, Fresh)
				told.wantProblems(t, 2, 2, "connection refused")
			})
		})
	}
}

// Without ever having seen the list nobody knows who is revoked; but nobody
// waits for a store that is down either.
func TestListStartsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &flakyStore{Store: state.NewMemory(0)}
		store.down.Store(true)
		told := new(told)
		config := told.config()
		config.Store = store
		l := newList(t, config)
		if s := l.Status(); s.State != Starting {
			t.Errorf("status %+v", s)
		}
		begun := time.Now()
		wantCheck(t, l, alice(), ErrStale)
		wantCheck(t, l, alice(), ErrStale)
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("waited for %s", waited)
		}
		store.down.Store(false)
		time.Sleep(time.Second)
		wantCheck(t, l, alice(), nil)
		told.wantStates(t, Starting, Fresh)
	})
}

func TestRevokingDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := state.NewMemory(0)
		store := &flakyStore{Store: shared}
		here, there := newList(t, Config{Store: store}), newList(t, Config{Store: shared})
		wantCheck(t, here, alice(), nil)
		wantCheck(t, there, alice(), nil)
		store.down.Store(true)
		if _, err := here.Revoke(t.Context(), Request{Tenant: "acme"}); !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("acknowledged: %v", err)
		}
		wantCheck(t, here, alice(), ErrRevoked)
		time.Sleep(time.Second)
		wantCheck(t, there, alice(), nil)
		store.down.Store(false)
		time.Sleep(2 * time.Second)
		wantCheck(t, there, alice(), ErrRevoked)
	})
}

// A replica that comes back from an outage learns what has happened meanwhile.
func TestRevocationsDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := state.NewMemory(0)
		store := &flakyStore{Store: shared}
		here, there := newList(t, Config{Store: store}), newList(t, Config{Store: shared})
		wantCheck(t, here, alice(), nil)
		store.down.Store(true)
		time.Sleep(time.Second)
		revoke(t, there, Request{Tenant: "acme"})
		time.Sleep(time.Second)
		wantCheck(t, here, alice(), nil)
		store.down.Store(false)
		time.Sleep(time.Second)
		wantCheck(t, here, alice(), ErrRevoked)
	})
}

// A store that has lost its data gets the list back from any replica.
func TestStoreThatForgetsIsReminded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		here, there := newList(t, Config{Store: store}), newList(t, Config{Store: store})
		kept := revoke(t, here, Request{Tenant: "acme", TTL: time.Hour})
		lifted := revoke(t, here, Request{Tenant: "globex", TTL: time.Hour})
		if err := here.Lift(t.Context(), lifted.ID); err != nil {
			t.Fatal(err)
		}
		wantEntries(t, there, 1)
		time.Sleep(time.Second)
		for _, id := range []string{kept.ID, lifted.ID} {
			if err := store.Delete(t.Context(), group+"/"+id); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		newcomer := newList(t, Config{Store: store})
		for _, l := range []*List{here, there, newcomer} {
			if e := wantEntries(t, l, 1); e[0].ID != kept.ID || !e[0].Expires.Equal(kept.Expires) {
				t.Errorf("entry %+v, was %+v", e[0], kept)
			}
		}
		entries, err := store.List(t.Context(), group)
		if err != nil || len(entries) != 2 {
			t.Errorf("the store holds %d entries, %v", len(entries), err)
		}
		// It comes to rest: nobody writes for ever.
		time.Sleep(time.Hour + time.Second)
		wantEntries(t, here, 0)
		if entries, err := store.List(t.Context(), group); err != nil || len(entries) != 0 {
			t.Errorf("the store holds %d entries, %v", len(entries), err)
		}
	})
}

func TestUnreadableEntriesAreToldAndLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		for i, value := range []string{"", "{", "[]", `{"id":"x","tenant":"acme"}`} {
			if err := store.Set(t.Context(), fmt.Sprintf("%s/%d", group, i), []byte(value), time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		told := new(told)
		config := told.config()
		config.Store = store
		l := newList(t, config)
		revoke(t, l, Request{Tenant: "globex"})
		wantCheck(t, l, alice(), nil)
		wantEntries(t, l, 1)
		synctest.Wait()
		time.Sleep(time.Second)
		revoke(t, l, Request{Tenant: "initech"})
		time.Sleep(time.Second)
		told.wantProblems(t, 4, 4, group+"/")
	})
}

// A clock that is wrong in one replica must not decide what counts.
func TestClocksOfReplicasMayDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		l := newList(t, Config{Store: store})
		e := revoke(t, l, Request{Tenant: "acme"})
		ahead := e
		ahead.Changed = e.Changed.Add(time.Hour)
		if err := l.put(t.Context(), ahead); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := l.Lift(t.Context(), e.ID); err != nil {
			t.Fatal(err)
		}
		other := newList(t, Config{Store: store})
		wantCheck(t, other, alice(), nil)
		revoke(t, other, Request{Tenant: "acme"})
		time.Sleep(time.Second)
		wantCheck(t, l, alice(), ErrRevoked)
	})
}

func TestClosedListAnswersUntilStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Store: state.NewMemory(0)})
		revoke(t, l, Request{JTI: "t1"})
		bob := alice()
		bob.ID = "t2"
		wantCheck(t, l, bob, nil)
		l.Close()
		l.Close()
		wantCheck(t, l, alice(), ErrRevoked)
		wantCheck(t, l, bob, nil)
		time.Sleep(time.Minute)
		wantCheck(t, l, bob, ErrStale)

		unused := New(Config{Store: state.NewMemory(0)})
		unused.Close()
		wantCheck(t, unused, bob, ErrStale)
	})
}
