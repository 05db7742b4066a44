package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

const boardTool = `{"name":"board","title":"Board","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://acme/board"}}}`

func TestEntrypointCases(t *testing.T) {
	runCases(t, "entrypoint", func(t *testing.T, input rawjson.Value) error {
		tool := input.Get("tool")
		name, _ := tool.Get("name").Text()
		kinds, _ := texts(input.Get("entrypoints"))
		var d Declarations
		for _, kind := range kinds {
			d.Entrypoints = append(d.Entrypoints, Entrypoint{Tool: name, Type: kind})
		}
		o, err := Compile(d)
		if err != nil {
			return err
		}
		out, found := o.Tool(tool)
		if len(kinds) == 0 || !declares(out, kinds...) {
			return errors.New("not declared: " + codes(found))
		}
		return nil
	})
}

func TestEntrypointIsWrittenBesideEverythingElse(t *testing.T) {
	tool := parse(t, `{ "name":"board", "title":"Board","inputSchema": {"type":"object"} ,"annotations":{"readOnlyHint":true},"_meta":{"n":9007199254740993,"ui":{"resourceUri":"ui://acme/board"}},"x":[1.0] }`)
	o := compile(t, Declarations{Entrypoints: []Entrypoint{{Tool: "board", Type: "global"}}})
	got, found := o.Tool(tool)
	want := `{ "name":"board", "title":"Board","inputSchema": {"type":"object"} ,"annotations":{"readOnlyHint":true},"_meta":{"n":9007199254740993,"ui":{"resourceUri":"ui://acme/board"},"openai/ui":{"entrypoints":[{"type":"global"}]}},"x":[1.0] }`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(found) > 0 {
		t.Errorf("findings %v", found)
	}
	again, _ := o.Tool(got)
	if string(again) != want {
		t.Errorf("the second time gave %s", again)
	}
}

func TestEntrypointMergesAndNeverRepeats(t *testing.T) {
	action := &QuickAction{Title: "New", Icons: []Icon{{Src: "https://cdn.example/new.svg"}}, Tool: "create", Arguments: []byte(`{"kind":"deck"}`)}
	wantAction := `{"title":"New","icons":[{"src":"https://cdn.example/new.svg"}],"target":{"type":"tool","name":"create","arguments":{"kind":"deck"}}}`
	tests := []struct {
		name     string
		upstream string
		declared []Entrypoint
		want     string
	}{
		{"other type there", `[{"type":"thread"}]`, []Entrypoint{{Type: "global"}}, `[{"type":"thread"},{"type":"global"}]`},
		{"same type there", `[ {"type":"global","x":1} ]`, []Entrypoint{{Type: "global"}}, `[ {"type":"global","x":1} ]`},
		{"member added to what is there", `[{"type":"global","x":1}]`, []Entrypoint{{Type: "global", QuickAction: action}}, `[{"type":"global","x":1,"quickAction":` + wantAction + `}]`},
		{"two at once", ``, []Entrypoint{{Type: "thread"}, {Type: "global"}}, `[{"type":"thread"},{"type":"global"}]`},
	}
	for _, tt := range tests {
		tool := parse(t, boardTool)
		if tt.upstream != "" {
			tool = must(tool.Set(rawjson.Value(tt.upstream), "_meta", "openai/ui", "entrypoints"))
		}
		for i := range tt.declared {
			tt.declared[i].Tool = "board"
		}
		got, _ := compile(t, Declarations{Entrypoints: tt.declared}).Tool(tool)
		if list := got.Get("_meta", "openai/ui", "entrypoints"); string(list) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, list, tt.want)
		}
	}
}

func TestFileEntrypointJoinsExtensions(t *testing.T) {
	tool := parse(t, `{"name":"cad.open","title":"Viewer","inputSchema":{"type":"object","properties":{"file":{"type":"object","properties":{"name":{"type":"string"},"resourceUri":{"type":"string"}},"required":["name","resourceUri"]}},"required":["file"]},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://cad/viewer"},"openai/ui":{"entrypoints":[{"type":"file","extensions":[".STL"]}]}}}`)
	o := compile(t, Declarations{Entrypoints: []Entrypoint{{Tool: "cad.open", Type: "file", Extensions: []string{".stl", ".step"}}}})
	got, found := o.Tool(tool)
	if list := got.Get("_meta", "openai/ui", "entrypoints"); string(list) != `[{"type":"file","extensions":[".STL",".step"]}]` || len(found) > 0 {
		t.Errorf("got %s, %v", list, found)
	}
}

