// Package statetest holds what every state.Store must do, as one test.
package statetest

import (
	"bytes"
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
)

// MaxEntries is what the groups of a store under test must hold.
const MaxEntries = 50

// Run tests a kind of store. open returns an empty one whose groups hold
// MaxEntries; it is closed by the test.
func Run(t *testing.T, open func(t *testing.T) state.Store) {
	for _, test := range []struct {
		promise string
		run     func(t *testing.T, s state.Store)
	}{
		{"Get returns what was set last", testSetGet},
		{"Get returns what nobody else can change", testCopies},
		{"a deleted entry is not found, nor is one that never was", testDelete},
		{"an entry ends after its time, and a new one in its place lives on", testExpiry},
		{"of many that keep a value all get the same one", testKeep},
		{"what is kept lives on from each call, and may be made again after its end", testKeepRenews},
		{"a counter counts exactly under contention", testIncr},
		{"a counter begins anew after its window, which counting does not extend", testWindow},
		{"a counter has a value, and other entries are no counters", testCounterValue},
		{"List returns what was set in the group and nothing else", testList},
		{"a full group keeps what was set last, other groups keep everything", testBound},
		{"Watch tells the beginning, every change and that it still looks", testWatch},
		{"Watch ends with its context", testWatchContext},
		{"a closed store is unavailable and ends its watches", testClose},
		{"malformed keys and excessive values are refused", testBadInput},
		{"a cancelled call says so, and not that the store is down", testCancelled},
	} {
		t.Run(test.promise, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() { _ = s.Close() })
			test.run(t, s)
		})
	}
}

func testSetGet(t *testing.T, s state.Store) {
	for _, value := range []string{"one", "", "\x00\xff{}\r\n", strings.Repeat("x", state.MaxValue)} {
		must(t, s.Set(t.Context(), "test/a b:\x01{*}/c", []byte(value), time.Minute))
		wantValue(t, s, "test/a b:\x01{*}/c", value)
	}
}

func testCopies(t *testing.T, s state.Store) {
	value := []byte("original")
	must(t, s.Set(t.Context(), "test/a", value, time.Minute))
	value[0] = 'X'
	got, err := s.Get(t.Context(), "test/a")
	must(t, err)
	got[0] = 'Y'
	wantValue(t, s, "test/a", "original")
}

func testDelete(t *testing.T, s state.Store) {
	wantNone(t, s, "test/a")
	must(t, s.Delete(t.Context(), "test/a"))
	must(t, s.Set(t.Context(), "test/a", []byte("1"), time.Minute))
	must(t, s.Delete(t.Context(), "test/a"))
	wantNone(t, s, "test/a")
}

func testExpiry(t *testing.T, s state.Store) {
	must(t, s.Set(t.Context(), "test/a", []byte("1"), time.Nanosecond))
	must(t, s.Set(t.Context(), "test/b", []byte("1"), 20*time.Millisecond))
	must(t, s.Set(t.Context(), "test/c", []byte("1"), 20*time.Millisecond))
	must(t, s.Set(t.Context(), "test/c", []byte("2"), time.Minute))
	for _, key := range []string{"test/a", "test/b"} {
		Eventually(t, key+" has ended", func() bool {
			_, err := s.Get(t.Context(), key)
			return errors.Is(err, state.ErrNotFound)
		})
	}
	wantValue(t, s, "test/c", "2")
	wantKeys(t, s, "test", "test/c")
}

