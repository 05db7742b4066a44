package caddymodule

import (
	"container/list"
	"sync"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

// maxSchemas bounds how many callers' settings schemas are remembered.
const maxSchemas = 4096

// schemaMemory remembers the settings schema each caller last read, to judge the
// caller's next update by. Forgetting one only means that the update tool's own
// declaration is used.
type schemaMemory struct {
	mu      sync.Mutex
	entries map[mcp.Holder]*list.Element
	recent  *list.List // of *schemaEntry, most recent first
}

type schemaEntry struct {
	holder mcp.Holder
	schema *openai.SettingsSchema
}

func newSchemaMemory() *schemaMemory {
	return &schemaMemory{entries: make(map[mcp.Holder]*list.Element), recent: list.New()}
}

func (s *schemaMemory) get(holder mcp.Holder) *openai.SettingsSchema {
	s.mu.Lock()
	defer s.mu.Unlock()
	element := s.entries[holder]
	if element == nil {
		return nil
	}
	s.recent.MoveToFront(element)
	return element.Value.(*schemaEntry).schema
}

func (s *schemaMemory) put(holder mcp.Holder, schema *openai.SettingsSchema) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if element := s.entries[holder]; element != nil {
		element.Value.(*schemaEntry).schema = schema
		s.recent.MoveToFront(element)
		return
	}
	s.entries[holder] = s.recent.PushFront(&schemaEntry{holder, schema})
	if s.recent.Len() > maxSchemas {
		oldest := s.recent.Back()
		s.recent.Remove(oldest)
		delete(s.entries, oldest.Value.(*schemaEntry).holder)
	}
}