func TestUnfitEntrypointToolStaysAsItWas(t *testing.T) {
	tests := []struct {
		name, tool, kind, code string
	}{
		{"flat spelling of the resource counts", `{"name":"t","title":"T","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui/resourceUri":"ui://a/b"}}`, "global", ""},
		{"older spelling of the resource counts", `{"name":"t","title":"T","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"openai/outputTemplate":"ui://a/b"}}`, "thread", ""},
		{"resource elsewhere", `{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"https://a/b"}}}`, "global", "entrypoint-no-ui"},
		{"resource with credentials", `{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://u:p@a/b"}}}`, "global", "entrypoint-no-ui"},
		{"no hint at all", `{"name":"t","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://a/b"}}}`, "global", "entrypoint-not-read-only"},
		{"hint as text", `{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"true"},"_meta":{"ui":{"resourceUri":"ui://a/b"}}}`, "global", "entrypoint-not-read-only"},
		{"needs an argument", `{"name":"t","inputSchema":{"type":"object","properties":{"id":{}},"required":["id"]},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a/b"}}}`, "thread", "entrypoint-needs-arguments"},
		{"no schema", `{"name":"t","annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a/b"}}}`, "global", "entrypoint-needs-arguments"},
		{"reference", `{"name":"t","inputSchema":{"type":"object","$ref":"#/$defs/a"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a/b"}}}`, "global", "entrypoint-needs-arguments"},
		{"nullable type", `{"name":"t","inputSchema":{"type":["object","null"]},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a/b"}}}`, "global", "entrypoint-needs-arguments"},
		{"file without the shape", `{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a/b"}}}`, "file", "entrypoint-file-schema"},
		{"file with more required", `{"name":"t","inputSchema":{"type":"object","properties":{"file":{"type":"object","properties":{"name":{"type":"string"},"resourceUri":{"type":"string"}}}},"required":["file","mode"]},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a/b"}}}`, "file", "entrypoint-file-schema"},
		{"title is the plugin's", `{"name":"t","title":"Bits & Bolts","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a/b"}}}`, "global", "entrypoint-title-is-plugin"},
		{"list that is none", `{"name":"t","title":"T","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a/b"},"openai/ui":{"entrypoints":{}}}}`, "global", "entrypoint-not-list"},
		{"member that is no object", `{"name":"t","title":"T","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a/b"},"openai/ui":7}}`, "global", "entrypoint-bad-meta"},
	}
	for _, tt := range tests {
		e := Entrypoint{Tool: "t", Type: tt.kind}
		if tt.kind == "file" {
			e.Extensions = []string{".stl"}
		}
		o := compile(t, Declarations{Plugin: "bits-and-bolts", Entrypoints: []Entrypoint{e}})
		tool := parse(t, tt.tool)
		got, found := o.Tool(tool)
		if tt.code == "" {
			if !declares(got, tt.kind) || len(found) > 0 {
				t.Errorf("%s: got %s, %v", tt.name, got, found)
			}
			continue
		}
		if string(got) != tt.tool || codes(found) != tt.code {
			t.Errorf("%s: codes %q, want %q; tool %s", tt.name, codes(found), tt.code, got)
		}
		if len(found) > 0 && (found[0].Fix == "" || found[0].Subject != "t") {
			t.Errorf("%s: finding without help: %+v", tt.name, found[0])
		}
	}
}

func TestEntrypointTitleIsUniqueOnAPage(t *testing.T) {
	o := compile(t, Declarations{Entrypoints: []Entrypoint{{Tool: "a", Type: "global"}, {Tool: "b", Type: "thread"}}})
	page := o.Page(PageOptions{})
	first, _ := page.Tool(parse(t, strings.Replace(boardTool, `"board"`, `"a"`, 1)))
	second, found := page.Tool(parse(t, strings.Replace(strings.Replace(boardTool, `"board"`, `"b"`, 1), `"Board"`, `"board "`, 1)))
	if !declares(first, "global") || declares(second, "thread") || codes(found) != "entrypoint-title-repeated" {
		t.Errorf("got %s and %s, %v", first, second, found)
	}
}

