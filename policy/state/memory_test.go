package state_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

func TestMemoryIsAStore(t *testing.T) {
	statetest.Run(t, func(*testing.T) state.Store { return state.NewMemory(statetest.MaxEntries) })
}

func TestMemoryEndsEntriesOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := state.NewMemory(0)
		set(t, m, "test/a", "1", time.Minute)
		time.Sleep(time.Minute - 1)
		if _, err := m.Get(t.Context(), "test/a"); err != nil {
			t.Errorf("a nanosecond before its end: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if _, err := m.Get(t.Context(), "test/a"); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("at its end: %v", err)
		}

		for want := int64(1); want <= 3; want++ {
			count, err := m.Incr(t.Context(), "test/n", 10*time.Second)
			if err != nil || count.Value != want || count.Remaining != 10*time.Second-time.Duration(want-1)*3*time.Second || !count.Now.Equal(time.Now()) {
				t.Errorf("count %d: %+v, %v", want, count, err)
			}
			time.Sleep(3 * time.Second)
		}
		time.Sleep(time.Second)
		if count, err := m.Incr(t.Context(), "test/n", 10*time.Second); err != nil || count.Value != 1 {
			t.Errorf("after the window: %+v, %v", count, err)
		}
	})
}

// What is used stays, whatever comes in: a store under a flood must keep what
// its callers rely on.
func TestMemoryForgetsWhatWasNotUsed(t *testing.T) {
	const size = 100
	m := state.NewMemory(size)
	set(t, m, "test/used", "1", time.Hour)
	set(t, m, "test/unused", "1", time.Hour)
	for i := range 10 * size {
		if _, err := m.Incr(t.Context(), fmt.Sprint("test/", i), time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Get(t.Context(), "test/used"); err != nil {
			t.Fatalf("after %d others: %v", i, err)
		}
	}
	if _, err := m.Get(t.Context(), "test/unused"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("the unused entry: %v", err)
	}
}

// Entries that have ended give their place away before live ones do.
func TestMemoryForgetsTheEndedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 10
		m := state.NewMemory(size)
		set(t, m, "test/long", "1", time.Hour)
		for i := range size - 1 {
			set(t, m, fmt.Sprint("test/", i), "1", time.Minute)
		}
		time.Sleep(time.Minute)
		for i := range size - 1 {
			set(t, m, fmt.Sprint("test/new", i), "1", time.Minute)
		}
		entries, err := m.List(t.Context(), "test")
		if err != nil || len(entries) != size {
			t.Errorf("%d entries, %v", len(entries), err)
		}
		if _, err := m.Get(t.Context(), "test/long"); err != nil {
			t.Errorf("the long-lived entry: %v", err)
		}
	})
}

func TestMemoryBoundsBytes(t *testing.T) {
	m := state.NewMemory(0)
	value := strings.Repeat("x", state.MaxValue)
	const n = 400 // 100 MiB
	for i := range n {
		set(t, m, fmt.Sprint("test/", i), value, time.Hour)
	}
	entries, err := m.List(t.Context(), "test")
	if err != nil || len(entries) != 64<<20/state.MaxValue {
		t.Errorf("%d values of %d bytes are kept, %v", len(entries), state.MaxValue, err)
	}
	if _, err := m.Get(t.Context(), fmt.Sprint("test/", n-1)); err != nil {
		t.Errorf("the last one: %v", err)
	}
}

func TestMemoryHasNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	m := state.NewMemory(0)
	for i := range 1000 {
		set(t, m, fmt.Sprint("test/", i), "1", time.Hour)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after 1000 entries", before, after)
	}
}

func set(t *testing.T, s state.Store, key, value string, ttl time.Duration) {
	t.Helper()
	if err := s.Set(t.Context(), key, []byte(value), ttl); err != nil {
		t.Fatal(err)
	}
}
