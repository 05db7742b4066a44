package e2e

import (
	"strings"
	"testing"
)

// sameAsUnknown compares the answer for a hidden name with the one for a name
// that does not exist: status, framing and body must be equal but for the name.
func sameAsUnknown(t *testing.T, hidden, unknown *answer, name, nobody string) {
	t.Helper()
	if hidden.status != unknown.status || hidden.framing != unknown.framing {
		t.Errorf("%s is answered with %d %s, an unknown name with %d %s", name, hidden.status, hidden.framing, unknown.status, unknown.framing)
	}
	if got := strings.ReplaceAll(string(hidden.body), name, nobody); got != string(unknown.body) {
		t.Errorf("%s is answered with\n%s\nan unknown name with\n%s", name, got, unknown.body)
	}
}

// hiddenNames are requests for what the viewer must not know of, and the same
// requests for what does not exist.
var hiddenNames = []struct {
	what, name, nobody string
	ask                func(t *testing.T, c *caller, name string) *answer
}{
	{"a tool of other scopes", "settings.update", "no.such_tool", func(t *testing.T, c *caller, name string) *answer {
		t.Helper()
		return c.tool(t, name, map[string]any{"set": map[string]any{"theme": "dark"}})
	}},
	{"a tool without a rule", "admin.purge_deck", "no.such_tool", func(t *testing.T, c *caller, name string) *answer {
		t.Helper()
		return c.tool(t, name, map[string]any{"deckId": "roadmap"})
	}},
	{"a tool with wrong arguments", "admin.purge_deck", "no.such_tool", func(t *testing.T, c *caller, name string) *answer {
		t.Helper()
		return c.tool(t, name, map[string]any{"nonsense": 1})
	}},
	{"a prompt", "summarize_deck", "no.such_prompt", func(t *testing.T, c *caller, name string) *answer {
		t.Helper()
		return c.call(t, "prompts/get", name, map[string]any{"name": name, "arguments": map[string]any{"deckId": "roadmap"}})
	}},
	{"a resource", "deck://roadmap", "deck://no-such-deck", func(t *testing.T, c *caller, name string) *answer {
		t.Helper()
		return c.read(t, name)
	}},
}

func TestWhatIsHiddenIsAnsweredAsUnknown(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		direct, through := g.direct(t, era, viewer("acme")), g.caller(t, era, viewer("acme"))
		for _, tt := range hiddenNames {
			t.Run(tt.what, func(t *testing.T) {
				// Three ways to ask for nothing must agree: a hidden name, an
				// unknown one, and the server's own word for it.
				hidden := tt.ask(t, through, tt.name)
				sameAsUnknown(t, hidden, tt.ask(t, through, tt.nobody), tt.name, tt.nobody)
				sameAsUnknown(t, hidden, tt.ask(t, direct, tt.nobody), tt.name, tt.nobody)
				if hidden.code() == "" {
					t.Errorf("no error: %s", hidden)
				}
			})
		}
	})
}

func TestAHiddenToolIsNotRun(t *testing.T) {
	g := start(t, exampleConfig(t))
	for _, era := range eras {
		c := g.caller(t, era, viewer("acme"))
		g.Workspace.ForgetCalls()
		c.tool(t, "admin.purge_deck", map[string]any{"deckId": "roadmap"})
		c.tool(t, "settings.update", map[string]any{"set": map[string]any{"theme": "dark"}})
		for _, call := range g.Workspace.Calls() {
			if call.Tool == "admin.purge_deck" || call.Tool == "settings.update" || strings.Contains(string(call.Arguments), "roadmap") {
				t.Errorf("%s: the server was asked to run %s with %s", era, call.Tool, call.Arguments)
			}
		}
		decks := c.tool(t, "list_decks", map[string]any{})
		if !strings.Contains(string(decks.body), `"roadmap"`) {
			t.Errorf("%s: the deck is gone: %s", era, decks)
		}
	}
}

// The page of a hidden tool is answered like a page that does not exist.
func TestAHiddenPageIsAnsweredAsUnknown(t *testing.T) {
	everywhere(t, example(t, "tool workspace.*", "tool workspace.tray"), func(t *testing.T, g *gateway, era string) {
		const nobody = "ui://workspace/nobody"
		direct, through := g.direct(t, era, viewer("acme")), g.caller(t, era, viewer("acme"))
		hidden := through.read(t, "ui://workspace/home")
		sameAsUnknown(t, hidden, through.read(t, nobody), "ui://workspace/home", nobody)
		sameAsUnknown(t, hidden, direct.read(t, nobody), "ui://workspace/home", nobody)
	})
}
