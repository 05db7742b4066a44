package token

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// maxWait bounds how long a request waits for a fetch. Clients of MCP
	// servers give up after 5 to 60 seconds.
	maxWait = 3 * time.Second
	// maxWaiters bounds the requests waiting for one fetch.
	maxWaiters = 512
	// maxMisses bounds the remembered unknown key ids of one key set.
	maxMisses = 1024
)

var (
	errUnknownKey = errors.New("no such key")
	errNotInSet   = errors.New("the key set, fetched since, does not hold it")
	errNotNow     = errors.New("the key set was fetched a moment ago")
	errClosed     = errors.New("the key holder is closed")
)

// find returns the keys for a token's kid and algorithm. It waits for the
// first keys, and for one shared refetch if the kid is unknown. The error is
// errUnknownKey with the reason, or of kind Unavailable: if there are no keys
// at all, and if the kid is unknown while the issuer cannot be asked about it.
// The latter may be a good token signed by a new key.
func (k *KeyHolder) find(ctx context.Context, kid string, alg Algorithm) ([]*publicKey, *snapshot, error) {
	if s := k.usable(); s != nil {
		if keys := s.set.find(kid, alg); len(keys) > 0 {
			return keys, s, nil
		}
	}

	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()

	s, err := k.await(ctx)
	if err != nil {
		return nil, nil, err
	}
	if keys := s.set.find(kid, alg); len(keys) > 0 {
		return keys, s, nil
	}
	// A set that holds no or several keys for a token without kid is as its
	// issuer wants it; asking again would not help.
	if kid == "" {
		return nil, nil, fmt.Errorf("%w: the token names none, and not exactly one key of the set fits %s", errUnknownKey, alg)
	}

	s, err = k.refetch(ctx, kid, func(s *snapshot) bool { return len(s.set.find(kid, alg)) > 0 })
	switch {
	case err == nil:
		return s.set.find(kid, alg), s, nil
	case errors.Is(err, errNotInSet), errors.Is(err, errNotNow):
		return nil, nil, fmt.Errorf("%w: %q for %s: %w", errUnknownKey, kid, alg, err)
	default:
		return nil, nil, k.unavailable(fmt.Sprintf("no key %q for %s: %v", kid, alg, err))
	}
}

// findAfter is for a token whose signature was bad under the keys of a
// generation: issuers do replace a key without changing its kid. It returns
// the keys of a newer generation, if there is one after at most one refetch.
func (k *KeyHolder) findAfter(ctx context.Context, generation uint64, kid string, alg Algorithm) ([]*publicKey, *snapshot) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()

	newer := func(s *snapshot) bool { return s.generation != generation }
	s := k.usable()
	if s == nil || !newer(s) {
		var err error
		if s, err = k.refetch(ctx, "", newer); err != nil {
			return nil, nil
		}
	}

	return s.set.find(kid, alg), s
}

// await returns the usable snapshot, starting the holder and waiting for the
// fetch under way if there is none.
func (k *KeyHolder) await(ctx context.Context) (*snapshot, error) {
	if s := k.usable(); s != nil {
		return s, nil
	}

	k.Start()
	k.mu.Lock()
	f := k.joinLocked()
	k.mu.Unlock()
	if f != nil {
		// Its error, if any, is in the stats.
		_ = k.wait(ctx, f)
	}
	if s := k.usable(); s != nil {
		return s, nil
	}

	return nil, k.unavailable("no keys")
}

// refetch shares one limited fetch and returns the first snapshot that
// satisfies good. If kid is given it is remembered when the fetch has shown
// that it does not exist.
func (k *KeyHolder) refetch(ctx context.Context, kid string, good func(*snapshot) bool) (*snapshot, error) {
	// A fetch that was already running when we came may just have missed the
	// change; then a second one is worth asking for.
	for range 2 {
		f, fresh, err := k.request(kid)
		if err != nil {
			return nil, err
		}
		if err := k.wait(ctx, f); err != nil {
			return nil, err
		}
		if s := k.usable(); s != nil && good(s) {
			return s, nil
		}
		if fresh {
			k.mu.Lock()
			k.misses.add(kid, k.now())
			k.mu.Unlock()

			break
		}
	}

	return nil, errNotInSet
}

// request returns the fetch to wait for, and whether it begins after the call.
func (k *KeyHolder) request(kid string) (f *flight, fresh bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()

	now := k.now()
	if k.misses.has(kid, now) {
		return nil, false, errNotInSet
	}
	if k.closed {
		return nil, false, errClosed
	}
	if k.flight == nil {
		if !k.limiter.allow(now) {
			if k.stats.State == Fresh {
				return nil, false, errNotNow
			}
			return nil, false, errors.New("the issuer could not be asked")
		}
		k.flight = newFlight(true)
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
	if f = k.joinLocked(); f == nil {
		return nil, false, errors.New("too many requests wait for the key set")
	}

	return f, f.started.IsZero(), nil
}

// joinLocked joins the fetch under way, unless there is none or it is full.
func (k *KeyHolder) joinLocked() *flight {
	f := k.flight
	if f == nil || f.waiters == maxWaiters {
		return nil
	}
	f.waiters++

	return f
}

func (k *KeyHolder) wait(ctx context.Context, f *flight) error {
	defer func() {
		k.mu.Lock()
		f.waiters--
		k.mu.Unlock()
	}()

	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the key set: %w", ctx.Err())
	}
}
