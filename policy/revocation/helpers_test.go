package revocation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

const issuer = "https://id.example/"

// alice is a caller whose token was issued a minute ago.
func alice() Caller {
	return Caller{Issuer: issuer, Subject: "alice", Tenant: "acme", ID: "t1", IssuedAt: time.Now().Add(-time.Minute)}
}

// flakyStore is a store that can be down.
type flakyStore struct {
	state.Store
	down atomic.Bool
}

var errDown = fmt.Errorf("%w: connection refused", state.ErrUnavailable)

func (s *flakyStore) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if s.down.Load() {
		return errDown
	}
	return s.Store.Set(ctx, key, value, ttl)
}

func (s *flakyStore) List(ctx context.Context, group string) ([]state.Entry, error) {
	if s.down.Load() {
		return nil, errDown
	}
	return s.Store.List(ctx, group)
}

func (s *flakyStore) Watch(ctx context.Context, group string, notify func(state.Notice)) error {
	pending := false
	return s.Store.Watch(ctx, group, func(n state.Notice) {
		pending = pending || n.Changed
		if s.down.Load() {
			notify(state.Notice{Err: errDown})
			return
		}
		notify(state.Notice{Changed: pending})
		pending = false
	})
}

// files is a storage that can fail.
type files struct {
	mu      sync.Mutex
	content map[string][]byte
	fail    error
	writes  int
}

func (f *files) Load(_ context.Context, key string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	if value, ok := f.content[key]; ok {
		return value, nil
	}
	return nil, fs.ErrNotExist
}

func (f *files) Store(_ context.Context, key string, value []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	f.content = maps.Clone(f.content)
	if f.content == nil {
		f.content = make(map[string][]byte)
	}
	f.content[key] = value
	f.writes++
	return nil
}

func (f *files) written() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

func (f *files) breakWith(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = err
}

// told records what a list tells its owner.
type told struct {
	mu       sync.Mutex
	states   []State
	problems []error // and those behind states
}

func (r *told) config() Config { return Config{OnState: r.state, OnProblem: r.problem} }

func (r *told) state(s State, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states = append(r.states, s)
	if err != nil {
		r.problems = append(r.problems, err)
	}
}

func (r *told) problem(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, err)
}

func (r *told) wantStates(t *testing.T, want ...State) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.states, want) {
		t.Errorf("told the states %q, want %q", r.states, want)
	}
}

// wantProblems wants a number of problems about one thing.
func (r *told) wantProblems(t *testing.T, least, most int, about string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.problems) < least || len(r.problems) > most {
		t.Errorf("told %d problems, want %d to %d: %q", len(r.problems), least, most, r.problems)
	}
	for _, err := range r.problems {
		if !strings.Contains(err.Error(), about) {
			t.Errorf("told %q, which is not about %s", err, about)
		}
	}
}

// newList returns a list that is closed by the test.
func newList(t *testing.T, config Config) *List {
	t.Helper()
	l := New(config)
	t.Cleanup(l.Close)
	return l
}

func revoke(t *testing.T, l *List, r Request) Entry {
	t.Helper()
	e, err := l.Revoke(t.Context(), r)
	if err != nil {
		t.Fatalf("revoking %+v: %v", r, err)
	}
	return e
}

func wantCheck(t *testing.T, l *List, c Caller, want error) {
	t.Helper()
	if err := l.Check(t.Context(), c); !errors.Is(err, want) {
		t.Fatalf("Check(%+v) = %v, want %v", c, err, want)
	}
}

func wantEntries(t *testing.T, l *List, want int) []Entry {
	t.Helper()
	entries, err := l.Entries(t.Context())
	if err != nil || len(entries) != want {
		t.Fatalf("Entries() = %d entries, %v; want %d", len(entries), err, want)
	}
	return entries
}
