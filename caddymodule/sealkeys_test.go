package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// awayStore is a shared state that can be away.
type awayStore struct {
	state.Store
	away atomic.Bool
}

var errAway = fmt.Errorf("%w: away", state.ErrUnavailable)

func (s *awayStore) Get(ctx context.Context, key string) ([]byte, error) {
	if s.away.Load() {
		return nil, errAway
	}
	return s.Store.Get(ctx, key)
}

func (s *awayStore) Keep(ctx context.Context, key string, value []byte, ttl time.Duration) ([]byte, error) {
	if s.away.Load() {
		return nil, errAway
	}
	return s.Store.Keep(ctx, key, value, ttl)
}

// sharing makes the keys of a replica with a storage of its own.
func sharing(t *testing.T, store state.Store, storage certmagic.Storage) *sealKeys {
	t.Helper()
	if storage == nil {
		storage = &certmagic.FileStorage{Path: t.TempDir()}
	}
	return &sealKeys{source: sharedKeys{store, storageKeys{storage}}, sealCache: new(sealCache)}
}

func (s *sealKeys) mustGet(t *testing.T) *mcp.Sealer {
	t.Helper()
	sealer, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sealer
}

func mustUnseal(t *testing.T, sealer *mcp.Sealer, sealed string) {
	t.Helper()
	if text, err := sealer.Unseal(mcp.PurposeSession, mcp.Holder{1}, sealed); err != nil || text != "session" {
		t.Errorf("unsealed %q: %v", text, err)
	}
}

func sealWith(sealer *mcp.Sealer) string {
	return sealer.Seal(mcp.PurposeSession, mcp.Holder{1}, "session")
}

func TestReplicasAgreeOnTheSealingKey(t *testing.T) {
	store := state.NewMemory(0)
	sealed := make([]string, 8)
	replicas := make([]*sealKeys, len(sealed))
	var all sync.WaitGroup
	for i := range sealed {
		replicas[i] = sharing(t, store, nil)
		all.Go(func() {
			sealer, err := replicas[i].get(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			sealed[i] = sealWith(sealer)
		})
	}
	all.Wait()
	for _, replica := range replicas {
		for _, text := range sealed {
			mustUnseal(t, replica.mustGet(t), text)
		}
	}
}

// TestSessionsOutliveTheMoveToSharedState, of the first replica that moves and of
// those that come later with keys of their own, and are then open to all.
func TestSessionsOutliveTheMoveToSharedState(t *testing.T) {
	store := state.NewMemory(0)
	var sealed []string
	for range 3 {
		storage := &certmagic.FileStorage{Path: t.TempDir()}
		alone := &sealKeys{source: storageKeys{storage}, sealCache: new(sealCache)}
		sealed = append(sealed, sealWith(alone.mustGet(t)))
		replica := sharing(t, store, storage)
		sealed = append(sealed, sealWith(replica.mustGet(t)))
		for _, text := range sealed {
			mustUnseal(t, replica.mustGet(t), text)
			mustUnseal(t, sharing(t, store, nil).mustGet(t), text)
		}
	}
}

func TestTheSealingKeyOutlivesTheState(t *testing.T) {
	store := &awayStore{Store: state.NewMemory(0)}
	store.away.Store(true)
	replica := sharing(t, store, nil)
	if _, err := replica.get(t.Context()); !errors.Is(err, state.ErrUnavailable) {
		t.Fatalf("without the state: %v", err)
	}
	if err := replica.probe(t.Context()); !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("ready without the state: %v", err)
	}
	store.away.Store(false)
	before := sealWith(replica.mustGet(t))
	store.away.Store(true)
	mustUnseal(t, replica.mustGet(t), before)
	if err := replica.probe(t.Context()); err != nil {
		t.Errorf("not ready although it has the key: %v", err)
	}
}

// TestAStateThatForgetsGetsTheKeyBack within a minute of use; and where somebody
// else has made another meanwhile, both go on.
func TestAStateThatForgetsGetsTheKeyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		replica := sharing(t, store, nil)
		before := sealWith(replica.mustGet(t))
		forget := func() {
			if err := store.Delete(t.Context(), stateSealKey); err != nil {
				t.Fatal(err)
			}
		}
		use := func() {
			time.Sleep(renewInterval)
			replica.mustGet(t)
			synctest.Wait()
		}
		forget()
		use()
		mustUnseal(t, sharing(t, store, nil).mustGet(t), before)

		forget()
		other := sharing(t, store, nil)
		others := sealWith(other.mustGet(t))
		use()
		mustUnseal(t, replica.mustGet(t), before)
		mustUnseal(t, replica.mustGet(t), others)
		mustUnseal(t, other.mustGet(t), sealWith(replica.mustGet(t)))
		mustUnseal(t, sharing(t, store, nil).mustGet(t), before) // one that comes later
		time.Sleep(renewInterval)
		other.mustGet(t)
		synctest.Wait()
		mustUnseal(t, other.mustGet(t), before)

		// Without use, for longer than an entry lives, and then with it.
		time.Sleep(state.MaxTTL - renewInterval)
		use()
		time.Sleep(2 * renewInterval)
		mustUnseal(t, sharing(t, store, nil).mustGet(t), sealWith(replica.mustGet(t)))
	})
}

func TestWhatTheStateKeepsIsRead(t *testing.T) {
	for _, kept := range []string{"", "null", "{}", `{"keys":[]}`, `{"keys":[{"key":"c2hvcnQ="}]}`, `{"keys":[{"key":"secret that is no base64"}]}`, "nonsense"} {
		store := state.NewMemory(0)
		if err := store.Set(t.Context(), stateSealKey, []byte(kept), time.Minute); err != nil {
			t.Fatal(err)
		}
		if _, err := sharing(t, store, nil).get(t.Context()); err == nil {
			t.Errorf("%q is taken for a key", kept)
		} else if errors.Is(err, errNoKeys) || strings.Contains(err.Error(), "c2hvcnQ=") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", kept, err)
		}
	}
}
