package registration

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// The groups of the store. Calls are counted beside the registration, since an
// entry that is read, changed and written again would lose counts of others.
const (
	group       = "registrations"
	callsGroup  = "registration_calls"
	startsGroup = "registration_starts"
)

// Registry finds, counts and ends registrations in a store. It is safe for
// concurrent use, and several may use one store. Errors of the store wrap
// [state.ErrUnavailable].
type Registry struct {
	store  state.Store
	guards guards
}

// New returns the registry of a store.
func New(store state.Store) *Registry {
	r := &Registry{store: store}
	r.guards.registry = r
	return r
}

// Progress is how far a registration has got.
type Progress struct {
	Handle   string    `json:"handle"`
	Endpoint Endpoint  `json:"endpoint"`
	Tools    []string  `json:"tools"`
	Calls    int64     `json:"calls"`
	MaxCalls int64     `json:"max_calls"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires"`
	// Principal is whom it is bound to, if to anybody.
	Principal *Principal `json:"principal,omitempty"`
	// Ended is the reason for which it has ended, left out while it has not.
	Ended string `json:"ended,omitempty"`
}

// Create makes a registration and returns its id, which cannot be had again.
func (r *Registry) Create(ctx context.Context, endpoint Endpoint, request Request) (string, *Registration, error) {
	if err := request.check(); err != nil {
		return "", nil, err
	}
	id := NewID()
	handle, _ := ParseID(id)
	now := time.Now().UTC().Truncate(time.Millisecond)
	made := &Registration{
		Handle: handle, Endpoint: endpoint, Tools: slices.Clone(request.Tools), MaxCalls: request.MaxCalls, Principal: request.Principal,
		Created: now, Expires: now.Add(request.TTL),
	}
	// The counter comes first and stands at one from here on: one that begins
	// anew later has been lost, and with it the number of calls. It outlives the
	// registration, for those who watch its end.
	if _, err := r.store.Incr(ctx, callsGroup+"/"+handle.String(), request.TTL+Retention); err != nil {
		return "", nil, err
	}
	if err := r.write(ctx, made, request.TTL); err != nil {
		return "", nil, err
	}
	return id, made, nil
}

// Find returns the registration of a handle if it is for this caller at this
// endpoint and has not ended. The error is ErrNotFound otherwise.
func (r *Registry) Find(ctx context.Context, handle Handle, endpoint Endpoint, caller Principal) (*Registration, error) {
	found, err := r.read(ctx, handle)
	if err != nil {
		return nil, err
	}
	if !found.fits(endpoint, caller) || found.Ended != "" {
		return nil, ErrNotFound
	}
	return found, nil
}

// Call counts one call, before it is made. ErrNotFound says that there is none
// left. The last one ends the registration.
func (r *Registry) Call(ctx context.Context, reg *Registration) error {
	count, err := r.store.Incr(ctx, callsGroup+"/"+reg.Handle.String(), reg.left()+Retention)
	if err != nil {
		return err
	}
	calls := count.Value - 1
	switch {
	case calls == 0: // nobody knows any more how many there were
		return errors.Join(ErrNotFound, r.end(ctx, reg, Completed))
	case calls > reg.MaxCalls:
		// Whoever made the last call may have died before saying so.
		return errors.Join(ErrNotFound, r.end(ctx, reg, Completed))
	case calls == reg.MaxCalls:
		return r.end(ctx, reg, Completed)
	default:
		return nil
	}
}

// Started notes that a client has begun.
func (r *Registry) Started(ctx context.Context, reg *Registration) error {
	_, err := r.store.Incr(ctx, startsGroup+"/"+reg.Handle.String(), reg.left()+Retention)
	return err
}

// FailStart ends a registration that no client could begin with. One that was
// begun goes on: its server may come back.
func (r *Registry) FailStart(ctx context.Context, reg *Registration) error {
	_, err := r.store.Get(ctx, startsGroup+"/"+reg.Handle.String())
	if !errors.Is(err, state.ErrNotFound) {
		return err
	}
	if calls, err := r.calls(ctx, reg); err != nil || calls > 0 {
		return err
	}
	return r.end(ctx, reg, StartupFailed)
}

