package caddymodule

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
)

// sealKeys holds the sealer of an endpoint. Configured keys are there from the
// start; others are read, or made, at first use, since loading a configuration
// must not depend on a storage or a network.
type sealKeys struct {
	source  keySource   // nil for configured keys
	probing atomic.Bool // see probe
	*sealCache
}

// keySource is where keys are kept that nobody has configured.
type keySource interface {
	// load reads them. The error is fs.ErrNotExist if there are none yet.
	load(ctx context.Context) (storedKeys, error)
	// create makes one, unless somebody else was faster, and returns what all
	// who share the source have from now on.
	create(ctx context.Context) (storedKeys, error)
}

// renewer is a keySource that has to be told now and then which keys are in use.
type renewer interface {
	// renew adds them to those of all others, and returns what all have now.
	renew(ctx context.Context, current storedKeys) (storedKeys, error)
}

// sealCache is what was read, for as long as somebody uses it.
type sealCache struct {
	sealer atomic.Pointer[mcp.Sealer]

	mu       sync.Mutex // of the rest, and of those who make the sealer
	try      *sealTry   // under way; nil if nobody looks
	stored   storedKeys // what it is made of
	renewed  atomic.Pointer[time.Time]
	renewing atomic.Bool
}

// storedKeys is how keys are kept.
type storedKeys struct {
	Keys []storedKey `json:"keys"` // the current one first
}

type storedKey struct {
	Key     []byte    `json:"key"`
	Created time.Time `json:"created"`
}

// sealTimeout bounds one use of a source.
const sealTimeout = 10 * time.Second

// renewInterval is how often a key in use is renewed.
const renewInterval = time.Minute

func newSealKeys(configured []string, source keySource, cache *sealCache) (*sealKeys, error) {
	if len(configured) == 0 {
		return &sealKeys{source: source, sealCache: cache}, nil
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
	s := &sealKeys{sealCache: new(sealCache)}
	s.sealer.Store(sealer)
	return s, err
}

// get returns the sealer. An error is one of the source; the next call tries
// again. Those who come while somebody tries share the outcome: a source that hangs
// costs nobody more than one timeout.
func (s *sealKeys) get(ctx context.Context) (*mcp.Sealer, error) {
	if sealer := s.sealer.Load(); sealer != nil {
		s.keepUp(ctx)
		return sealer, nil
	}
	s.mu.Lock()
	if sealer := s.sealer.Load(); sealer != nil { // found meanwhile
		s.mu.Unlock()
		return sealer, nil
	}
	try := s.try
	if try == nil {
		try = &sealTry{done: make(chan struct{})}
		s.try = try
		// Independent of the one client that happens to come first.
		go s.find(context.WithoutCancel(ctx), try)
	}
	s.mu.Unlock()
	select {
	case <-try.done:
		return try.sealer, try.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// sealTry is one look for the keys.
type sealTry struct {
	done   chan struct{} // closed when the rest is set
	sealer *mcp.Sealer
	err    error
}

// find reads the keys, or makes them.
func (s *sealKeys) find(ctx context.Context, try *sealTry) {
	ctx, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	defer close(try.done)
	stored, err := s.source.load(ctx)
	if errors.Is(err, errNoKeys) {
		stored, err = s.source.create(ctx)
	}
	if source, ok := s.source.(renewer); ok && err == nil {
		stored, err = source.renew(ctx, stored)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.try = nil
	s.noteRenewal()
	if err == nil {
		err = s.use(stored)
	}
	if err != nil {
		try.err = fmt.Errorf("sealing key: %w", err)
		return
	}
	try.sealer = s.sealer.Load()
}

// noteRenewal goes by the clock that is never set.
func (s *sealKeys) noteRenewal() {
	now := time.Now()
	s.renewed.Store(&now)
}

// use makes the sealer. Callers hold the mutex.
func (s *sealKeys) use(stored storedKeys) error {
	keys := make([][]byte, len(stored.Keys))
	for i, key := range stored.Keys {
		keys[i] = key.Key
	}
	sealer, err := mcp.NewSealer(keys...)
	if err != nil {
		return err
	}
	s.stored = stored
	s.sealer.Store(sealer)
	return nil
}

// keepUp renews keys in the background, now and then. While the source is away
// the process goes on with what it has.
func (s *sealKeys) keepUp(ctx context.Context) {
	source, ok := s.source.(renewer)
	if !ok || time.Since(*s.renewed.Load()) < renewInterval || !s.renewing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.renewing.Store(false)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sealTimeout)
		defer cancel()
		s.renew(ctx, source)
	}()
}

// renew tells the source which keys are in use, and learns those of others: of
// replicas that had keys of their own, or that made new ones where the source had
// lost these. What any of them has sealed stays good at all of them.
func (s *sealKeys) renew(ctx context.Context, source renewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteRenewal()
	all, err := source.renew(ctx, s.stored)
	if err != nil {
		return // whoever needs more of the source says so
	}
	replaced := !all.Keys[0].equal(s.stored.Keys[0])
	if !replaced && len(all.Keys) == len(s.stored.Keys) {
		return
	}
	if err := s.use(all); err == nil && replaced {
		caddy.Log().Named("mcp_app.seal_keys").Warn("the shared state has another sealing key than this process had; from now on it is used, and what was sealed before still opens")
	}
}

// with adds keys that still open what they have sealed.
func (k storedKeys) with(older storedKeys) storedKeys {
	all := storedKeys{Keys: slices.Clone(k.Keys)}
	for _, key := range older.Keys {
		if !slices.ContainsFunc(all.Keys, key.equal) && len(all.Keys) < maxStoredKeys {
			all.Keys = append(all.Keys, key)
		}
	}
	return all
}

// maxStoredKeys bounds how many keys are tried.
const maxStoredKeys = 8

func (k storedKey) equal(other storedKey) bool { return string(k.Key) == string(other.Key) }

// makeKeys makes a first key.
func makeKeys() (storedKeys, error) {
	key := make([]byte, mcp.SealKeySize)
	_, err := rand.Read(key)
	return storedKeys{Keys: []storedKey{{Key: key, Created: time.Now().UTC()}}}, err
}

// readKeys reads what a source has kept. No error quotes it.
func readKeys(raw []byte) (stored storedKeys, err error) {
	if json.Unmarshal(raw, &stored) != nil || len(stored.Keys) == 0 {
		return storedKeys{}, errors.New("what is kept are no keys")
	}
	return stored, nil
}