func TestEntrypointTitleAndIconsGoOnTheTool(t *testing.T) {
	o := compile(t, Declarations{Entrypoints: []Entrypoint{{
		Tool: "board", Type: "global", Title: "Decks",
		Icons: []Icon{{Src: "data:image/svg+xml,<svg fill='currentColor'/>", MIMEType: "image/svg+xml", Sizes: []string{"20x20"}}},
	}}})
	got, found := o.Tool(parse(t, boardTool))
	if title, _ := got.Get("title").Text(); title != "Decks" {
		t.Errorf("title %q", title)
	}
	if icons := got.Get("icons"); string(icons) != `[{"src":"data:image/svg+xml,<svg fill='currentColor'/>","mimeType":"image/svg+xml","sizes":["20x20"]}]` {
		t.Errorf("icons %s", icons)
	}
	if len(found) > 0 {
		t.Errorf("findings %v", found)
	}
}

func TestQuickActionToAHiddenToolIsLeftOut(t *testing.T) {
	action := &QuickAction{Title: "New", Icons: []Icon{{Src: "https://cdn.example/new.svg"}}, Tool: "create"}
	o := compile(t, Declarations{Entrypoints: []Entrypoint{{Tool: "board", Type: "global", QuickAction: action}}})
	for _, visible := range []bool{true, false} {
		got, _ := o.Page(PageOptions{Visible: func(name string) bool { return visible && name == "create" }}).Tool(parse(t, boardTool))
		if has := strings.Contains(string(got), "create"); has != visible || !declares(got, "global") {
			t.Errorf("visible %v: got %s", visible, got)
		}
	}
}

func TestServersOwnEntrypointsAreReviewed(t *testing.T) {
	icon := `"icons":[{"src":"https://cdn.example/i.svg"}]`
	tests := []struct{ entrypoint, code string }{
		{`{"type":"global"}`, ""},
		{`{"type":"global","header":{"enabled":true}}`, ""},
		{`{"type":"file","extensions":[".stl",".step"]}`, ""},
		{`{"type":"file","extensions":["stl"]}`, "entrypoint-invalid"},
		{`{"type":"file","extensions":[" .csv"]}`, "entrypoint-invalid"},
		{`{"type":"file"}`, "entrypoint-invalid"},
		{`{"type":"settings"}`, "entrypoint-invalid"},
		{`{"type":"window"}`, "entrypoint-invalid"},
		{`{"type":"global","quickAction":{"title":"New",` + icon + `,"target":{"type":"tool","name":"create"}}}`, ""},
		{`{"type":"global","quickAction":{"title":" ",` + icon + `,"target":{"type":"tool","name":"create"}}}`, "entrypoint-invalid"},
		{`{"type":"global","quickAction":{"title":"New","icons":[],"target":{"type":"tool","name":"create"}}}`, "entrypoint-invalid"},
		{`{"type":"global","quickAction":{"title":"New",` + icon + `,"target":{"type":"tool"}}}`, "entrypoint-invalid"},
		{`{"type":"global","quickAction":{"title":"New",` + icon + `,"target":{"type":"tool","name":" "}}}`, "entrypoint-invalid"},
		{`{"type":"global","quickAction":{"title":"New",` + icon + `,"target":{"name":"create"}}}`, "entrypoint-invalid"},
		{`{"type":"global","quickAction":{"title":"New",` + icon + `,"target":{"type":"url","name":"create"}}}`, "entrypoint-invalid"},
		{`{"type":"global","quickAction":{"title":"New",` + icon + `,"target":{"type":"tool","name":"create","arguments":[]}}}`, "entrypoint-invalid"},
		{`{"type":"global","quickAction":{"title":"New",` + icon + `,"target":"create"}}`, "entrypoint-invalid"},
		{`{"type":"global","quickAction":{"title":"New",` + icon + `,"target":{"type":"tool","name":"create"},"deepLink":"/x"}}`, "entrypoint-invalid"},
		{`{"type":"thread","quickAction":{"title":"New",` + icon + `,"target":{"type":"tool","name":"create"}}}`, "entrypoint-invalid"},
	}
	o := compile(t, Declarations{})
	for _, tt := range tests {
		tool := must(parse(t, boardTool).Set(rawjson.Value("["+tt.entrypoint+"]"), "_meta", "openai/ui", "entrypoints"))
		got, found := o.Tool(tool)
		if string(got) != string(tool) || codes(found) != tt.code {
			t.Errorf("%s: codes %q, want %q; tool %s", tt.entrypoint, codes(found), tt.code, got)
		}
	}
	several := must(parse(t, boardTool).Set(rawjson.Value(`[{"type":"global"},{"type":"thread"}]`), "_meta", "openai/ui", "entrypoints"))
	if _, found := o.Tool(several); codes(found) != "entrypoint-several" {
		t.Errorf("two entrypoints on one tool: %v", found)
	}
}

