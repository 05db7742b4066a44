package e2e

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestAGoodLinkReachesTheServerAsItIs(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		session := g.connect(t, era, viewer("acme"))
		for _, url := range []string{"/", "/decks/rocket-skates", "/decks/roadmap?tab=cards&back=../home"} {
			g.Workspace.ForgetCalls()
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "workspace.navigate", Arguments: map[string]any{"url": url}})
			if err != nil || result.IsError {
				t.Errorf("%q: %v, %s", url, err, compact(t, result))
				continue
			}
			calls := g.Workspace.Calls()
			if want := `{"url":"` + url + `"}`; len(calls) != 1 || string(calls[0].Arguments) != want {
				t.Errorf("%q: the server saw %d calls, want one with %s", url, len(calls), want)
			}
		}
	})
}

// badLinks are arguments of the navigate tool that must never reach the server.
var badLinks = []struct{ name, arguments string }{
	{"relative", `{"url":"decks/roadmap"}`},
	{"empty", `{"url":""}`},
	{"absolute", `{"url":"https://evil.example/"}`},
	{"script", `{"url":"javascript:alert(1)"}`},
	{"other host", `{"url":"//evil.example/decks"}`},
	{"other host by backslashes", `{"url":"/\\evil.example"}`},
	{"other host encoded", `{"url":"/%2fevil.example"}`},
	{"traversal", `{"url":"/decks/../admin"}`},
	{"traversal at the end", `{"url":"/decks/.."}`},
	{"single dot", `{"url":"/decks/./roadmap"}`},
	{"traversal encoded", `{"url":"/decks/%2e%2e/admin"}`},
	{"traversal half encoded", `{"url":"/decks/.%2E/admin"}`},
	{"traversal by encoded slashes", `{"url":"/decks/x%2f..%2fadmin"}`},
	{"traversal encoded twice", `{"url":"/decks/%252e%252e/admin"}`},
	{"traversal before an encoded query", `{"url":"/decks/..%3fx"}`},
	{"fragment", `{"url":"/decks#admin"}`},
	{"fragment encoded", `{"url":"/decks%23admin"}`},
	{"backslash encoded", `{"url":"/decks/%5cadmin"}`},
	{"control character", `{"url":"/decks/\u0000"}`},
	{"control character encoded", `{"url":"/decks/%00"}`},
	{"line break encoded", `{"url":"/decks/%0d%0aX-Evil:1"}`},
	{"space", `{"url":"/decks/a b"}`},
	{"bad encoding", `{"url":"/decks/%zz"}`},
	{"encoding cut short", `{"url":"/decks/%2"}`},
	{"encoding of bytes that are no UTF-8", `{"url":"/decks/%ff"}`},
	{"lone surrogate", `{"url":"/decks/\ud800"}`},
	{"too long", `{"url":"/` + strings.Repeat("a", 2048) + `"}`},
	{"no arguments", ``},
	{"no url", `{}`},
	{"null url", `{"url":null}`},
	{"number", `{"url":7}`},
	{"array", `{"url":["/"]}`},
	{"other spelling", `{"URL":"/"}`},
	{"one member too many", `{"url":"/","tenant":"globex"}`},
	{"arguments are an array", `["/"]`},
	{"arguments are null", `null`},
}

func TestABadLinkNeverReachesTheServer(t *testing.T) {
	everywhere(t, quiet(t), func(t *testing.T, g *gateway, era string) {
		c := g.caller(t, era, editor("acme"))
		for _, tt := range badLinks {
			g.Workspace.ForgetCalls()
			a := c.raw(t, "tools/call", "workspace.navigate", `{"name":"workspace.navigate"`+member("arguments", tt.arguments)+`}`)
			if calls := g.Workspace.Requests(); len(calls) != 0 {
				t.Errorf("%s: %s reached the server", tt.name, tt.arguments)
			}
			if a.code() != "-32602" && a.code() != "-32700" || string(a.message.Get("id")) != "7" && a.code() == "-32602" {
				t.Errorf("%s: answered with %s, want error -32602 with the id", tt.name, a)
			}
			wantStatus(t, tt.name, a, map[string]int{legacy: 200, modern: 400}[era], 400)
		}
	})
}

// Repeated members are refused before anybody has to choose between them.
func TestALinkWithTwoMeaningsIsRefused(t *testing.T) {
	g := start(t, stackFor(quiet(t)))
	for _, era := range eras {
		c := g.caller(t, era, editor("acme"))
		g.Workspace.ForgetCalls()
		for _, params := range []string{
			`{"name":"workspace.navigate","arguments":{"url":"/","url":"/decks/../admin"}}`,
			`{"name":"workspace.navigate","arguments":{"url":"/","\u0075rl":"/decks/../admin"}}`,
			`{"name":"workspace.navigate","arguments":{"url":"/"},"arguments":{"url":"/decks/../admin"}}`,
			`{"name":"workspace.navigate","arguments":{"url":"/"},"Arguments":{"url":"/decks/../admin"}}`,
		} {
			if a := c.raw(t, "tools/call", "workspace.navigate", params); a.status != 400 {
				t.Errorf("%s: %s is answered with %s", era, params, a)
			}
		}
		if got := g.Workspace.Requests(); len(got) != 0 {
			t.Errorf("%s: %d requests reached the server", era, len(got))
		}
	}
}

// The rules are those of the one tool that is named; others take what they like.
func TestOtherToolsAreNotHeldToTheRulesOfLinks(t *testing.T) {
	g := start(t, exampleConfig(t))
	for _, era := range eras {
		c := g.caller(t, era, editor("acme"))
		a := c.tool(t, "create_deck", map[string]any{"title": "/decks/../admin"})
		if !a.message.Get("result", "structuredContent", "deck").Exists() {
			t.Errorf("%s: %s", era, a)
		}
	}
}
