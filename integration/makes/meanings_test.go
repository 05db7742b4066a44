package makes

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// seenServer has tools with a meaning, and notes the arguments of each call.
type seenServer struct {
	*sdkServer
	updated any // what settings.update answers

	mu   sync.Mutex
	seen []string
}

func newSeenServer() *seenServer {
	s := &seenServer{sdkServer: newSDKServer("seen", &mcp.ServerCapabilities{}), updated: map[string]any{"values": map[string]any{"units": "in", "showGrid": true}}}
	note := func(declaration string, answer func() any) {
		s.raw(declaration, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.seen = append(s.seen, r.Params.Name+" "+string(r.Params.Arguments))
			return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: answer()}, nil
		})
	}
	note(pythonRead, func() any {
		return map[string]any{"schema": settingsDefinition(nil), "values": map[string]any{"units": "mm", "showGrid": true}}
	})
	// The declaration of the tool tells nothing of the settings.
	note(optionUpdateNamed("settings.update"), func() any { return s.updated })
	note(pythonMentions, func() any {
		return map[string]any{"items": []any{map[string]any{"type": "resource_link", "uri": "cad://parts/hex", "name": "hex"}}}
	})
	note(`{"name":"use","inputSchema":{"type":"object","properties":{"part":{"type":"string"}}}}`, func() any { return map[string]any{} })
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{Name: "part", URITemplate: "cad://parts/{id}"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "a bolt"}}}, nil
	})
	return s
}

func optionUpdateNamed(name string) string {
	return strings.Replace(optionUpdate, "prefs.update", name, 1)
}

func (s *seenServer) calls(tool string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []string
	for _, call := range s.seen {
		if arguments, ok := strings.CutPrefix(call, tool+" "); ok {
			calls = append(calls, arguments)
		}
	}
	return calls
}

const meaningLines = `policy {
	tool * {
		scopes mcp.use
	}
	resource cad://* {
		scopes mcp.use
	}
}
openai {
	settings settings.read settings.update
	mentions search_mentions {
		bind_handles cad://*
	}
}
`

// An update is judged by the settings that its caller read last, and a bad one
// never reaches the server.
func TestABadUpdateNeverReachesTheServer(t *testing.T) {
	for _, era := range eras {
		s := newSeenServer()
		g := start(t, meaningLines, stack.Config{Upstream: s.serve(true)})
		c := g.caller(t, era, member)
		c.tool(t, "settings.read", `{}`)
		for _, arguments := range []string{
			`{"set":{}}`, `{"set":{"unknown":true}}`, `{"set":{"units":"ft"}}`, `{"set":{"showGrid":"yes"}}`, `{"set":{"units":null}}`,
			`{"set":{"units":"in"},"extra":1}`, `{"set":{"units":{"$inc":1}}}`, `{"values":{"units":"in"}}`, `{}`,
		} {
			if a := c.tool(t, "settings.update", arguments); string(a.message.Get("error", "code")) != "-32602" {
				t.Errorf("%s: %s answered with %s", era, arguments, a.message)
			}
		}
		if calls := s.calls("settings.update"); len(calls) > 0 {
			t.Errorf("%s: the server saw %s", era, calls)
		}
		c.tool(t, "settings.update", `{"set":{"units":"in"}}`)
		if calls := s.calls("settings.update"); !slices.Equal(calls, []string{`{"set":{"units":"in"}}`}) {
			t.Errorf("%s: of a good update the server saw %s", era, calls)
		}
	}
}

// By the time an answer is known to be wrong, the server has saved.
func TestAWrongUpdateAnswerPassesAndIsNotAskedForAgain(t *testing.T) {
	s := newSeenServer()
	s.updated = map[string]any{"values": map[string]any{"units": "in"}}
	g := start(t, meaningLines, stack.Config{Upstream: s.serve(true)})
	c := g.caller(t, modern, member)
	c.tool(t, "settings.read", `{}`)
	if a := c.tool(t, "settings.update", `{"set":{"units":"in"}}`); string(a.message.Get("result", "structuredContent")) != `{"values":{"units":"in"}}` {
		t.Errorf("the answer became %s", a.message)
	}
	if calls := s.calls("settings.update"); len(calls) != 1 {
		t.Errorf("the server was called %d times", len(calls))
	}
	if !strings.Contains(g.log(t), `"code":"settings-update-result"`) {
		t.Error("the operator is not told")
	}
}

// A handle is good for the caller it was offered to. To anybody else, and
// guessed, it is one that does not exist.
func TestAHandleIsGoodForTheCallerItWasOfferedTo(t *testing.T) {
	for _, era := range eras {
		s := newSeenServer()
		g := start(t, meaningLines, stack.Config{Upstream: s.serve(true)})
		mine, other := g.caller(t, era, member), g.caller(t, era, callers[0])
		var handle string
		for item := range mine.tool(t, "search_mentions", `{"query":"hex"}`).message.Get("result", "structuredContent", "items").Elements() {
			handle, _ = item.Get("uri").Text()
		}
		if !strings.HasPrefix(handle, "cad://parts/hex#mcp-app-seal=") {
			t.Fatalf("%s: the handle is %q", era, handle)
		}
		mine.tool(t, "use", `{"part":"`+handle+`"}`)
		if calls := s.calls("use"); !slices.Equal(calls, []string{`{"part":"cad://parts/hex"}`}) {
			t.Errorf("%s: of the caller's own handle the server saw %s", era, calls)
		}
		if a := mine.call(t, "resources/read", handle, `{"uri":"`+handle+`"}`); !strings.Contains(string(a.message), "a bolt") {
			t.Errorf("%s: reading the handle: %s", era, a.message)
		}
		other.tool(t, "use", `{"part":"`+handle+`"}`)
		mine.tool(t, "use", `{"part":"cad://parts/hex"}`)
		for _, call := range s.calls("use")[1:] {
			if strings.Contains(call, "hex") {
				t.Errorf("%s: of a handle of somebody else, or a guessed one, the server saw %s", era, call)
			}
		}
		for what, a := range map[string]answer{
			"somebody else's": other.call(t, "resources/read", handle, `{"uri":"`+handle+`"}`),
			"a guessed one":   mine.call(t, "resources/read", "cad://parts/hex", `{"uri":"cad://parts/hex"}`),
		} {
			if string(a.message.Get("error", "code")) != "-32602" || a.status == http.StatusOK && era == modern {
				t.Errorf("%s: reading %s: %d %s", era, what, a.status, a.message)
			}
		}
	}
}