func testKeep(t *testing.T, s state.Store) {
	var kept sync.Map
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			value, err := s.Keep(t.Context(), "test/a", fmt.Append(nil, "value", i), time.Minute)
			if err != nil {
				t.Error(err)
			}
			kept.Store(string(value), true)
			clear(value) // the caller's own
		})
	}
	group.Wait()
	var all []string
	kept.Range(func(value, _ any) bool {
		all = append(all, value.(string))
		return true
	})
	if len(all) != 1 {
		t.Fatalf("kept: %q", all)
	}
	wantValue(t, s, "test/a", all[0])
	wantKeys(t, s, "test", "test/a")

	must(t, s.Set(t.Context(), "test/a", []byte("set"), time.Minute))
	if value, err := s.Keep(t.Context(), "test/a", []byte("late"), time.Minute); err != nil || string(value) != "set" {
		t.Errorf("kept after it was set: %q, %v", value, err)
	}
	must(t, s.Delete(t.Context(), "test/a"))
	if value, err := s.Keep(t.Context(), "test/a", nil, time.Minute); err != nil || len(value) != 0 {
		t.Errorf("kept after it was deleted: %q, %v", value, err)
	}
	// A counter stays one.
	_, err := s.Incr(t.Context(), "test/n", time.Minute)
	must(t, err)
	if value, err := s.Keep(t.Context(), "test/n", []byte("x"), time.Minute); err != nil || string(value) != "1" {
		t.Errorf("of a counter: %q, %v", value, err)
	}
	wantKeys(t, s, "test", "test/a")
	if count, err := s.Incr(t.Context(), "test/n", time.Minute); err != nil || count.Value != 2 {
		t.Errorf("counting on: %d, %v", count.Value, err)
	}
}

func testKeepRenews(t *testing.T, s state.Store) {
	for tries := 1; ; tries++ {
		must(t, s.Set(t.Context(), "test/a", []byte("1"), time.Second))
		value, err := s.Keep(t.Context(), "test/a", []byte("2"), time.Minute)
		must(t, err)
		if string(value) == "1" {
			break
		}
		if tries == 10 { // a second was not enough for a machine under load
			t.Fatal("it has always ended before it was renewed")
		}
	}
	time.Sleep(1200 * time.Millisecond) // longer than it would have lived
	wantValue(t, s, "test/a", "1")
	wantKeys(t, s, "test", "test/a")
	if value, err := s.Keep(t.Context(), "test/a", []byte("2"), time.Millisecond); err != nil || string(value) != "1" {
		t.Errorf("%q, %v", value, err)
	}
	Eventually(t, "it has ended", func() bool {
		_, err := s.Get(t.Context(), "test/a")
		return errors.Is(err, state.ErrNotFound)
	})
	value, err := s.Keep(t.Context(), "test/a", []byte("3"), time.Minute)
	must(t, err)
	if string(value) != "3" {
		t.Errorf("made again: %q", value)
	}
	wantKeys(t, s, "test", "test/a")
}

func testIncr(t *testing.T, s state.Store) {
	const workers, each = 8, 25
	var seen sync.Map
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range each {
				count, err := s.Incr(t.Context(), "test/n", time.Minute)
				if err != nil {
					t.Error(err)
				}
				if _, twice := seen.LoadOrStore(count.Value, true); twice {
					t.Errorf("two callers got %d", count.Value)
				}
				if count.Remaining <= 0 || count.Remaining > time.Minute {
					t.Errorf("%s remain of a minute", count.Remaining)
				}
				if d := time.Since(count.Now).Abs(); d > time.Minute {
					t.Errorf("the store's clock is off by %s", d)
				}
			}
		})
	}
	group.Wait()
	if count, err := s.Incr(t.Context(), "test/n", time.Minute); err != nil || count.Value != workers*each+1 {
		t.Errorf("the next count is %d, %v", count.Value, err)
	}
}

func testWindow(t *testing.T, s state.Store) {
	// Were the window extended by each count, this would never end.
	Eventually(t, "the counter begins anew", func() bool {
		count, err := s.Incr(t.Context(), "test/n", 50*time.Millisecond)
		must(t, err)
		if count.Remaining > 50*time.Millisecond {
			t.Fatalf("%s remain of 50ms", count.Remaining)
		}
		_, before := s.Get(t.Context(), "test/begun")
		must(t, s.Set(t.Context(), "test/begun", nil, time.Minute))
		return before == nil && count.Value == 1
	})
}

