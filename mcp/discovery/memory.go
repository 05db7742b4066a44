package discovery

import (
	"context"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
)

// How many successes a [Memory] keeps, and for how long.
const (
	memoryCapacity = 16
	memoryTTL      = 5 * time.Minute
)

// Memory asks the same question once for everybody who asks it at the same time,
// and keeps successes for five minutes. It holds hashes of credentials only.
type Memory struct {
	engine *Engine
	group  *flight.Group[*Report]
}

// NewMemory remembers what an engine finds out.
func NewMemory(e *Engine) *Memory {
	timeout := e.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	// The engine's own deadline comes first, and says where it was.
	return &Memory{e, flight.New[*Report](memoryCapacity, memoryTTL, timeout+time.Second)}
}

// Get returns what is known of a target, asking if nothing is. Whoever gives up
// leaves; when the last one does, the asking stops.
func (m *Memory) Get(ctx context.Context, t Target) (*Report, error) {
	return m.group.Get(ctx, t.key(), func(ctx context.Context) (*Report, error) { return m.engine.Discover(ctx, t) })
}

// Refresh forgets what is known of a target and asks anew.
func (m *Memory) Refresh(ctx context.Context, t Target) (*Report, error) {
	m.group.Forget(t.key())
	return m.Get(ctx, t)
}
