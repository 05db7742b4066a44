package e2e

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

// page asks for one page of tools and returns its names and the next cursor.
func (c *caller) page(t *testing.T, cursor string) (names []string, next string) {
	t.Helper()
	params := map[string]any{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	a := c.call(t, "tools/list", "", params)
	if !a.message.Get("result", "tools").Exists() {
		t.Fatalf("%s: no tools: %s", c.era, a)
	}
	next, _ = a.message.Get("result", "nextCursor").Text()
	return a.names("tools", "name"), next
}

// A simple client takes an empty first page for the end of the list
// (openai-agents-python 4085), and a lost cursor would end it for all others
// (agentgateway 3476). The first tool of the server is hidden from everybody.
func TestPagesReachEveryVisibleTool(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		c := g.caller(t, era, viewer("acme"))
		var all []string
		cursor := ""
		for pages := range 50 {
			names, next := c.page(t, cursor)
			if pages == 0 && len(names) == 0 {
				t.Error("the first page is empty")
			}
			all = append(all, names...)
			if cursor = next; cursor == "" {
				break
			}
		}
		slices.Sort(all)
		if !slices.Equal(all, viewerTools) {
			t.Errorf("pages hold %q, want %q", all, viewerTools)
		}
	})
}

// The sample server writes the name of the last tool into its cursors, hidden
// or not.
func TestCursorsTellNothingAndServeTheirCallerOnly(t *testing.T) {
	g := start(t, stack.Config{Caddyfile: example(t), Workspace: workspace.Config{PageSize: 1}})
	for _, era := range eras {
		c := g.caller(t, era, viewer("acme"))
		_, cursor := c.page(t, "")
		if cursor == "" {
			t.Fatalf("%s: no cursor", era)
		}
		raw, _ := base64.RawURLEncoding.DecodeString(cursor)
		for _, text := range []string{cursor, string(raw)} {
			if strings.Contains(text, "admin") || strings.Contains(text, "deck") {
				t.Errorf("%s: cursor %q gives names away", era, text)
			}
		}
		foreign := g.caller(t, era, editor("acme")).call(t, "tools/list", "", map[string]any{"cursor": cursor})
		if foreign.code() != "-32602" {
			t.Errorf("%s: the cursor of another caller: %s, want -32602", era, foreign)
		}
		invented := c.call(t, "tools/list", "", map[string]any{"cursor": "MQ"})
		if invented.code() != "-32602" || invented.status != foreign.status {
			t.Errorf("%s: an invented cursor: %s, want the answer for a foreign one", era, invented)
		}
	}
}
