package assertion

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// At every moment around two rotations, whichever replica signs and whichever
// publishes: a verifier that keeps its copy as long as it may knows the key
// while it signs, and one that asks anew still knows it when the assertion ends.
func TestRotationIsNeverNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := newFiles()
		replicas := []*Keys{New(Config{Storage: storage}), New(Config{Storage: storage})}
		copies := []map[string]jwk{published(t, replicas[0]), published(t, replicas[1])}
		copied := time.Now()
		used := map[string]bool{}
		type signed struct {
			assertion string
			ends      time.Time
		}
		var alive []signed

		step := func(i int) {
			t.Helper()
			if time.Since(copied) >= MaxAge {
				copies[0], copies[1], copied = published(t, replicas[0]), published(t, replicas[1]), time.Now()
			}
			// The second replica is rarely used: what it knows is old.
			signer := replicas[0]
			if i%23 == 0 {
				signer = replicas[1]
			}
			assertion := sign(t, signer)
			used[kidOf(t, assertion)] = true
			verify(t, assertion, copies[i%2])
			alive = append(alive, signed{assertion, time.Now().Add(TTL)})
			for len(alive) > 0 && !time.Now().Before(alive[0].ends) {
				verify(t, alive[0].assertion, published(t, replicas[i%2]))
				alive = alive[1:]
			}
		}
		for rotation := range 2 {
			time.Sleep(rotateAfter - 90*time.Minute)
			copied = time.Time{}
			alive = nil
			for i := range 2 * 60 * 6 {
				time.Sleep(10 * time.Second)
				step(i)
			}
			if len(used) != rotation+2 {
				t.Fatalf("%d keys were used, want %d", len(used), rotation+2)
			}
		}
		if held := storage.held(t); len(held) != 1 {
			t.Errorf("%d private keys are kept after the last rotation", len(held))
		}
	})
}

func TestNewKeyIsPublishedTenMinutesBeforeItsUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		var mu sync.Mutex
		keys := New(Config{Storage: newFiles(), OnRotate: func(kid string, from time.Time) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, kid+" "+from.Format(time.RFC3339))
		}})
		old := kidOf(t, sign(t, keys))
		time.Sleep(rotateAfter - time.Hour)
		begun := time.Now()
		var appeared, first, last time.Time
		for time.Since(begun) < 2*time.Hour {
			time.Sleep(time.Minute)
			if len(published(t, keys)) == 2 && appeared.IsZero() {
				appeared = time.Now()
			}
			if len(published(t, keys)) == 2 {
				last = time.Now()
			}
			if kidOf(t, sign(t, keys)) != old && first.IsZero() {
				first = time.Now()
			}
		}
		if ahead := first.Sub(appeared); ahead < publishAhead || ahead > makeAhead+time.Minute {
			t.Errorf("published %s before its use", ahead)
		}
		if kept := last.Sub(first); kept < TTL || kept > keepAfter+2*time.Minute {
			t.Errorf("the old key is kept for %s", kept)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(told) != 2 || strings.HasPrefix(told[0], told[1]) {
			t.Errorf("told of %q", told)
		}
	})
}

// A month without a request: the old key goes on until its successor has been
// published long enough.
func TestRotationAfterALongRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := New(Config{Storage: newFiles()})
		old := kidOf(t, sign(t, keys))
		time.Sleep(365 * 24 * time.Hour)
		known := published(t, keys)
		if len(known) != 2 || known[old].ID == "" {
			t.Fatalf("published %v", known)
		}
		begun := time.Now()
		for kidOf(t, sign(t, keys)) == old {
			time.Sleep(time.Second)
		}
		if took := time.Since(begun); took < makeAhead-time.Second || took > makeAhead+time.Second {
			t.Errorf("used after %s", took)
		}
	})
}

func TestReplicasBeginWithOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := newFiles()
		var group sync.WaitGroup
		kids := make(chan string, 20)
		for range cap(kids) {
			group.Go(func() {
				assertion, err := New(Config{Storage: storage}).Sign(t.Context(), alice())
				if err != nil {
					t.Error(err)
					return
				}
				kids <- kidOf(t, assertion)
			})
		}
		group.Wait()
		close(kids)
		first := <-kids
		for kid := range kids {
			if kid != first {
				t.Fatal("replicas sign with different keys")
			}
		}
		if _, stores := storage.counts(); stores != 1 {
			t.Errorf("the keys were stored %d times", stores)
		}
	})
}

func TestStorageIsVisitedAtMostOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := newFiles()
		keys := New(Config{Storage: storage})
		sign(t, keys)
		before, _ := storage.counts()
		for range 3600 {
			sign(t, keys)
			time.Sleep(time.Second)
		}
		if loads, _ := storage.counts(); loads-before > 60 {
			t.Errorf("loaded %d times in an hour", loads-before)
		}
	})
}

func TestStorageFails(t *testing.T) {
	broken := errors.New("no space left on device")
	t.Run("before the first key", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			storage := newFiles()
			storage.fail(nil, broken)
			keys := New(Config{Storage: storage})
			if _, err := keys.Sign(t.Context(), alice()); !errors.Is(err, broken) {
				t.Errorf("Sign: %v", err)
			}
			if _, err := keys.JWKS(t.Context()); err == nil {
				t.Error("a key set is published that does not exist")
			}
			storage.fail(nil, nil)
			time.Sleep(firstRetryAfter)
			sign(t, keys)
		})
	})
	t.Run("with keys", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			storage := newFiles()
			problems := make(chan error, 10)
			keys := New(Config{Storage: storage, OnProblem: func(err error) { problems <- err }})
			old := kidOf(t, sign(t, keys))
			for _, fault := range []struct{ load, store error }{{broken, nil}, {nil, broken}} {
				storage.fail(fault.load, fault.store)
				time.Sleep(rotateAfter)
				for range 100 {
					if kidOf(t, sign(t, keys)) != old {
						t.Fatal("signed with another key")
					}
					time.Sleep(time.Minute)
				}
				synctest.Wait()
				if len(problems) != 1 || !errors.Is(<-problems, broken) {
					t.Error("a failure must be told once")
				}
				storage.fail(nil, nil)
				time.Sleep(time.Minute)
				if fault.load != nil {
					// It rotates now, which the next fault must not meet.
					old = settle(t, keys)
				}
			}
			if settle(t, keys) == old {
				t.Error("no rotation after the storage works again")
			}
		})
	})
	t.Run("damaged", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, content := range []string{"", "{", `{"keys":[{}]}`, `{"keys":[{"private":"AAAA","use_from":"2026-01-01T00:00:00Z"}]}`} {
				storage := newFiles()
				storage.content = []byte(content)
				keys := New(Config{Storage: storage})
				if _, err := keys.Sign(t.Context(), alice()); err == nil || !strings.Contains(err.Error(), "remove it") {
					t.Errorf("%q: %v", content, err)
				}
				if string(storage.content) != content {
					t.Errorf("%q was overwritten", content)
				}
			}
		})
	})
	t.Run("hanging", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			storage := newFiles()
			storage.lock <- struct{}{}
			begun := time.Now()
			if _, err := New(Config{Storage: storage}).Sign(t.Context(), alice()); err == nil {
				t.Error("signed without the lock")
			}
			if waited := time.Since(begun); waited > storageTimeout {
				t.Errorf("waited for %s", waited)
			}
		})
	})
}

// settle waits until a rotation that is due is over, and returns the key in use.
func settle(t *testing.T, keys *Keys) string {
	t.Helper()
	for range 60 {
		sign(t, keys)
		time.Sleep(time.Minute)
	}
	return kidOf(t, sign(t, keys))
}

// A clock that was wrong while the first key was made must not leave nobody
// able to sign.
func TestKeyFromTheFutureSigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := newFiles()
		future, err := newKey(time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if storage.content, err = (keySet{future}).store(); err != nil {
			t.Fatal(err)
		}
		keys := New(Config{Storage: storage})
		assertion := sign(t, keys)
		verify(t, assertion, published(t, keys))
	})
}

func FuzzParseKeySet(f *testing.F) {
	k, err := newKey(time.Now())
	if err != nil {
		f.Fatal(err)
	}
	raw, err := keySet{k}.store()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"keys":[{"private":"MA==","use_from":"2026-01-01T00:00:00Z"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := parseKeySet(raw)
		if err != nil {
			return
		}
		if again, err := s.store(); err != nil {
			t.Fatal(err)
		} else if s, err = parseKeySet(again); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if _, _, err := s.maintain(time.Now()); err != nil {
			t.Fatal(err)
		}
	})
}