func testCounterValue(t *testing.T, s state.Store) {
	for range 3 {
		_, err := s.Incr(t.Context(), "test/n", time.Minute)
		must(t, err)
	}
	wantValue(t, s, "test/n", "3")
	must(t, s.Delete(t.Context(), "test/n"))
	count, err := s.Incr(t.Context(), "test/n", time.Minute)
	must(t, err)
	if count.Value != 1 {
		t.Errorf("a deleted counter goes on at %d", count.Value)
	}
	must(t, s.Set(t.Context(), "test/a", []byte("text"), time.Minute))
	if _, err := s.Incr(t.Context(), "test/a", time.Minute); err == nil || errors.Is(err, state.ErrUnavailable) {
		t.Errorf("counting a text: %v", err)
	}
}

func testList(t *testing.T, s state.Store) {
	wantKeys(t, s, "test")
	_, err := s.Incr(t.Context(), "test/counter", time.Minute)
	must(t, err)
	must(t, s.Set(t.Context(), "tes/t", []byte("1"), time.Minute))
	must(t, s.Set(t.Context(), "test2/a", []byte("1"), time.Minute))
	var want []string
	for i := range MaxEntries {
		key := fmt.Sprint("test/", i)
		must(t, s.Set(t.Context(), key, []byte(key), time.Minute))
		want = append(want, key)
	}
	must(t, s.Delete(t.Context(), want[0]))
	wantKeys(t, s, "test", want[1:]...)
	entries, err := s.List(t.Context(), "test")
	must(t, err)
	for _, e := range entries {
		if e.Key != string(e.Value) {
			t.Errorf("%s has the value %q", e.Key, e.Value)
		}
	}
}

func testBound(t *testing.T, s state.Store) {
	must(t, s.Set(t.Context(), "other/a", []byte("1"), time.Minute))
	for i := range MaxEntries + 20 {
		key := fmt.Sprint("test/", i)
		// The newest end first: that alone must not throw them out.
		must(t, s.Set(t.Context(), key, []byte("1"), time.Hour-time.Duration(i)*time.Second))
		wantValue(t, s, key, "1")
	}
	entries, err := s.List(t.Context(), "test")
	must(t, err)
	if len(entries) != MaxEntries {
		t.Errorf("the group holds %d entries", len(entries))
	}
	wantValue(t, s, "other/a", "1")
}

func testWatch(t *testing.T, s state.Store) {
	notices := watch(t, s, "test")
	wantChange(t, notices, "the beginning")
	wantQuiet(t, notices)

	must(t, s.Set(t.Context(), "test/a", []byte("1"), time.Minute))
	wantChange(t, notices, "a new entry")
	must(t, s.Set(t.Context(), "test/a", []byte("2"), time.Minute))
	wantChange(t, notices, "another value")
	must(t, s.Delete(t.Context(), "test/a"))
	wantChange(t, notices, "a deletion")

	wantQuiet(t, notices)
	must(t, s.Set(t.Context(), "test2/a", []byte("1"), time.Minute))
	_, err := s.Incr(t.Context(), "test/n", time.Minute)
	must(t, err)
	wantQuiet(t, notices)
	wantQuiet(t, notices)
}

func testWatchContext(t *testing.T, s state.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	var ended atomic.Bool
	go func() {
		done <- s.Watch(ctx, "test", func(state.Notice) {
			if ended.Load() {
				t.Error("notified after the end")
			}
			cancel()
		})
		ended.Store(true)
	}()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch ended with %v", err)
	}
}

func testClose(t *testing.T, s state.Store) {
	begun, done := make(chan struct{}), make(chan error, 1)
	begin := sync.OnceFunc(func() { close(begun) })
	go func() {
		done <- s.Watch(t.Context(), "test", func(state.Notice) { begin() })
	}()
	<-begun
	must(t, s.Close())
	must(t, s.Close())
	if err := <-done; !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("Watch ended with %v", err)
	}
	_, get := s.Get(t.Context(), "test/a")
	_, incr := s.Incr(t.Context(), "test/a", time.Minute)
	_, list := s.List(t.Context(), "test")
	for what, err := range map[string]error{
		"Get": get, "Incr": incr, "List": list,
		"Set":    s.Set(t.Context(), "test/a", nil, time.Minute),
		"Delete": s.Delete(t.Context(), "test/a"),
		"Watch":  s.Watch(t.Context(), "test", func(state.Notice) {}),
	} {
		if !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("%s of a closed store: %v", what, err)
		}
	}
}

