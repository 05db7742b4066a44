package caddymodule

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
)

// Where the key is kept in Caddy's storage, for all endpoints and replicas.
const (
	sealStorageKey  = "mcp_app/seal_keys.json"
	sealStorageLock = "mcp_app_seal_keys"
)

// sealKeys holds the sealer of an endpoint. Configured keys are there from the
// start; one of Caddy's storage is read, or made, at first use, since loading a
// configuration must not depend on the storage.
type sealKeys struct {
	storage certmagic.Storage
	probing atomic.Bool // see probe

	mu     sync.Mutex
	sealer *mcp.Sealer
}

// storedKeys is the content of the storage.
type storedKeys struct {
	Keys []storedKey `json:"keys"` // the current one first
}

type storedKey struct {
	Key     []byte    `json:"key"`
	Created time.Time `json:"created"`
}

func newSealKeys(ctx caddy.Context, configured []string) (*sealKeys, error) {
	if len(configured) == 0 {
		return &sealKeys{storage: ctx.Storage()}, nil
	}
	var keys [][]byte
	for i, text := range configured {
		text, err := caddy.NewReplacer().ReplaceOrErr(text, true, true)
		if err != nil {
			return nil, err
		}
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(key) != mcp.SealKeySize {
			// The text may be a secret with a typing error: never quoted.
			return nil, fmt.Errorf("key %d is not the base64 of %d bytes; make one with: openssl rand -base64 %d", i+1, mcp.SealKeySize, mcp.SealKeySize)
		}
		keys = append(keys, key)
	}
	sealer, err := mcp.NewSealer(keys...)
	return &sealKeys{sealer: sealer}, err
}

// get returns the sealer. An error is one of the storage; the next call tries
// again.
func (s *sealKeys) get(ctx context.Context) (*mcp.Sealer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealer != nil {
		return s.sealer, nil
	}
	// Bounded, and independent of the one client that happens to come first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	stored, err := s.load(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		stored, err = s.create(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("sealing key in storage: %w", err)
	}
	keys := make([][]byte, len(stored.Keys))
	for i, key := range stored.Keys {
		keys[i] = key.Key
	}
	s.sealer, err = mcp.NewSealer(keys...)
	return s.sealer, err
}

func (s *sealKeys) load(ctx context.Context) (storedKeys, error) {
	var stored storedKeys
	raw, err := s.storage.Load(ctx, sealStorageKey)
	if err != nil {
		return stored, err
	}
	return stored, json.Unmarshal(raw, &stored)
}

// create makes the key, unless another replica was faster.
func (s *sealKeys) create(ctx context.Context) (stored storedKeys, err error) {
	if err := s.storage.Lock(ctx, sealStorageLock); err != nil {
		return stored, err
	}
	defer func() { err = errors.Join(err, s.storage.Unlock(context.WithoutCancel(ctx), sealStorageLock)) }()
	if stored, err = s.load(ctx); !errors.Is(err, fs.ErrNotExist) {
		return stored, err
	}
	key := make([]byte, mcp.SealKeySize)
	if _, err := rand.Read(key); err != nil {
		return stored, err
	}
	stored.Keys = []storedKey{{Key: key, Created: time.Now().UTC()}}
	raw, err := json.Marshal(stored)
	if err != nil {
		return stored, err
	}
	return stored, s.storage.Store(ctx, sealStorageKey, raw)
}
