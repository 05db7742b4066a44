package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

const searchTool = `{"name":"cad.mentions","inputSchema":{"type":"object","properties":{"query":{"type":"string","maxLength":256}},"required":["query"]},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"visibility":["app"]},"openai/extensions":{"mentions/search":{}}}}`

func TestMentionQueryCases(t *testing.T) {
	runCases(t, "mentions.query", func(_ *testing.T, input rawjson.Value) error { return plain.MentionsQuery(input, nil) })
}

func TestMentionItemCases(t *testing.T) {
	runCases(t, "mentions.items", func(_ *testing.T, input rawjson.Value) error { return plain.MentionItems(input) })
}

func TestMentionQueryFollowsThePublishedSchema(t *testing.T) {
	open := parse(t, `{"type":"object","properties":{"query":{"type":"string"}}}`)
	listed := parse(t, `{"type":"object","properties":{"query":{"type":"string"},"path":{"type":"array"}},"additionalProperties":false}`)
	tests := []struct {
		arguments string
		schema    rawjson.Value
		ok        bool
	}{
		{`{"query":""}`, nil, true},
		{`{"query":"x","path":[]}`, open, true},
		{`{"query":"x","path":[]}`, listed, true},
		{`{"query":"x","tenant":"t"}`, listed, false},
		{`{"query":null}`, open, false},
		{`[]`, open, false},
	}
	for _, tt := range tests {
		if err := plain.MentionsQuery(parse(t, tt.arguments), tt.schema); (err == nil) != tt.ok {
			t.Errorf("%s: %v, want accepted %v", tt.arguments, err, tt.ok)
		}
	}
}

func TestMentionItemsBeyondTheCases(t *testing.T) {
	tests := []struct {
		items string
		ok    bool
	}{
		{`[{"type":"group","title":"G","items":[]}]`, false},
		{`[{"type":"resource_link","uri":"javascript:alert(1)","name":"n"}]`, false},
		{`[{"type":"resource_link","uri":"JavaScript:alert(1)","name":"n"}]`, false},
		{`[{"type":"resource_link","uri":"data:text/html,x","name":"n"}]`, false},
		{`[{"type":"resource_link","uri":"a b:c","name":"n"}]`, false},
		{`[{"type":"resource_link","uri":"acme:\u202ex","name":"n"}]`, true},
		{`[{"type":"resource_link","uri":"no-scheme","name":"n"}]`, false},
		{`[{"type":"resource_link","uri":"acme:x","name":"\u200b"}]`, false},
		{`[{"type":"resource_link","uri":"acme:x","name":"n","size":-1}]`, false},
		{`[{"type":"resource_link","uri":"acme:x","name":"n","size":12,"annotations":{"audience":["user"]},"_meta":{"k":1}}]`, true},
		{`[{"type":"resource_link","uri":"acme:x","name":"n","annotations":[]}]`, false},
		{`[{"type":"resource_link","uri":"acme:x","name":"n","icons":[{"src":"data:image/png;base64,AAAA"}]}]`, true},
		{`[{"type":"resource_link","uri":"acme:x","name":"n","icons":[{"src":"data:text/html;base64,AAAA"}]}]`, false},
		{`[{"type":"resource_link","uri":"acme:x","name":"n","icons":[{"src":"http://a/b"}]}]`, false},
		{`[{"type":"resource_link","uri":"acme:x","name":"n","icons":[{"src":"https://u:p@a/b"}]}]`, false},
		{`[{"type":"resource_link","uri":"acme:x","name":"n","_meta":{"__proto__":{}}}]`, false},
	}
	for _, tt := range tests {
		if err := plain.MentionItems(parse(t, tt.items)); (err == nil) != tt.ok {
			t.Errorf("%s: %v, want accepted %v", tt.items, err, tt.ok)
		}
	}
}