func testBadInput(t *testing.T, s state.Store) {
	for _, key := range []string{"", "a", "/a", "a/", "A/b", "@index/a", "a b/c", "a/" + strings.Repeat("x", state.MaxName+1)} {
		_, err := s.Get(t.Context(), key)
		wantRefused(t, err, "Get", key)
		wantRefused(t, s.Set(t.Context(), key, nil, time.Minute), "Set", key)
		wantRefused(t, s.Delete(t.Context(), key), "Delete", key)
		_, err = s.Incr(t.Context(), key, time.Minute)
		wantRefused(t, err, "Incr", key)
	}
	for _, ttl := range []time.Duration{0, -1, state.MaxTTL + 1} {
		wantRefused(t, s.Set(t.Context(), "test/a", nil, ttl), "Set", ttl)
		_, err := s.Incr(t.Context(), "test/a", ttl)
		wantRefused(t, err, "Incr", ttl)
	}
	wantRefused(t, s.Set(t.Context(), "test/a", bytes.Repeat([]byte("x"), state.MaxValue+1), time.Minute), "Set", "too much")
	_, err := s.List(t.Context(), "test/")
	wantRefused(t, err, "List", "test/")
	wantRefused(t, s.Watch(t.Context(), "", func(state.Notice) {}), "Watch", "")
}

func testCancelled(t *testing.T, s state.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Get(ctx, "test/a")
	if !errors.Is(err, context.Canceled) || errors.Is(err, state.ErrUnavailable) {
		t.Errorf("Get: %v", err)
	}
	if err := s.Set(ctx, "test/a", nil, time.Minute); !errors.Is(err, context.Canceled) || errors.Is(err, state.ErrUnavailable) {
		t.Errorf("Set: %v", err)
	}
}

// watch watches a group until the test ends.
func watch(t *testing.T, s state.Store, group string) <-chan state.Notice {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	notices := make(chan state.Notice)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Watch(ctx, group, func(n state.Notice) {
			select {
			case notices <- n:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-done })

	return notices
}

// wantChange waits for a notice of a change, for at most the promised time.
func wantChange(t *testing.T, notices <-chan state.Notice, what string) {
	t.Helper()
	deadline := time.After(10 * state.WatchInterval)
	for {
		select {
		case n := <-notices:
			must(t, n.Err)
			if n.Changed {
				return
			}
		case <-deadline:
			t.Fatalf("not told: %s", what)
		}
	}
}

// wantQuiet waits for a notice that nothing has changed. One change may still
// be told late.
func wantQuiet(t *testing.T, notices <-chan state.Notice) {
	t.Helper()
	for range 3 {
		n := <-notices
		must(t, n.Err)
		if !n.Changed {
			return
		}
	}
	t.Fatal("changes are told that nobody made")
}

func wantValue(t *testing.T, s state.Store, key, want string) {
	t.Helper()
	got, err := s.Get(t.Context(), key)
	if err != nil || string(got) != want {
		t.Fatalf("Get(%q) = %.40q, %v; want %.40q", key, got, err, want)
	}
}

func wantNone(t *testing.T, s state.Store, key string) {
	t.Helper()
	if got, err := s.Get(t.Context(), key); !errors.Is(err, state.ErrNotFound) {
		t.Fatalf("Get(%q) = %.40q, %v; want ErrNotFound", key, got, err)
	}
}

func wantKeys(t *testing.T, s state.Store, group string, want ...string) {
	t.Helper()
	entries, err := s.List(t.Context(), group)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Key)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("List(%q) = %q, want %q", group, got, want)
	}
}

func wantRefused(t *testing.T, err error, what string, input any) {
	t.Helper()
	if err == nil || errors.Is(err, state.ErrUnavailable) || errors.Is(err, state.ErrNotFound) {
		t.Errorf("%s(%.40q): %v", what, fmt.Sprint(input), err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