// End ends a registration because the operator says so. The error is ErrNotFound
// if there is none, or no longer.
func (r *Registry) End(ctx context.Context, handle Handle) error {
	found, err := r.read(ctx, handle)
	if err != nil {
		return err
	}
	if found.Ended != "" {
		return ErrNotFound
	}
	return r.end(ctx, found, Deleted)
}

// Progress tells how far a registration has got, also for a while after it was
// ended. The error is ErrNotFound if it is not known, or has expired.
func (r *Registry) Progress(ctx context.Context, handle Handle) (Progress, error) {
	found, err := r.read(ctx, handle)
	if err != nil {
		return Progress{}, err
	}
	return r.progress(ctx, found)
}

// All lists what is known, the newest first.
func (r *Registry) All(ctx context.Context) ([]Progress, error) {
	entries, err := r.store.List(ctx, group)
	if err != nil {
		return nil, err
	}
	all := make([]Progress, 0, len(entries))
	for _, entry := range entries {
		found, err := decode(entry.Value)
		if err != nil {
			return nil, err
		}
		p, err := r.progress(ctx, found)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Progress) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Handle, b.Handle))
	})
	return all, nil
}

func (r *Registry) progress(ctx context.Context, reg *Registration) (Progress, error) {
	calls, err := r.calls(ctx, reg)
	return Progress{
		Handle: reg.Handle.String(), Endpoint: reg.Endpoint, Tools: reg.Tools, Calls: min(calls, reg.MaxCalls), MaxCalls: reg.MaxCalls,
		Created: reg.Created, Expires: reg.Expires, Principal: reg.Principal, Ended: reg.Ended,
	}, err
}

// calls returns how many were made.
func (r *Registry) calls(ctx context.Context, reg *Registration) (int64, error) {
	text, err := r.store.Get(ctx, callsGroup+"/"+reg.Handle.String())
	switch {
	case errors.Is(err, state.ErrNotFound):
		return reg.MaxCalls, nil // lost: the next call ends it
	case err != nil:
		return 0, err
	}
	count, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("registration: the counter cannot be read: %w", err)
	}
	return count - 1, nil
}

// end writes down why a registration ended. Nothing makes it live again: what
// two replicas write at once is an end in any case.
func (r *Registry) end(ctx context.Context, reg *Registration, reason string) error {
	ended := *reg
	ended.Ended = reason
	return r.write(ctx, &ended, ended.left()+Retention)
}

// left is how long a registration has still to live.
func (r *Registration) left() time.Duration { return max(0, time.Until(r.Expires)) }

// stored is a registration as the store keeps it.
type stored struct {
	Handle    string     `json:"handle"`
	Endpoint  Endpoint   `json:"endpoint"`
	Tools     []string   `json:"tools"`
	MaxCalls  int64      `json:"max_calls"`
	Principal *Principal `json:"principal,omitempty"`
	Created   time.Time  `json:"created"`
	Expires   time.Time  `json:"expires"`
	Ended     string     `json:"ended,omitempty"`
}

func (r *Registry) write(ctx context.Context, reg *Registration, ttl time.Duration) error {
	value, err := json.Marshal(stored{
		reg.Handle.String(), reg.Endpoint, reg.Tools, reg.MaxCalls, reg.Principal, reg.Created, reg.Expires, reg.Ended,
	})
	if err != nil {
		return err
	}
	return r.store.Set(ctx, group+"/"+reg.Handle.String(), value, ttl)
}

// read finds a registration by its hash, and compares once more the whole of it:
// what a store takes for equal is the store's business.
func (r *Registry) read(ctx context.Context, handle Handle) (*Registration, error) {
	value, err := r.store.Get(ctx, group+"/"+handle.String())
	if errors.Is(err, state.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	found, err := decode(value)
	if err != nil {
		return nil, err
	}
	if !found.Handle.equal(handle) {
		return nil, ErrNotFound
	}
	return found, nil
}

func decode(value []byte) (*Registration, error) {
	var s stored
	if err := json.Unmarshal(value, &s); err != nil {
		return nil, fmt.Errorf("registration: an entry cannot be read: %w", err)
	}
	handle, ok := ParseHandle(s.Handle)
	if !ok || len(s.Tools) == 0 || s.MaxCalls < 1 {
		return nil, errors.New("registration: an entry cannot be read")
	}
	return &Registration{handle, s.Endpoint, s.Tools, s.MaxCalls, s.Principal, s.Created, s.Expires, s.Ended}, nil
}
