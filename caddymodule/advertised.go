package caddymodule

import (
	"sync"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// maxAdvertised bounds how many names of one meaning are remembered. A server
// has one; more only where it gives each caller another.
const maxAdvertised = 16

// advertised remembers which tools the server itself has called its settings
// and mention tools in handshakes that passed by. Where the operator declares
// none, these are held to the rules of what they claim to be. They are known
// from the first handshake under a configuration on.
type advertised struct {
	mu                   sync.Mutex
	read, update, search map[string]bool
	last                 openai.Advertisement
}

func newAdvertised() *advertised {
	return &advertised{read: make(map[string]bool), update: make(map[string]bool), search: make(map[string]bool)}
}

// learn notes what a handshake says, and reports whether a name in it is new.
func (a *advertised) learn(capabilities rawjson.Value) (said openai.Advertisement, news bool) {
	said = openai.Advertised(capabilities)
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, set := range map[string]map[string]bool{said.ReadTool: a.read, said.UpdateTool: a.update, said.SearchTool: a.search} {
		if name != "" && len(set) < maxAdvertised {
			news = news || !set[name]
			set[name] = true
		}
	}
	if said.SearchTool != "" {
		a.last = said
	}
	return said, news
}

// mentions is the capabilities object of the last server that had mentions,
// empty if none had.
func (a *advertised) mentions() rawjson.Value {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.Capabilities()
}

// is reports whether a name has been advertised with a meaning.
func (a *advertised) is(name string, of func(*advertised) map[string]bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return name != "" && of(a)[name]
}

// readsSettings reports whether a tool is known to read settings. What the
// operator declares counts alone.
func (m *Handler) readsSettings(tool string) bool {
	if m.OpenAI.Settings != nil {
		return tool == m.OpenAI.Settings.ReadTool
	}
	return m.advertised.is(tool, func(a *advertised) map[string]bool { return a.read })
}

// updatesSettings reports whether a tool is known to change settings.
func (m *Handler) updatesSettings(tool string) bool {
	if m.OpenAI.Settings != nil {
		return tool == m.OpenAI.Settings.UpdateTool
	}
	return m.advertised.is(tool, func(a *advertised) map[string]bool { return a.update })
}

// searchesMentions reports whether a tool is known to search mentions.
func (m *Handler) searchesMentions(tool string) bool {
	if m.OpenAI.Mentions != nil {
		return tool == m.OpenAI.Mentions.SearchTool
	}
	return m.advertised.is(tool, func(a *advertised) map[string]bool { return a.search })
}

// hasSettings reports whether any tool is known to read settings.
func (m *Handler) hasSettings() bool {
	if m.OpenAI.Settings != nil {
		return true
	}
	m.advertised.mu.Lock()
	defer m.advertised.mu.Unlock()
	return len(m.advertised.read) > 0
}
