package caddymodule

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// errNoKeys says that no key was made yet.
var errNoKeys = fs.ErrNotExist

// Where keys are kept in Caddy's storage, for all endpoints of all who share it.
const (
	sealStorageKey  = "mcp_app/seal_keys.json"
	sealStorageLock = "mcp_app_seal_keys"
)

// storageKeys are keys in Caddy's storage.
type storageKeys struct{ certmagic.Storage }

func (s storageKeys) load(ctx context.Context) (storedKeys, error) {
	raw, err := s.Load(ctx, sealStorageKey)
	if err != nil {
		return storedKeys{}, err
	}
	return readKeys(raw)
}

// create makes the key, unless another replica was faster.
func (s storageKeys) create(ctx context.Context) (stored storedKeys, err error) {
	if err := s.Lock(ctx, sealStorageLock); err != nil {
		return stored, err
	}
	defer func() { err = errors.Join(err, s.Unlock(context.WithoutCancel(ctx), sealStorageLock)) }()
	if stored, err = s.load(ctx); !errors.Is(err, errNoKeys) {
		return stored, err
	}
	if stored, err = makeKeys(); err != nil {
		return stored, err
	}
	raw, err := json.Marshal(stored)
	if err != nil {
		return stored, err
	}
	return stored, s.Store(ctx, sealStorageKey, raw)
}

// stateSealKey is the entry of the shared state.
const stateSealKey = "seal/keys"

// sharedKeys are keys in the state that replicas share.
type sharedKeys struct {
	store   state.Store
	storage storageKeys // of a time before there was shared state
}

func (s sharedKeys) load(ctx context.Context) (storedKeys, error) {
	raw, err := s.store.Get(ctx, stateSealKey)
	if errors.Is(err, state.ErrNotFound) {
		return storedKeys{}, errNoKeys
	}
	if err != nil {
		return storedKeys{}, err
	}
	keys, err := readKeys(raw)
	return s.withOwn(ctx, keys), err
}

// withOwn adds the keys of Caddy's storage: what they sealed, before there was
// shared state, still opens here. The storage is no longer needed, so that its
// faults count for nothing.
func (s sharedKeys) withOwn(ctx context.Context, keys storedKeys) storedKeys {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	own, err := s.storage.load(ctx)
	if err != nil {
		return keys
	}
	return keys.with(own)
}

// create shares the key of Caddy's storage, if there is one, so that sessions
// outlive the move to shared state. While it cannot be read nothing is made, since
// that would end them.
func (s sharedKeys) create(ctx context.Context) (storedKeys, error) {
	keys, err := s.storage.load(ctx)
	if errors.Is(err, errNoKeys) {
		keys, err = makeKeys()
	}
	if err != nil {
		return storedKeys{}, err
	}
	kept, err := s.keep(ctx, keys)
	if err != nil {
		return storedKeys{}, err
	}
	return s.withOwn(ctx, kept), nil
}

// keep keeps the entry alive, and puts it back where the state was emptied.
func (s sharedKeys) keep(ctx context.Context, current storedKeys) (storedKeys, error) {
	raw, err := json.Marshal(current)
	if err != nil {
		return storedKeys{}, err
	}
	if raw, err = s.store.Keep(ctx, stateSealKey, raw, state.MaxTTL); err != nil {
		return storedKeys{}, err
	}
	return readKeys(raw)
}

// renew implements renewer. Of two replicas that add keys at the same moment one
// may undo the other, which adds them again the next time.
func (s sharedKeys) renew(ctx context.Context, current storedKeys) (storedKeys, error) {
	kept, err := s.keep(ctx, current)
	if err != nil {
		return storedKeys{}, err
	}
	all := kept.with(current)
	if len(all.Keys) == len(kept.Keys) {
		return all, nil
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return storedKeys{}, err
	}
	return all, s.store.Set(ctx, stateSealKey, raw, state.MaxTTL)
}

// sealPool holds what was read of a shared state, so that a reload while it is
// away does not lose the key.
var sealPool = caddy.NewUsagePool()

// Destruct implements caddy.Destructor.
func (*sealCache) Destruct() error { return nil }

// provisionSealKeys finds where the keys of this endpoint are.
func (m *Handler) provisionSealKeys(ctx caddy.Context) (err error) {
	storage := storageKeys{ctx.Storage()}
	if !m.state.shared {
		m.seal, err = newSealKeys(m.SealKeys, storage, new(sealCache))
		return err
	}
	store := m.state.store
	cache, _, err := sealPool.LoadOrNew(store, func() (caddy.Destructor, error) { return new(sealCache), nil })
	if err != nil {
		return err
	}
	m.release = append(m.release, func() { _, _ = sealPool.Delete(store) })
	m.seal, err = newSealKeys(m.SealKeys, sharedKeys{store, storage}, cache.(*sealCache))
	return err
}

// local reports whether only this machine has the keys.
func (s *sealKeys) local() bool {
	keys, inStorage := s.source.(storageKeys)
	_, inFolder := keys.Storage.(*certmagic.FileStorage)
	return inStorage && inFolder
}
