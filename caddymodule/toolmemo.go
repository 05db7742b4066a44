package caddymodule

import (
	"sync"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// toolMemoBytes bounds each of the two generations of a toolMemo.
const toolMemoBytes = 8 << 20

// toolMemo remembers what became of the declaration of a tool, by its bytes:
// also in a list that changes, most tools stay as they were. It is for tools
// whose decoration depends on nothing else, and says nothing of who may see
// them. What was not asked for while a generation filled up is forgotten.
type toolMemo struct {
	mu         sync.Mutex
	young, old map[string]rawjson.Value
	bytes      int // in young
}

func (m *toolMemo) get(tool rawjson.Value) (rawjson.Value, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.young[string(tool)]; ok {
		return known, true
	}
	known, ok := m.old[string(tool)]
	if ok {
		m.putLocked(tool, known)
	}
	return known, ok
}

func (m *toolMemo) put(tool, decorated rawjson.Value) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.putLocked(tool, decorated)
}

func (m *toolMemo) putLocked(tool, decorated rawjson.Value) {
	size := len(tool) + len(decorated)
	if m.young == nil || m.bytes+size > toolMemoBytes {
		m.old, m.young, m.bytes = m.young, make(map[string]rawjson.Value), 0
	}
	if size > toolMemoBytes {
		return
	}
	m.young[string(tool)] = decorated
	m.bytes += size
}