func TestMentionsCapability(t *testing.T) {
	o := compile(t, Declarations{Mentions: &Mentions{SearchTool: "cad.mentions"}, Settings: &Settings{ReadTool: "settings.read", UpdateTool: "settings.update"}})
	everything := tools{"cad.mentions": searchTool, "settings.read": readTool, "settings.update": updateTool}
	change := func(from, to string) tools {
		return tools{"cad.mentions": strings.Replace(searchTool, from, to, 1), "settings.read": readTool, "settings.update": updateTool}
	}
	mentions, both := `"openai/mentions":{"searchTool":"cad.mentions"}`, `"openai/settings":`+pair
	tests := []struct {
		name    string
		catalog Catalog
		modern  bool
		want    string
	}{
		{"with settings", everything, true, `{"extensions":{` + both + `,` + mentions + `}}`},
		{"older clients", everything, false, `{"extensions":{` + both + `,` + mentions + `},"experimental":{` + both + `,` + mentions + `}}`},
		{"not read-only", change(`"readOnlyHint":true`, `"readOnlyHint":false`), true, `{"extensions":{` + both + `}}`},
		{"visibility is completed", change(`["app"]`, `["model"]`), true, `{"extensions":{` + both + `,` + mentions + `}}`},
		{"empty query refused", change(`"maxLength":256`, `"minLength":1`), true, `{"extensions":{` + both + `}}`},
		{"query is a number", change(`"type":"string"`, `"type":"number"`), true, `{"extensions":{` + both + `}}`},
		{"hidden", settingsTools, true, `{"extensions":{` + both + `}}`},
		{"no catalog", nil, true, `{}`},
	}
	for _, tt := range tests {
		got, _ := o.Capabilities(tt.modern, parse(t, `{}`), tt.catalog)
		if string(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}

	unfit := parse(t, `{"extensions":{`+mentions+`,"openai/extensions":{}},"experimental":{`+mentions+`}}`)
	got, _ := plain.Capabilities(false, unfit, change(`["app"]`, `["model"]`))
	if string(got) != `{"extensions":{"openai/extensions":{}},"experimental":{}}` {
		t.Errorf("the server's own advertisement of an unfit tool: %s", got)
	}
}

// TestMarkerNeverBringsBackWhatWasWithheld: a host that finds no capability
// falls back to the marker.
func TestMarkerNeverBringsBackWhatWasWithheld(t *testing.T) {
	configured := compile(t, Declarations{Mentions: &Mentions{SearchTool: "cad.mentions"}})
	older := compile(t, Declarations{Spec: "e314720", Mentions: &Mentions{SearchTool: "cad.mentions"}})
	other := strings.Replace(searchTool, "cad.mentions", "cad.other", 1)
	unfit := strings.Replace(searchTool, `"readOnlyHint":true`, `"readOnlyHint":false`, 1)
	tests := []struct {
		name    string
		overlay *Overlay
		options PageOptions
		tool    string
		marked  bool
	}{
		{"nothing declared anywhere", plain, PageOptions{Mentions: MentionsAbsent}, searchTool, true},
		{"nothing declared, tool of an older server", plain, PageOptions{Mentions: MentionsAbsent}, unfit, true},
		{"server's capability withheld", plain, PageOptions{Mentions: MentionsWithheld}, searchTool, false},
		{"server's capability advertised", plain, PageOptions{Mentions: MentionsAdvertised}, searchTool, false},
		{"not known, tool fits", plain, PageOptions{}, searchTool, true},
		{"not known, tool does not fit", plain, PageOptions{}, unfit, false},
		{"configured", configured, PageOptions{}, searchTool, false},
		{"configured, unfit", configured, PageOptions{}, unfit, false},
		{"configured, another tool", configured, PageOptions{}, other, false},
		{"older revision, older client", older, PageOptions{}, searchTool, true},
		{"older revision, unfit", older, PageOptions{}, unfit, false},
		{"older revision, modern client", older, PageOptions{Modern: true}, searchTool, false},
	}
	for _, tt := range tests {
		got, _ := tt.overlay.Page(tt.options).Tool(parse(t, tt.tool))
		if marked := got.Get("_meta", "openai/extensions", "mentions/search").Exists(); marked != tt.marked {
			t.Errorf("%s: marked %v, want %v: %s", tt.name, marked, tt.marked, got)
		}
	}

	bare := strings.Replace(searchTool, `,"openai/extensions":{"mentions/search":{}}`, ``, 1)
	if got, _ := older.Tool(parse(t, bare)); !got.Get("_meta", "openai/extensions", "mentions/search").Exists() {
		t.Errorf("the older revision is declared by marker: %s", got)
	}
	capable := parse(t, `{"extensions":{"openai/mentions":{"searchTool":"cad.mentions"}}}`)
	if got, _ := older.Capabilities(false, capable, tools{"cad.mentions": searchTool}); string(got) != `{"extensions":{}}` {
		t.Errorf("a capability would switch the marker off: %s", got)
	}
	if got, _ := older.Capabilities(true, parse(t, `{}`), tools{"cad.mentions": searchTool}); !got.Get("extensions", "openai/mentions").Exists() {
		t.Errorf("a modern client gets the capability: %s", got)
	}
}

func TestMentionsStateFollowsTheCapabilities(t *testing.T) {
	with, without := parse(t, `{"experimental":{"openai/mentions":{"searchTool":"a"}}}`), parse(t, `{}`)
	configured := compile(t, Declarations{Mentions: &Mentions{SearchTool: "a"}})
	for _, tt := range []struct {
		overlay       *Overlay
		before, after rawjson.Value
		want          MentionsState
	}{
		{plain, with, with, MentionsAdvertised},
		{plain, with, without, MentionsWithheld},
		{plain, without, without, MentionsAbsent},
		{configured, without, without, MentionsWithheld},
	} {
		if got := tt.overlay.MentionsState(tt.before, tt.after); got != tt.want {
			t.Errorf("%s to %s: %v, want %v", tt.before, tt.after, got, tt.want)
		}
	}
}

func TestSearchToolBecomesCallableByTheApp(t *testing.T) {
	o := compile(t, Declarations{Mentions: &Mentions{SearchTool: "cad.mentions"}})
	for from, want := range map[string]string{`["model"]`: `["model","app"]`, `["app"]`: `["app"]`, `["app","model"]`: `["app","model"]`} {
		got, _ := o.Tool(parse(t, strings.Replace(searchTool, `["app"]`, from, 1)))
		if v := got.Get("_meta", "ui", "visibility"); string(v) != want {
			t.Errorf("%s became %s, want %s", from, v, want)
		}
	}
	got, _ := o.Tool(parse(t, strings.Replace(searchTool, `"ui":{"visibility":["app"]},`, ``, 1)))
	if v := got.Get("_meta", "ui", "visibility"); string(v) != `["model","app"]` {
		t.Errorf("no list became %s", v)
	}
}

func TestHandlesAreGoodForTheirCallerOnly(t *testing.T) {
	o := compile(t, Declarations{Mentions: &Mentions{SearchTool: "s", BindHandles: []string{"acme://*"}}})
	key := []byte("0123456789abcdef0123456789abcdef")
	alice, bob := o.Handles(key, []byte("iss\x00alice\x00acme")), o.Handles(key, []byte("iss\x00bob\x00acme"))
	for _, handle := range []string{"acme://orders/9", "acme://orders/9#part", "acme://a?x=1#y&z"} {
		sealed := alice.Seal(handle)
		if got, err := alice.Open(sealed); err != nil || got != handle {
			t.Errorf("Open(%s) = %s, %v", sealed, got, err)
		}
		for name, forged := range map[string]string{
			"guessed":         handle,
			"another handle":  strings.Replace(sealed, "acme://", "acme://x", 1),
			"cut":             sealed[:len(sealed)-1],
			"seal of another": bob.Seal(handle),
		} {
			if got, err := alice.Open(forged); !errors.Is(err, ErrUnknownHandle) {
				t.Errorf("%s: Open(%s) = %s, %v", name, forged, got, err)
			}
		}
	}
	if got, err := alice.Open("ui://page"); err != nil || got != "ui://page" {
		t.Errorf("an address that is not bound: %s, %v", got, err)
	}

	arguments := parse(t, `{ "id":`+string(rawjson.Quote(alice.Seal("acme://1")))+` ,"list":["x",{"h":`+string(rawjson.Quote(alice.Seal("acme://2")))+`}],"n":1.0}`)
	opened, err := alice.OpenAll(arguments)
	if err != nil || string(opened) != `{ "id":"acme://1" ,"list":["x",{"h":"acme://2"}],"n":1.0}` {
		t.Errorf("OpenAll = %s, %v", opened, err)
	}
	if _, err := bob.OpenAll(arguments); !errors.Is(err, ErrUnknownHandle) {
		t.Errorf("another caller: %v", err)
	}
	if _, err := alice.OpenAll(parse(t, `["x","acme://1"]`)); !errors.Is(err, ErrUnknownHandle) {
		t.Errorf("a guess in a list: %v", err)
	}
	many := "[" + strings.Repeat(string(rawjson.Quote(alice.Seal("acme://1")))+",", 64) + `"` + alice.Seal("acme://2") + `"]`
	if _, err := alice.OpenAll(parse(t, many)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("65 handles: %v", err)
	}
}

func TestMentionResultIsSealedInStructureAndText(t *testing.T) {
	o := compile(t, Declarations{Mentions: &Mentions{SearchTool: "s", BindHandles: []string{"acme:*"}}})
	h := o.Handles([]byte("k"), []byte("b"))
	result := parse(t, `{"content":[{"type":"text","text":"acme:1"}],"structuredContent":{"items":[{"type":"resource_link","uri":"acme:1","name":"One"},{"type":"resource","resourceUri":"other:2","title":"Two"}]}}`)
	got, err := o.MentionsResult(result, h.Seal)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"items":[{"type":"resource_link","uri":"` + h.Seal("acme:1") + `","name":"One"},{"type":"resource","resourceUri":"other:2","title":"Two"}]}`
	if string(got.Get("structuredContent")) != want || contentText(got) != want {
		t.Errorf("got %s", got)
	}
	if got, err := o.MentionsResult(result, nil); err != nil || string(got) != string(result) {
		t.Errorf("without sealing: %s, %v", got, err)
	}
	if _, err := o.MentionsResult(parse(t, `{"structuredContent":{"items":[],"total":9}}`), nil); err == nil {
		t.Error("an extra member passed")
	}
}
