package assertion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

// Where the key set is kept, for all endpoints and replicas.
const (
	StorageKey  = "mcp_app/assertion_keys.json"
	StorageLock = "mcp_app_assertion_keys"
)

// MaxAge is how long verifiers may keep a copy of the key set.
const MaxAge = publishAhead / 2

// How up to date a replica is with the storage: what it publishes, and what
// verifiers keep of that for MaxAge, must hold a key that another replica has
// made before that one is used.
const (
	refreshAfter   = time.Minute
	mustRefresh    = publishAhead / 4
	storageTimeout = 10 * time.Second
	// retryAfter is the time between two visits to a storage that fails, and
	// firstRetryAfter that while there are no keys and requests fail with it.
	retryAfter      = 10 * time.Second
	firstRetryAfter = time.Second
)

// Storage keeps the key set. It is a part of certmagic.Storage: Load of a
// missing key gives an error that wraps fs.ErrNotExist.
type Storage interface {
	Load(ctx context.Context, key string) ([]byte, error)
	Store(ctx context.Context, key string, value []byte) error
	Lock(ctx context.Context, name string) error
	Unlock(ctx context.Context, name string) error
}

// Config says where a key set is kept.
type Config struct {
	Storage Storage
	// OnProblem, if set, is told that the storage fails while the keys read
	// before are still good: from then on there is no rotation. It must not
	// block.
	OnProblem func(error)
	// OnRotate, if set, is told the id of each new key and when its use begins.
	OnRotate func(kid string, useFrom time.Time)
}

// Keys is a key set. It is safe for concurrent use and has nothing to close.
// Printed or encoded it shows nothing of itself.
type Keys struct {
	storage   Storage
	onProblem func(error)
	onRotate  func(string, time.Time)
	current   atomic.Pointer[snapshot] // nil before the storage was read

	mu      sync.Mutex
	flight  *flight   // a visit to the storage, if one is under way
	again   time.Time // when to visit a storage again that failed
	failing bool      // and has been told about
}

// snapshot is the key set as read from the storage.
type snapshot struct {
	keySet
	document []byte
	readAt   time.Time // with the monotonic clock
}

type flight struct {
	done chan struct{}
	err  error
}

// New returns a key set that reads the storage at first use.
func New(config Config) *Keys {
	return &Keys{storage: config.Storage, onProblem: config.OnProblem, onRotate: config.OnRotate}
}

// JWKS returns the public keys as a JWK Set (RFC 7517 §5), to be served with a
// max-age of at most MaxAge. Errors are those of Sign.
func (k *Keys) JWKS(ctx context.Context) ([]byte, error) {
	s, err := k.usable(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the assertion keys: %w", err)
	}

	return s.document, nil
}

// Format keeps private keys out of logs, whatever the verb.
func (*Keys) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "assertion keys") }

// usable returns the keys. It waits for the storage only where what was read
// before is missing or too old, and does without if the storage fails.
func (k *Keys) usable(ctx context.Context) (*snapshot, error) {
	s := k.current.Load()
	if s != nil {
		age := time.Since(s.readAt)
		if age < refreshAfter {
			return s, nil
		}
		if age < mustRefresh {
			k.visit()
			return s, nil
		}
	}
	f := k.visit()
	if f == nil {
		if s == nil {
			return nil, errors.New("the storage failed a moment ago")
		}
		return s, nil
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		if s == nil {
			return nil, ctx.Err()
		}
		return s, nil
	}
	if s = k.current.Load(); s == nil {
		return nil, f.err
	}

	return s, nil
}

// visit brings the keys up to date in the background and returns the visit
// that is under way, or nil while the storage is left alone after a failure.
func (k *Keys) visit() *flight {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.flight != nil {
		return k.flight
	}
	if time.Now().Before(k.again) {
		return nil
	}
	f := &flight{done: make(chan struct{})}
	k.flight = f
	go func() {
		defer close(f.done)
		// Not bound to the one client that happens to come first.
		ctx, cancel := context.WithTimeout(context.Background(), storageTimeout)
		defer cancel()
		f.err = k.update(ctx)
		k.land(f.err)
	}()

	return f
}

// land ends a visit and says when the next may be. A failure is told once, and
// to callers instead if they have nothing else.
func (k *Keys) land(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.flight = nil
	switch {
	case err == nil:
		k.again, k.failing = time.Time{}, false
		return
	case k.current.Load() == nil:
		k.again = time.Now().Add(firstRetryAfter)
		return
	}
	k.again = time.Now().Add(retryAfter)
	if !k.failing && k.onProblem != nil {
		k.onProblem(err)
	}
	k.failing = true
}

// update reads the keys, and makes and drops what is due.
func (k *Keys) update(ctx context.Context) error {
	begun := time.Now()
	s, err := k.load(ctx)
	if err != nil {
		return err
	}
	if len(s) > 0 {
		// Usable, whatever becomes of the rest.
		if err := k.use(s, begun); err != nil {
			return err
		}
	}
	if _, due, err := s.maintain(begun); err != nil || !due {
		return err
	}

	return k.rotate(ctx)
}

// rotate writes what is due, unless another replica was faster.
func (k *Keys) rotate(ctx context.Context) (err error) {
	if err := k.storage.Lock(ctx, StorageLock); err != nil {
		return fmt.Errorf("locking %s: %w", StorageLock, err)
	}
	defer func() { err = errors.Join(err, k.storage.Unlock(context.WithoutCancel(ctx), StorageLock)) }()
	begun := time.Now()
	s, err := k.load(ctx)
	if err != nil {
		return err
	}
	next, due, err := s.maintain(begun)
	if err != nil {
		return err
	}
	if due {
		raw, err := next.store()
		if err != nil {
			return err
		}
		if err := k.storage.Store(ctx, StorageKey, raw); err != nil {
			return fmt.Errorf("storing %s: %w", StorageKey, err)
		}
		if made := next[len(next)-1]; k.onRotate != nil && (len(s) == 0 || s[len(s)-1].id != made.id) {
			k.onRotate(made.id, made.useFrom)
		}
	}

	return k.use(next, begun)
}

// load returns the keys in the storage, none if it has never held any.
func (k *Keys) load(ctx context.Context) (keySet, error) {
	raw, err := k.storage.Load(ctx, StorageKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", StorageKey, err)
	}
	s, err := parseKeySet(raw)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w; remove it to begin with new keys", StorageKey, err)
	}

	return s, nil
}

func (k *Keys) use(s keySet, readAt time.Time) error {
	document, err := s.document()
	if err != nil {
		return err
	}
	k.current.Store(&snapshot{keySet: s, document: document, readAt: readAt})

	return nil
}
