package flight

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func key(b byte) Key { return Key{b} }

// counted returns a loader that counts its calls and answers when release is
// closed.
func counted(calls *atomic.Int32, release <-chan struct{}) func(context.Context) (*int, error) {
	return func(ctx context.Context) (*int, error) {
		calls.Add(1)
		select {
		case <-release:
			return new(int), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func TestIdenticalQuestionsShareOneFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := New[*int](10, time.Minute, 5*time.Second)
		var calls atomic.Int32
		release := make(chan struct{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := cache.Get(t.Context(), key(1), counted(&calls, release)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		if _, err := cache.Get(t.Context(), key(1), counted(&calls, release)); err != nil || calls.Load() != 1 {
			t.Errorf("%d questions, %v; want 1", calls.Load(), err)
		}
		if _, err := cache.Get(t.Context(), key(2), counted(&calls, release)); err != nil || calls.Load() != 2 {
			t.Errorf("another key: %d questions, %v; want 2", calls.Load(), err)
		}
	})
}

func TestALeavingCallerDoesNotStopTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := New[*int](10, time.Minute, 5*time.Second)
		var calls atomic.Int32
		release := make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() {
			_, err := cache.Get(ctx, key(1), counted(&calls, release))
			first <- err
		}()
		second := make(chan error, 1)
		synctest.Wait()
		go func() {
			_, err := cache.Get(t.Context(), key(1), counted(&calls, release))
			second <- err
		}()
		synctest.Wait()
		leave()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("first caller: %v", err)
		}
		close(release)
		if err := <-second; err != nil {
			t.Errorf("second caller: %v", err)
		}
	})
}

func TestTheLastCallerToLeaveStopsTheFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := New[*int](10, time.Minute, time.Hour)
		var stopped atomic.Bool
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = cache.Get(ctx, key(1), func(ctx context.Context) (*int, error) {
				<-ctx.Done()
				stopped.Store(true)
				return nil, ctx.Err()
			})
		}()
		synctest.Wait()
		leave()
		<-done
		synctest.Wait()
		if !stopped.Load() {
			t.Error("the question goes on although nobody waits for it")
		}
	})
}

func TestCatalogsExpireAndAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := New[*int](2, time.Minute, 5*time.Second)
		var calls atomic.Int32
		open := make(chan struct{})
		close(open)
		get := func(k Key) {
			t.Helper()
			if _, err := cache.Get(t.Context(), k, counted(&calls, open)); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(want int32, why string) {
			t.Helper()
			if calls.Load() != want {
				t.Errorf("%s: %d questions, want %d", why, calls.Load(), want)
			}
		}
		get(key(1))
		time.Sleep(59 * time.Second) // the bubble's clock
		get(key(1))
		expect(1, "within the time")
		time.Sleep(2 * time.Second)
		get(key(1))
		expect(2, "after the time")
		cache.Drop()
		get(key(1))
		expect(3, "after a change")
		get(key(2))
		get(key(3))
		get(key(1))
		expect(6, "pushed out by two others")
	})
}

// A list that changes while it is read must not be kept.
func TestAFlightBegunBeforeADropIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := New[*int](2, time.Minute, 5*time.Second)
		var calls atomic.Int32
		release := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = cache.Get(t.Context(), key(1), counted(&calls, release))
		}()
		synctest.Wait()
		cache.Drop()
		close(release)
		<-done
		if _, err := cache.Get(t.Context(), key(1), counted(&calls, release)); err != nil || calls.Load() != 2 {
			t.Errorf("%d questions, %v; want 2", calls.Load(), err)
		}
	})
}

func TestFailuresAreNotKept(t *testing.T) {
	cache := New[*int](2, time.Minute, time.Second)
	failure := errors.New("down")
	for range 2 {
		if _, err := cache.Get(t.Context(), key(1), func(context.Context) (*int, error) { return nil, failure }); !errors.Is(err, failure) {
			t.Errorf("got %v", err)
		}
	}
	if c, err := cache.Get(t.Context(), key(1), func(context.Context) (*int, error) { return new(int), nil }); err != nil || c == nil {
		t.Errorf("after recovery: %v", err)
	}
}

func TestForgettingOneAnswerLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := New[*int](2, time.Minute, 5*time.Second)
		var calls atomic.Int32
		release := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = cache.Get(t.Context(), key(1), counted(&calls, release))
		}()
		synctest.Wait()
		cache.Forget(key(1)) // while it is asked for
		close(release)
		<-done
		get := func(k Key) {
			t.Helper()
			if _, err := cache.Get(t.Context(), k, counted(&calls, release)); err != nil {
				t.Fatal(err)
			}
		}
		get(key(1))
		get(key(2))
		if calls.Load() != 3 {
			t.Errorf("%d questions, want 3: the first answer must not be kept", calls.Load())
		}
		cache.Forget(key(1)) // once it is kept
		get(key(1))
		get(key(2))
		if calls.Load() != 4 {
			t.Errorf("%d questions, want 4: one of two answers was forgotten", calls.Load())
		}
	})
}

func TestKeysOfDifferentListsDiffer(t *testing.T) {
	seen := make(map[Key]bool)
	for _, lists := range [][][]string{
		{}, {{}}, {{}, {}}, {{"a", "b"}}, {{"ab"}}, {{"a"}, {"b"}}, {{"a:1"}, {"b"}}, {{"", "ab"}}, {{"ab", ""}},
	} {
		if k := KeyOf(lists...); seen[k] {
			t.Errorf("%q has the key of another", lists)
		} else {
			seen[k] = true
		}
	}
}