func TestEntrypointMistakesAreFoundAtLoad(t *testing.T) {
	tests := []struct {
		declared []Entrypoint
		says     string
	}{
		{[]Entrypoint{{Tool: "cad.*", Type: "global"}}, "one line for each tool"},
		{[]Entrypoint{{Tool: " ", Type: "global"}}, "as tools/list gives it"},
		{[]Entrypoint{{Tool: "a", Type: "sidebar"}}, "write global, thread or file"},
		{[]Entrypoint{{Tool: "a", Type: "settings"}}, "write settings <read-tool> <update-tool>"},
		{[]Entrypoint{{Tool: "a", Type: "file"}}, "such as .stl"},
		{[]Entrypoint{{Tool: "a", Type: "file", Extensions: []string{"stl"}}}, `write ".stl"`},
		{[]Entrypoint{{Tool: "a", Type: "file", Extensions: []string{".stl", ".STL"}}}, "keep one"},
		{[]Entrypoint{{Tool: "a", Type: "global", Extensions: []string{".stl"}}}, "write entrypoint a file .stl"},
		{[]Entrypoint{{Tool: "a", Type: "global"}, {Tool: "a", Type: "global"}}, "declared twice"},
		{[]Entrypoint{{Tool: "a", Type: "global", Title: "T"}, {Tool: "a", Type: "thread", Title: "U"}}, "one title"},
		{[]Entrypoint{{Tool: "a", Type: "global", Title: "T"}, {Tool: "b", Type: "thread", Title: "t"}}, "give each entrypoint its own"},
		{[]Entrypoint{{Tool: "a", Type: "global", Title: "\u200b"}}, "visible text"},
		{[]Entrypoint{{Tool: "a", Type: "global", Title: "Bits & Bolts"}}, "the plugin's own"},
		{[]Entrypoint{{Tool: "a", Type: "global", Icons: []Icon{{Src: "icon.png"}}}}, "https address"},
		{[]Entrypoint{{Tool: "a", Type: "thread", QuickAction: &QuickAction{Title: "N", Tool: "b", Icons: []Icon{{Src: "https://a/b"}}}}}, "belongs to a global entrypoint"},
		{[]Entrypoint{{Tool: "a", Type: "global", QuickAction: &QuickAction{Title: "N", Tool: "b"}}}, "at least one icon"},
		{[]Entrypoint{{Tool: "a", Type: "global", QuickAction: &QuickAction{Title: "N", Tool: "b", Icons: []Icon{{Src: "https://a/b"}}, Arguments: []byte(`[1]`)}}}, "must be an object"},
	}
	for _, tt := range tests {
		_, err := Compile(Declarations{Plugin: "bits-and-bolts", Entrypoints: tt.declared})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: error %v, want one that says %q", tt.declared, err, tt.says)
		}
	}
}

// declares reports whether a tool has exactly these kinds among its
// entrypoints, each once.
func declares(tool rawjson.Value, kinds ...string) bool {
	count := make(map[string]int)
	for e := range tool.Get("_meta", "openai/ui", "entrypoints").Elements() {
		kind, _ := e.Get("type").Text()
		count[kind]++
	}
	for _, kind := range kinds {
		if count[kind] != 1 {
			return false
		}
	}
	return true
}
