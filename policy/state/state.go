package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Bounds of every store.
const (
	// MaxName is the longest name of a key, in bytes, without its group.
	// Whatever a client chose is to be hashed first.
	MaxName = 512
	// MaxValue is the largest value, in bytes.
	MaxValue = 256 << 10
	// MaxTTL is the longest life of an entry. There are no entries without an
	// end.
	MaxTTL = 400 * 24 * time.Hour
	// DefaultMaxEntries is how many entries a group holds.
	DefaultMaxEntries = 65_536
	// WatchInterval is how often Watch looks, and so the longest time that a
	// change made by another replica takes to be noticed.
	WatchInterval = 500 * time.Millisecond
)

var (
	// ErrNotFound says that there is no entry, or no longer.
	ErrNotFound = errors.New("state: no such entry")

	// ErrUnavailable says that the store could not be asked: it is down, too
	// slow, refuses the credentials, or has been closed. A write may
	// nevertheless have happened.
	ErrUnavailable = errors.New("state: store is unavailable")
)

// Store keeps entries for a limited time. It is safe for concurrent use.
//
// Every operation on a single key is atomic and seen by the next one, in any
// replica. There are no transactions over several keys. All times are those of
// the store itself, so that replicas with wrong clocks agree.
//
// Errors are [ErrNotFound], errors that wrap [ErrUnavailable], the context's
// own, or the fault of the caller: a malformed key, a value or a life beyond
// the bounds.
type Store interface {
	// Get returns the value of an entry, or ErrNotFound. The value is the
	// caller's to keep. A counter's value is its decimal text.
	Get(ctx context.Context, key string) ([]byte, error)

	// Set makes or replaces an entry that ends after ttl, which is rounded up
	// to milliseconds. In a full group it takes the place of another entry: in
	// Memory of the least recently used, in Redis of the one that ends first.
	Set(ctx context.Context, key string, value []byte, ttl time.Duration) error

	// Keep makes an entry if there is none, and returns the value that is there
	// then: of many that try, all are told the same. It ends after ttl, counted
	// anew from this call, so that an entry lives while it is asked for.
	Keep(ctx context.Context, key string, value []byte, ttl time.Duration) ([]byte, error)

	// Delete removes an entry. That there was none is no error.
	Delete(ctx context.Context, key string) error

	// Incr adds one to a counter, which begins at zero and ends window after
	// its first count, whatever is counted in between. Counters are neither
	// listed nor watched.
	Incr(ctx context.Context, key string, window time.Duration) (Count, error)

	// List returns all entries of a group that were set, in no order. It is not
	// a snapshot: entries that change meanwhile may be there or not.
	List(ctx context.Context, group string) ([]Entry, error)

	// Watch calls notify, one call at a time, until the context ends or the
	// store is closed, and returns the reason: at once with Changed, then after
	// each change and at least every WatchInterval or so. Changes in quick
	// succession may be told as one, none is left out, and more may be told
	// than there were. Entries that end by themselves are not told.
	Watch(ctx context.Context, group string, notify func(Notice)) error

	// Close ends all watches and gives connections back. Later calls fail as
	// unavailable. Entries of a Memory are lost, those of a Redis are not.
	Close() error
}

// Entry is one entry of a group.
type Entry struct {
	Key   string
	Value []byte
}

// Count is what a counter says.
type Count struct {
	// Value includes the present count and is therefore at least 1.
	Value int64
	// Remaining is how long until the counter begins anew.
	Remaining time.Duration
	// Now is the time of the store.
	Now time.Time
}

// Notice is what Watch has found out.
type Notice struct {
	// Changed says that the group may differ from what List returned before.
	Changed bool
	// Err says that the store could not be asked. With Err nil and Changed
	// false, nothing has changed up to now.
	Err error
}

// splitKey checks a key and returns its group and name.
func splitKey(key string) (group, name string, err error) {
	group, name, _ = strings.Cut(key, "/")
	if err := checkGroup(group); err != nil {
		return "", "", err
	}
	if name == "" || len(name) > MaxName {
		return "", "", fmt.Errorf("state: the name of a key needs 1 to %d bytes, not %d", MaxName, len(name))
	}

	return group, name, nil
}

// checkGroup refuses groups that a store's own keys could be mistaken for.
func checkGroup(group string) error {
	if group == "" || len(group) > 64 || strings.Trim(group, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return fmt.Errorf("state: malformed group %.64q", group)
	}

	return nil
}

// checkSet checks what is to be written and returns the group and name.
func checkSet(key string, value []byte, ttl time.Duration) (group, name string, err error) {
	if len(value) > MaxValue {
		return "", "", fmt.Errorf("state: a value of %d bytes is larger than %d", len(value), MaxValue)
	}
	if err := checkTTL(ttl); err != nil {
		return "", "", err
	}

	return splitKey(key)
}

func checkTTL(ttl time.Duration) error {
	if ttl <= 0 || ttl > MaxTTL {
		return fmt.Errorf("state: the life of an entry must be between 0 and %s, not %s", MaxTTL, ttl)
	}

	return nil
}
