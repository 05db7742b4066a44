package registration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

var (
	here  = Endpoint{Path: "/mcp", Resource: "https://mcp.example.com/mcp"}
	alice = Principal{Issuer: "https://id.example", Subject: "alice", Tenant: "acme"}
)

func request(change ...func(*Request)) Request {
	r := Request{Endpoint: "/mcp", Tools: []string{"search"}, MaxCalls: 3, TTL: time.Minute}
	for _, c := range change {
		c(&r)
	}
	return r
}

// stores runs a test on each kind of store, which two replicas share.
func stores(t *testing.T, test func(t *testing.T, a, b *Registry)) {
	t.Run("memory", func(t *testing.T) {
		store := state.NewMemory(0)
		t.Cleanup(func() { _ = store.Close() })
		test(t, New(store), New(store))
	})
	t.Run("redis", func(t *testing.T) {
		server := statetest.StartRedis(t)
		open := func() *Registry {
			store, err := state.NewRedis(state.RedisConfig{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			return New(store)
		}
		test(t, open(), open())
	})
}

func create(t *testing.T, r *Registry, request Request) (string, *Registration) {
	t.Helper()
	id, made, err := r.Create(t.Context(), here, request)
	if err != nil {
		t.Fatal(err)
	}
	return id, made
}

func find(t *testing.T, r *Registry, id string) (*Registration, error) {
	t.Helper()
	handle, ok := ParseID(id)
	if !ok {
		t.Fatalf("%q is no id", id)
	}
	return r.Find(t.Context(), handle, here, alice)
}

func wantGone(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("%s: %v, want ErrNotFound", what, err)
	}
}

// Whatever the replicas do at once, not one call more than allowed is let
// through, and not one less.
func TestCallsAreCountedTogether(t *testing.T) {
	stores(t, func(t *testing.T, a, b *Registry) {
		id, made := create(t, a, request(func(r *Request) { r.MaxCalls = 12 }))
		var allowed, refused atomic.Int32
		var group sync.WaitGroup
		for i := range 60 {
			group.Go(func() {
				switch err := []*Registry{a, b}[i%2].Call(t.Context(), made); {
				case err == nil:
					allowed.Add(1)
				case errors.Is(err, ErrNotFound):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if allowed.Load() != 12 || refused.Load() != 48 {
			t.Errorf("%d calls allowed and %d refused, want 12 and 48", allowed.Load(), refused.Load())
		}
		for _, r := range []*Registry{a, b} {
			_, err := find(t, r, id)
			wantGone(t, "after the last call", err)
			p, err := r.Progress(t.Context(), made.Handle)
			if err != nil || p.Calls != 12 || p.Ended != Completed {
				t.Errorf("progress %+v, %v", p, err)
			}
		}
	})
}

func TestARegistrationEndsInEveryWay(t *testing.T) {
	stores(t, func(t *testing.T, a, b *Registry) {
		for name, tt := range map[string]struct {
			end    func(id string, made *Registration) error
			reason string
		}{
			"deletion":           {func(_ string, made *Registration) error { return b.End(t.Context(), made.Handle) }, Deleted},
			"a start that fails": {func(_ string, made *Registration) error { return b.FailStart(t.Context(), made) }, StartupFailed},
			"a lost counter": {func(_ string, made *Registration) error {
				if err := a.store.Delete(t.Context(), callsGroup+"/"+made.Handle.String()); err != nil {
					return err
				}
				wantGone(t, "a call that nobody can count", b.Call(t.Context(), made))
				return nil
			}, Completed},
		} {
			t.Run(name, func(t *testing.T) {
				id, made := create(t, a, request())
				if _, err := find(t, b, id); err != nil {
					t.Fatalf("before: %v", err)
				}
				if err := tt.end(id, made); err != nil {
					t.Fatal(err)
				}
				for _, r := range []*Registry{a, b} {
					_, err := find(t, r, id)
					wantGone(t, "after", err)
					if p, err := r.Progress(t.Context(), made.Handle); err != nil || p.Ended != tt.reason {
						t.Errorf("ended %q, %v, want %q", p.Ended, err, tt.reason)
					}
				}
				wantGone(t, "ending it again", a.End(t.Context(), made.Handle))
			})
		}
		t.Run("expiry", func(t *testing.T) {
			id, made := create(t, a, request(func(r *Request) { r.TTL = 50 * time.Millisecond }))
			for _, r := range []*Registry{a, b} {
				statetest.Eventually(t, "the end of its time", func() bool { _, err := find(t, r, id); return errors.Is(err, ErrNotFound) })
				_, err := r.Progress(t.Context(), made.Handle)
				wantGone(t, "its progress", err)
			}
		})
	})
}

// A server that is away for a moment ends nothing that had begun.
func TestAStartIsOver(t *testing.T) {
	stores(t, func(t *testing.T, a, b *Registry) {
		for name, begin := range map[string]func(*Registration) error{
			"a handshake": func(made *Registration) error { return a.Started(t.Context(), made) },
			"a call":      func(made *Registration) error { return a.Call(t.Context(), made) },
		} {
			id, made := create(t, a, request())
			if err := begin(made); err != nil {
				t.Fatal(err)
			}
			if err := b.FailStart(t.Context(), made); err != nil {
				t.Fatal(err)
			}
			if _, err := find(t, a, id); err != nil {
				t.Errorf("after %s: %v", name, err)
			}
		}
	})
}

func TestARegistrationIsForItsCallerAtItsEndpoint(t *testing.T) {
	store := state.NewMemory(0)
	defer func() { _ = store.Close() }()
	r := New(store)
	elsewhere := Endpoint{Path: "/other", Resource: here.Resource}
	for _, tt := range []struct {
		name     string
		bound    *Principal
		endpoint Endpoint
		caller   Principal
		found    bool
	}{
		{"anybody", nil, here, alice, true},
		{"nobody in particular", nil, here, Principal{}, true},
		{"its principal", &alice, here, alice, true},
		{"its principal in any tenant", &Principal{Issuer: alice.Issuer, Subject: "alice"}, here, alice, true},
		{"another subject", &alice, here, Principal{Issuer: alice.Issuer, Subject: "bob", Tenant: "acme"}, false},
		{"the subject of another issuer", &alice, here, Principal{Issuer: "https://evil.example", Subject: "alice", Tenant: "acme"}, false},
		{"the principal in another tenant", &alice, here, Principal{Issuer: alice.Issuer, Subject: "alice", Tenant: "globex"}, false},
		{"an anonymous caller", &alice, here, Principal{}, false},
		{"another endpoint", nil, elsewhere, alice, false},
		{"another resource", nil, Endpoint{Path: "/mcp"}, alice, false},
	} {
		id, _ := create(t, r, request(func(r *Request) { r.Principal = tt.bound }))
		handle, _ := ParseID(id)
		found, err := r.Find(t.Context(), handle, tt.endpoint, tt.caller)
		if tt.found && (err != nil || !slices.Equal(found.Tools, []string{"search"})) || !tt.found && !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %+v, %v", tt.name, found, err)
		}
	}
}

// The id itself is nowhere in the store, nor in anything that is shown later.
func TestOnlyTheHashIsKept(t *testing.T) {
	store := state.NewMemory(0)
	defer func() { _ = store.Close() }()
	r := New(store)
	id, made := create(t, r, request())
	entries, err := store.List(t.Context(), group)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	all, err := r.All(t.Context())
	if err != nil || len(all) != 1 || all[0].Handle != made.Handle.String() {
		t.Fatalf("%+v, %v", all, err)
	}
	secret := strings.TrimPrefix(id, idPrefix)
	for _, text := range []string{entries[0].Key, string(entries[0].Value), fmt.Sprintf("%+v", all)} {
		if strings.Contains(text, secret) {
			t.Errorf("the id is kept in %s", text)
		}
	}
}

func TestIDsHaveOneSpelling(t *testing.T) {
	id := NewID()
	if len(strings.TrimPrefix(id, idPrefix)) != 32 || id == NewID() {
		t.Errorf("%q is not of 128 random bits", id)
	}
	for text, want := range map[string]bool{
		id: true, strings.ToUpper(id): false, "Reg_" + id[4:]: false, id[4:]: false, id + " ": false, " " + id: false, id + "0": false, id[:35]: false,
		id + "#": false, "%72" + id[1:]: false, "": false, "reg_": false, id + "," + id: false, "reg_" + strings.Repeat("g", 32): false,
	} {
		if _, ok := ParseID(text); ok != want {
			t.Errorf("%q is accepted: %v", text, ok)
		}
	}
	handle, _ := ParseID(id)
	if again, ok := ParseHandle(handle.String()); !ok || again != handle {
		t.Error("a handle is not read back")
	}
	for _, text := range []string{"", id, strings.ToUpper(handle.String()), handle.String()[2:]} {
		if _, ok := ParseHandle(text); ok {
			t.Errorf("%q is taken for a handle", text)
		}
	}
}

func TestGuardsHearOfTheEnd(t *testing.T) {
	stores(t, func(t *testing.T, a, b *Registry) {
		for reason, end := range map[string]func(*Registration) error{
			Deleted: func(made *Registration) error { return a.End(t.Context(), made.Handle) },
			Completed: func(made *Registration) error {
				return errors.Join(a.Call(t.Context(), made), a.Call(t.Context(), made), a.Call(t.Context(), made))
			},
			Expired: nil,
		} {
			ttl := time.Minute
			if end == nil {
				ttl = 100 * time.Millisecond
			}
			_, made := create(t, a, request(func(r *Request) { r.TTL = ttl }))
			_, other := create(t, a, request())
			ended := make(chan error, 1)
			release := b.Guard(made, func(err error) { ended <- err })
			releaseOther := b.Guard(other, func(err error) { t.Errorf("the other one: %v", err) })
			if end != nil {
				if err := end(made); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case err := <-ended:
				if known, ok := errors.AsType[*EndedError](err); !ok || known.Reason != reason {
					t.Errorf("%v, want %s", err, reason)
				}
			case <-time.After(20 * time.Second):
				t.Errorf("nobody heard that it was %s", reason)
			}
			release()
			releaseOther()
		}
	})
}

// A registration that had ended before anybody watched is noticed as well.
func TestAGuardThatComesLateHears(t *testing.T) {
	store := state.NewMemory(0)
	defer func() { _ = store.Close() }()
	r := New(store)
	_, early := create(t, r, request())
	defer r.Guard(early, func(error) {})() // the watch is running
	_, made := create(t, r, request())
	time.Sleep(10 * time.Millisecond)
	if err := r.End(t.Context(), made.Handle); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * state.WatchInterval)
	ended := make(chan error, 1)
	defer r.Guard(made, func(err error) { ended <- err })()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("no reason")
		}
	case <-time.After(20 * time.Second):
		t.Error("nobody heard")
	}
}

func TestNothingIsKnownWithoutTheStore(t *testing.T) {
	server := statetest.StartRedis(t)
	store, err := state.NewRedis(state.RedisConfig{URL: server.URL, Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	r := New(store)
	id, made := create(t, r, request())
	server.Stop()
	_, found := find(t, r, id)
	for what, err := range map[string]error{
		"finding": found, "calling": r.Call(t.Context(), made), "ending": r.End(t.Context(), made.Handle), "failing": r.FailStart(t.Context(), made),
	} {
		if !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("%s: %v, want that the store is unavailable", what, err)
		}
	}
	if _, _, err := r.Create(context.Background(), here, request()); !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("making one: %v", err)
	}
}
