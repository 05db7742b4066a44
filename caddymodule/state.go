package caddymodule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/ratelimit"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/revocation"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

func init() { caddy.RegisterModule(StateMemory{}) }

// StateModule is what modules of the namespace mcp_app.state implement.
type StateModule interface {
	// SharedState returns the store, from Provision on, and how long what was
	// read from it may be trusted while it cannot be reached. Zero means that it
	// is a part of this process: what must outlive the process is then also kept
	// in Caddy's storage. The same settings must give the same store, whose type
	// is a pointer, also across reloads.
	SharedState() (store state.Store, maxStale time.Duration)
}

// StateMemory keeps shared state in this process. It is for a single Caddy:
// replicas would not know what the others have revoked or counted. Revocations
// are also written to Caddy's storage and survive a restart; counters do not.
type StateMemory struct {
	store   state.Store
	release func()
}

// storeKey is the store's key in the pool.
func (StateMemory) storeKey() string { return "memory" }

// CaddyModule returns the Caddy module information.
func (StateMemory) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "mcp_app.state.memory", New: func() caddy.Module { return new(StateMemory) }}
}

// Provision takes the one store of this process.
func (m *StateMemory) Provision(caddy.Context) (err error) {
	m.store, m.release, err = acquireStore("memory", func() (state.Store, error) { return state.NewMemory(0), nil })
	return err
}

// Cleanup gives it back.
func (m *StateMemory) Cleanup() error { return giveBack(&m.release) }

// SharedState implements StateModule.
func (m *StateMemory) SharedState() (state.Store, time.Duration) { return m.store, 0 }

// UnmarshalCaddyfile reads:
//
//	state memory
func (m *StateMemory) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	if d.NextArg() || d.NextBlock(0) {
		return d.Errf("state memory stands alone, without %q", d.Val())
	}
	return nil
}

// parseState reads:
//
//	state memory
//	state redis <url> { ... }
func parseState(into *json.RawMessage) subdirective {
	return func(d *caddyfile.Dispenser) error {
		if *into != nil {
			return d.Err("state already specified")
		}
		if !d.NextArg() {
			return d.Err("expected: state memory, or state redis <url>")
		}
		name := d.Val()
		module, err := caddyfile.UnmarshalModule(d, "mcp_app.state."+name)
		if err != nil {
			return err
		}
		*into = caddyconfig.JSONModuleObject(module, "name", name, nil)
		return nil
	}
}

// sharedState is what an endpoint shares with others and with other replicas.
type sharedState struct {
	store       state.Store
	shared      bool // with other replicas
	revocations *revocation.List
	release     func()
}

// openState loads the configured module, or memory without one. Nothing is
// asked yet.
func openState(ctx caddy.Context, raw json.RawMessage) (*sharedState, error) {
	host := struct {
		StateRaw json.RawMessage `caddy:"namespace=mcp_app.state inline_key=name"`
	}{raw}
	if len(host.StateRaw) == 0 {
		host.StateRaw = json.RawMessage(`{"name":"memory"}`)
	}
	loaded, err := ctx.LoadModule(&host, "StateRaw")
	if err != nil {
		return nil, err
	}
	module, ok := loaded.(StateModule)
	if !ok {
		return nil, fmt.Errorf("module %T keeps no state", loaded)
	}
	store, maxStale := module.SharedState()
	s := &sharedState{store: store, shared: maxStale > 0}
	retained := func() {}
	if keyed, ok := module.(interface{ storeKey() string }); ok {
		// Running calls need the store for longer than the module lives.
		retained = retainStore(keyed.storeKey())
	}
	revocations, release, err := acquireRevocations(store, maxStale)
	s.revocations, s.release = revocations, func() {
		if release != nil {
			release()
		}
		retained()
	}
	if err == nil && !s.shared {
		s.revocations.UseStorage(ctx.Storage())
	}
	return s, err
}

// close gives the revocations back. They go on answering for requests that are
// still running.
func (s *sharedState) close() {
	if s != nil {
		_ = giveBack(&s.release)
	}
}

// check refuses callers whose access was taken back, with an error of the kind
// that a bad token has, and everybody while that is not known.
func (s *sharedState) check(ctx context.Context, p *policy.Principal) error {
	err := s.revocations.Check(ctx, callerOf(p))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, revocation.ErrRevoked):
		return fmt.Errorf("%w: %w", &token.Error{Kind: token.InvalidToken, Reason: "access was taken back"}, err)
	default:
		return &token.Error{Kind: token.Unavailable, Reason: err.Error(), RetryAfter: 5 * time.Second}
	}
}

