package e2e

import (
	"net/http"
	"slices"
	"testing"
)

// A missing scope hides a name, or tells which to ask for: one line decides,
// for whatever kind of name.
func TestAMissingScopeHidesOrTellsAsTheRuleSays(t *testing.T) {
	rules := func(answer string) string {
		rule := " {\nscopes decks.write\n" + answer + "\n}\n"
		return endpoint("policy {\ntool list_decks\ntool create_deck" + rule +
			"prompt summarize_deck" + rule + "resource deck://*" + rule + "}\n")
	}
	for name, tt := range map[string]struct {
		line   string
		listed bool
	}{
		"by default": {"", false},
		"hide":       {"on_missing_scope hide", false},
		"challenge":  {"on_missing_scope challenge", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, stackFor(site(rules(tt.line))))
			for _, era := range eras {
				c := g.caller(t, era, viewer("acme"))
				for list, tools := range map[string][2]string{
					"tools": {"tools/list", "create_deck"}, "prompts": {"prompts/list", "summarize_deck"},
				} {
					if got := slices.Contains(c.call(t, tools[0], "", nil).names(list, "name"), tools[1]); got != tt.listed {
						t.Errorf("%s: %s listed: %t", era, tools[1], got)
					}
				}
				ask := map[string]func(string) *answer{
					"create_deck": func(name string) *answer { return c.tool(t, name, map[string]any{"title": "Plans"}) },
					"summarize_deck": func(name string) *answer {
						return c.call(t, "prompts/get", name, map[string]any{"name": name, "arguments": map[string]any{"deckId": "roadmap"}})
					},
					"deck://roadmap": func(name string) *answer { return c.read(t, name) },
				}
				for name, use := range ask {
					g.Workspace.ForgetCalls()
					a := use(name)
					if !tt.listed {
						nobody := map[string]string{"create_deck": "no_such_one", "summarize_deck": "no_such_one___", "deck://roadmap": "deck://nothing"}[name]
						sameAsUnknown(t, a, use(nobody), name, nobody)
						continue
					}
					wantStatus(t, era+" "+name, a, http.StatusForbidden)
					if params := challengeOf(t, a); params["error"] != "insufficient_scope" || params["scope"] != "mcp.use decks.write" || params["resource_metadata"] == "" {
						t.Errorf("%s %s: challenge %v", era, name, params)
					}
					if era == modern && string(a.message.Get("id")) != "7" {
						t.Errorf("%s %s: no error with the id: %s", era, name, a)
					}
					if got := g.Workspace.Calls(); len(got) != 0 {
						t.Errorf("%s %s: the server was asked: %v", era, name, got)
					}
				}
				able := g.caller(t, era, editor("acme"))
				if a := able.tool(t, "create_deck", map[string]any{"title": "Plans"}); a.status != http.StatusOK || a.code() != "" {
					t.Errorf("%s: with the scope: %s", era, a)
				}
			}
		})
	}
}
