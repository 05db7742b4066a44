package revocation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

const (
	// StorageKey is where UseStorage keeps the list.
	StorageKey = "mcp_app/revocations.json"
	// storageTimeout bounds one visit to the storage, and storageRetry is the
	// time between two while it fails and the list is in use.
	storageTimeout = 10 * time.Second
	storageRetry   = 10 * time.Second
)

// Storage keeps the list of a store that forgets with the process. It is a
// part of certmagic.Storage: Load of a missing key gives an error that wraps
// fs.ErrNotExist.
type Storage interface {
	Load(ctx context.Context, key string) ([]byte, error)
	Store(ctx context.Context, key string, value []byte) error
}

// attached is a storage as one call of UseStorage gave it.
type attached struct{ Storage }

// stored is the content of the storage.
type stored struct {
	Revocations []Entry `json:"revocations"`
}

// UseStorage also keeps the list in a storage, from where a new process gets it
// back. The storage belongs to one process: what another writes there
// meanwhile is lost. Another call replaces the storage.
func (l *List) UseStorage(s Storage) { l.storage.Store(&attached{s}) }

// attach reads a new storage, or writes again to one that failed. Without the
// storage there is no list to begin with; one that is in use goes on without.
func (l *List) attach() error {
	s := l.storage.Load()
	if s == nil || s == l.loop.attached || time.Now().Before(l.loop.again) {
		return nil
	}
	err := l.restore(s)
	switch {
	case err == nil:
		l.loop.attached, l.loop.dirty = s, true
	case l.current.Load() == nil:
		return err
	default:
		l.loop.again = time.Now().Add(storageRetry)
		l.problem(err)
	}

	return nil
}

// restore adds what a storage holds to what is known, and writes it back if it
// held less.
func (l *List) restore(s *attached) error {
	ctx, cancel := context.WithTimeout(l.context, storageTimeout)
	defer cancel()
	held, err := l.load(ctx, s)
	if err != nil {
		return fmt.Errorf("loading %s: %w", StorageKey, err)
	}
	complete := true
	l.mu.Lock()
	for id, e := range held {
		if old, ok := l.known[id]; time.Now().Before(e.Expires) && (!ok || e.supersedes(old)) {
			l.known[id] = e
		}
	}
	for id, e := range l.known {
		complete = complete && e.equal(held[id])
	}
	inUse := l.current.Load() != nil
	l.swapLocked(inUse)
	l.mu.Unlock()
	if inUse {
		l.announce()
	}
	if complete {
		return nil
	}

	return l.persist(ctx, s)
}

func (l *List) load(ctx context.Context, s *attached) (map[string]Entry, error) {
	raw, err := s.Load(ctx, StorageKey)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var content struct {
		Revocations []json.RawMessage `json:"revocations"`
	}
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, err
	}
	held := make(map[string]Entry, len(content.Revocations))
	for _, raw := range content.Revocations {
		e, err := decodeEntry(raw)
		if err != nil {
			l.problem(fmt.Errorf("%s: %w", StorageKey, err))
			continue
		}
		held[e.ID] = e
	}

	return held, nil
}

// persist writes the list into a storage.
func (l *List) persist(ctx context.Context, s *attached) error {
	l.persistMu.Lock()
	defer l.persistMu.Unlock()
	content := stored{Revocations: []Entry{}}
	l.mu.Lock()
	for _, e := range l.known {
		content.Revocations = append(content.Revocations, e)
	}
	l.mu.Unlock()
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()

	return s.Store(ctx, StorageKey, raw)
}
