package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// work is one person's client at the sample server.
type work struct {
	*mcp.ClientSession
	t *testing.T
}

// refusal is what the sample server writes into tool errors.
type refusal struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Revision int64  `json:"revision"`
}

// do calls a tool and returns its structured content, and the refusal of a tool
// error.
func (w work) do(tool, arguments string) (map[string]any, refusal) {
	w.t.Helper()
	result, err := w.CallTool(w.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		w.t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if result.IsError {
		var r refusal
		text := result.Content[0].(*mcp.TextContent).Text
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.Code == "" {
			w.t.Fatalf("%s refuses with %q, want the refusal as JSON", tool, text)
		}
		return nil, r
	}
	content, _ := result.StructuredContent.(map[string]any)
	return content, refusal{}
}

// must is do for calls that succeed.
func (w work) must(tool, arguments string) map[string]any {
	w.t.Helper()
	content, r := w.do(tool, arguments)
	if r.Code != "" {
		w.t.Fatalf("%s %s: %s %s", tool, arguments, r.Code, r.Message)
	}
	return content
}

// refused is do for calls that are refused with a code.
func (w work) refused(code, tool, arguments string) refusal {
	w.t.Helper()
	content, r := w.do(tool, arguments)
	if r.Code != code {
		w.t.Errorf("%s %s: %q %v, want %s", tool, arguments, r.Code, content, code)
	}
	return r
}

func (w work) same(what string, got, want any) {
	w.t.Helper()
	if g, wanted := fmt.Sprint(got), fmt.Sprint(want); g != wanted {
		w.t.Errorf("%s: %s, want %s", what, g, wanted)
	}
}

// A day of work through the gateway, in both eras and both framings, by two
// companies at once: what one does, the other neither sees nor disturbs.
func TestTwoCompaniesWorkThroughTheGateway(t *testing.T) {
	everywhere(t, site(endpoint(allTools)), func(t *testing.T, g *gateway, era string) {
		acme, globex := work{g.connect(t, era, editor("acme")), t}, work{g.connect(t, era, editor("globex")), t}
		ofEra := func(text string) string { return strings.ReplaceAll(text, "{era}", era) }

		t.Run("decks", func(t *testing.T) {
			create := ofEra(`{"deckId":"plans-{era}","title":"Plans","columns":[{"title":"Home","connectionId":"acme-main","source":{"kind":"home"}}]}`)
			deck := acme.must("create_deck", create)["deck"].(map[string]any)
			acme.same("created again", acme.must("create_deck", create)["deck"], deck)
			column := deck["columns"].([]any)[0].(map[string]any)["id"].(string)

			posts := acme.must("fetch_column_posts", ofEra(`{"deckId":"plans-{era}","columnId":"`+column+`"}`))
			acme.same("posts of a page", len(posts["posts"].([]any)), 20)
			cursor := posts["nextCursor"].(string)
			acme.must("fetch_posts", `{"connectionId":"acme-main","source":{"kind":"home"},"cursor":"`+cursor+`"}`)
			acme.refused("bad_cursor", "fetch_posts", `{"connectionId":"acme-main","source":{"kind":"public"},"cursor":"`+cursor+`"}`)
			globex.refused("bad_cursor", "fetch_posts", `{"connectionId":"globex-main","source":{"kind":"home"},"cursor":"`+cursor+`"}`)

			replace := ofEra(`{"deckId":"plans-{era}","expectedRevision":1,"title":"Better plans","columns":[{"id":"` + column + `","title":"Everybody","connectionId":"acme-main","source":{"kind":"home"}}]}`)
			replaced := acme.must("replace_deck", replace)["deck"].(map[string]any)
			acme.same("revision and column", []any{replaced["revision"], replaced["columns"].([]any)[0].(map[string]any)["id"]}, []any{2, column})
			acme.same("newest revision", acme.refused("stale_revision", "replace_deck", replace).Revision, 2)
			acme.same("read", acme.must("get_deck", ofEra(`{"deckId":"plans-{era}"}`))["deck"], replaced)

			id := ofEra(`{"deckId":"plans-{era}"}`)
			unknown, foreign := globex.refused("not_found", "get_deck", `{"deckId":"no-such-deck"}`), globex.refused("not_found", "get_deck", id)
			acme.same("a foreign deck's refusal", foreign, unknown)
			globex.refused("not_found", "delete_deck", ofEra(`{"deckId":"plans-{era}","expectedRevision":2}`))
			acme.refused("stale_revision", "delete_deck", ofEra(`{"deckId":"plans-{era}","expectedRevision":1}`))
			acme.must("delete_deck", ofEra(`{"deckId":"plans-{era}","expectedRevision":2}`))
			acme.refused("not_found", "get_deck", id)
		})

		t.Run("activities", func(t *testing.T) {
			revision := int64(acme.must("get_activity_context", `{}`)["revision"].(float64))
			others := globex.must("get_activity_context", `{}`)
			publish := func(request string, revision int64, text string) string {
				return fmt.Sprintf(`{"requestId":%q,"expectedRevision":%d,"activities":[{"activityId":"note-%s","connectionId":"acme-main","text":%q,"hashtags":["ロケット"]}]}`, request+era, revision, era, text)
			}

			receipt := acme.must("publish_activities", publish("r1", revision, "First"))
			acme.same("newest revision", acme.refused("stale_revision", "publish_activities", publish("r2", revision, "Second")).Revision, revision+1)
			decided := acme.must("decide_activity", fmt.Sprintf(`{"activityId":"note-%s","expectedRevision":%d,"action":"edit","text":"By a person"}`, era, revision+1))
			decision := decided["activity"].(map[string]any)["decision"].(map[string]any)
			acme.same("who decided", decision["by"], "erin@acme") // as the gateway says, whatever the client does
			acme.must("publish_activities", publish("r2", revision+2, "Second"))
			acme.same("the first receipt, much later", acme.must("publish_activities", publish("r1", revision, "First")), receipt)
			acme.refused("conflict", "publish_activities", publish("r1", revision+3, "Third"))
			acme.refused("invalid_arguments", "publish_activities", strings.ReplaceAll(publish("r3", revision+3, "x"), "ロケット", "a b"))

			context := acme.must("get_activity_context", ofEra(`{"activityIds":["note-{era}","hammock-vote"]}`))
			activity := context["activities"].([]any)[0].(map[string]any)
			acme.same("revision", context["revision"], revision+3)
			acme.same("proposal and effect", []any{activity["proposal"].(map[string]any)["text"], activity["effective"].(map[string]any)["text"]}, []any{"Second", "By a person"})
			acme.same("the other company's activity", context["unknown"], []any{"hammock-vote"})
			acme.same("what the other company has", globex.must("get_activity_context", `{}`), others)
		})

		t.Run("mentions and connections", func(t *testing.T) {
			items := acme.must("search_mentions", `{"query":"mira"}`)["items"].([]any)
			uri := items[0].(map[string]any)["uri"].(string)
			read, err := acme.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil || !strings.Contains(read.Contents[0].Text, "Mira Okonkwo") {
				t.Errorf("%s is %v, %v", uri, read, err)
			}
			if read, err := globex.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("the other company reads %v", read.Contents[0].Text)
			}
			connections := fmt.Sprint(acme.must("list_connections", `{}`))
			if strings.Contains(connections, "recorded-") || strings.Contains(connections, "globex") || !strings.Contains(connections, "expired") {
				t.Errorf("connections %s", connections)
			}
			acme.refused("connection_not_usable", "list_lists", `{"connectionId":"acme-support"}`)
			acme.refused("not_found", "list_lists", `{"connectionId":"globex-main"}`)
		})
	})
}