// guard calls end, from another goroutine, when check would refuse the caller.
func (s *sharedState) guard(p *policy.Principal, end func(error)) (release func()) {
	return s.revocations.Guard(callerOf(p), end)
}

// counter counts calls together with other replicas. Without any it is nil:
// what one process counts needs no store.
func (s *sharedState) counter() ratelimit.Counter {
	if s == nil || !s.shared {
		return nil
	}
	return storeCounter{s.store}
}

type storeCounter struct{ store state.Store }

// Count implements ratelimit.Counter.
func (c storeCounter) Count(ctx context.Context, key string, window time.Duration) (int64, time.Duration, error) {
	count, err := c.store.Incr(ctx, "limits/"+key, window)
	return count.Value, count.Remaining, err
}

// callerOf is what of a principal a revocation can name.
func callerOf(p *policy.Principal) revocation.Caller {
	c := revocation.Caller{Issuer: p.Issuer, Subject: p.Subject, Tenant: p.Tenant}
	c.ID, _ = p.Claims["jti"].(string)
	switch seconds := p.Claims["iat"].(type) {
	case int64:
		c.IssuedAt = time.Unix(seconds, 0)
	case float64:
		c.IssuedAt = time.Unix(int64(seconds), 0)
	}
	return c
}

// The pools share stores and revocation lists between endpoints and across
// reloads, so that a reload forgets neither a revocation nor a count.
var (
	storePool      = caddy.NewUsagePool()
	revocationPool = caddy.NewUsagePool()
)

type pooledStore struct{ state.Store }

// Destruct implements caddy.Destructor.
func (p pooledStore) Destruct() error { return p.Close() }

type pooledRevocations struct{ *revocation.List }

// Destruct implements caddy.Destructor.
func (p pooledRevocations) Destruct() error {
	p.Close()
	return nil
}

// acquireStore takes a store from the pool. key is all of its settings.
func acquireStore(key string, create func() (state.Store, error)) (state.Store, func(), error) {
	value, _, err := storePool.LoadOrNew(key, func() (caddy.Destructor, error) {
		store, err := create()
		return pooledStore{store}, err
	})
	if err != nil {
		return nil, nil, err
	}
	return value.(pooledStore).Store, func() { _, _ = storePool.Delete(key) }, nil
}

// retainStore keeps a store that is in the pool.
func retainStore(key string) (release func()) {
	if _, _, err := storePool.LoadOrNew(key, func() (caddy.Destructor, error) { return nil, errors.New("no such store") }); err != nil {
		return func() {}
	}
	return func() { _, _ = storePool.Delete(key) }
}

// acquireRevocations takes the revocation list of a store from the pool.
func acquireRevocations(store state.Store, maxStale time.Duration) (*revocation.List, func(), error) {
	value, _, err := revocationPool.LoadOrNew(store, func() (caddy.Destructor, error) {
		return pooledRevocations{revocation.New(revocation.Config{
			Store: store, MaxStale: cmp.Or(maxStale, revocation.DefaultMaxStale), OnState: logRevocationState, OnProblem: logRevocationProblem,
		})}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return value.(pooledRevocations).List, func() { _, _ = revocationPool.Delete(store) }, nil
}

// giveBack calls a release function once.
func giveBack(release *func()) error {
	if *release != nil {
		(*release)()
		*release = nil
	}
	return nil
}

// The list outlives the configuration that made it: it logs to whatever log
// Caddy has at the moment.
func logRevocationState(s revocation.State, err error) {
	logger := caddy.Log().Named("mcp_app.revocations")
	switch s {
	case revocation.Fresh:
		logger.Info("revocation list is up to date")
	case revocation.Unreachable:
		metrics.stateErrors.with([1]string{useRevocation}).Inc()
		logger.Warn("revocations cannot be compared with the shared state; the last list is used", zap.Error(err))
	default:
		metrics.stateErrors.with([1]string{useRevocation}).Inc()
		logger.Error("revocations are not known; nobody is let in", zap.String("state", string(s)), zap.Error(err))
	}
}

func logRevocationProblem(err error) {
	metrics.stateErrors.with([1]string{useRevocation}).Inc()
	caddy.Log().Named("mcp_app.revocations").Error("revocation cannot be read or kept", zap.Error(err))
}

// Interface guards
var (
	_ StateModule           = (*StateMemory)(nil)
	_ caddy.Provisioner     = (*StateMemory)(nil)
	_ caddy.CleanerUpper    = (*StateMemory)(nil)
	_ caddyfile.Unmarshaler = (*StateMemory)(nil)
)
