package revocation

import (
	"errors"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

// replica is a list of another process: it has a connection of its own.
func replica(t *testing.T, server *statetest.Redis, config Config) *List {
	t.Helper()
	store, err := state.NewRedis(state.RedisConfig{URL: server.URL, Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	config.Store = store
	l := newList(t, config)
	t.Cleanup(func() { _ = store.Close() })
	return l
}

func TestRedisReplicas(t *testing.T) {
	server := statetest.StartRedis(t)
	here, there := replica(t, server, Config{}), replica(t, server, Config{})
	wantCheck(t, here, alice(), nil)
	wantCheck(t, there, alice(), nil)
	ended := make(chan error, 1)
	defer there.Guard(alice(), func(err error) { ended <- err })()

	begun := time.Now()
	e := revoke(t, here, Request{Issuer: issuer, Subject: "alice", IssuedBefore: time.Now()})
	if err := <-ended; !errors.Is(err, ErrRevoked) {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("the other replica learnt of it after %s", took)
	}

	// What was acknowledged survives the replica that did it.
	here.Close()
	newcomer := replica(t, server, Config{})
	wantCheck(t, newcomer, alice(), ErrRevoked)
	if err := newcomer.Lift(t.Context(), e.ID); err != nil {
		t.Fatal(err)
	}
	statetest.Eventually(t, "the other replica learns that it was lifted", func() bool { return there.Check(t.Context(), alice()) == nil })
}

func TestRedisOutage(t *testing.T) {
	server := statetest.StartRedis(t)
	here, there := replica(t, server, Config{MaxStale: time.Second}), replica(t, server, Config{MaxStale: time.Second})
	revoke(t, here, Request{JTI: "t1"})
	bob := alice()
	bob.ID = "t2"
	wantCheck(t, there, bob, nil)
	statetest.Eventually(t, "the other replica knows", func() bool { return errors.Is(there.Check(t.Context(), alice()), ErrRevoked) })

	for _, fault := range []struct {
		name       string
		begin, end func()
	}{
		{"hanging", server.Hang, server.Resume},
		{"stopped", server.Stop, server.Start}, // and all data lost
	} {
		fault.begin()
		statetest.Eventually(t, fault.name+": nobody is let in", func() bool {
			return errors.Is(here.Check(t.Context(), bob), ErrStale) && errors.Is(there.Check(t.Context(), bob), ErrStale)
		})
		fault.end()
		statetest.Eventually(t, fault.name+": it works again", func() bool {
			return here.Check(t.Context(), bob) == nil && there.Check(t.Context(), bob) == nil
		})
		wantCheck(t, here, alice(), ErrRevoked)
		wantCheck(t, there, alice(), ErrRevoked)
	}
	newcomer := replica(t, server, Config{})
	statetest.Eventually(t, "the server was given back what it had lost", func() bool {
		return errors.Is(newcomer.Check(t.Context(), alice()), ErrRevoked)
	})
}