// The web API is a door of the server that the gateway does not open.
func TestTheServersWebAPIIsNotReachedThroughTheGateway(t *testing.T) {
	g := start(t, exampleConfig(t))
	c := g.caller(t, modern, editor("acme"))
	g.Workspace.ForgetCalls()
	for _, path := range []string{"/api/decks", "/mcp/api/decks", "/mcp/../api/decks", "/mcp/..%2fapi/decks", "/mcp;/../api/decks"} {
		a := c.send(t, "GET", strings.TrimSuffix(c.url, "/mcp")+path, "", nil)
		if strings.Contains(string(a.body), "roadmap") {
			t.Errorf("%s is answered with %s", path, a)
		}
	}
	for _, r := range g.Workspace.Requests() {
		if strings.HasPrefix(r.Path, "/api/") {
			t.Errorf("the server was asked for %s", r.Path)
		}
	}
}

// The capabilities of the extensions fit what the sample server has: its tools
// for settings and mentions qualify, and what they answer passes the checks.
func TestSettingsAndMentionsOfTheSampleFitTheExtensions(t *testing.T) {
	everywhere(t, site(endpoint(allTools+"openai {\n\tsettings settings.read settings.update\n\tmentions search_mentions\n}\n")), func(t *testing.T, g *gateway, era string) {
		c := g.caller(t, era, editor("acme"))
		capabilities := c.handshake(t).message.Get("result", "capabilities", "extensions")
		for _, extension := range []string{"openai/settings", "openai/mentions"} {
			if !capabilities.Get(extension).Exists() {
				t.Errorf("%s is not advertised: %s", extension, capabilities)
			}
		}
		w := work{g.connect(t, era, editor("acme")), t}
		w.must("settings.read", `{}`)
		w.must("settings.update", `{"set":{"language":"pt-BR","undoSeconds":2.5,"notifyReplies":false,"theme":"dark"}}`)
		w.same("items", len(w.must("search_mentions", `{"query":""}`)["items"].([]any)), 6)
	})
}
