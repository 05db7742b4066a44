package openai

import (
	"strings"
	"testing"
)

func TestHintsAreFilledInAndOnlyMadeMoreCareful(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name     string
		declared Tool
		own      string
		want     string
		code     string
	}{
		{"fills in", Tool{ReadOnly: &yes, Destructive: &no, OpenWorld: &no}, ``, `{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}`, ""},
		{"null is nothing said", Tool{ReadOnly: &yes}, `{"readOnlyHint":null}`, `{"readOnlyHint":true}`, ""},
		{"same value", Tool{ReadOnly: &yes}, `{ "readOnlyHint":true }`, `{ "readOnlyHint":true }`, ""},
		{"more careful", Tool{ReadOnly: &no, Destructive: &yes, Idempotent: &no, OpenWorld: &yes}, `{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`, `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`, ""},
		{"a write stays a write", Tool{ReadOnly: &yes}, `{"readOnlyHint":false}`, `{"readOnlyHint":false}`, "hints-contradiction"},
		{"destructive is not read-only", Tool{ReadOnly: &yes}, `{"destructiveHint":true}`, `{"destructiveHint":true}`, "hints-contradiction"},
		{"not idempotent is not read-only", Tool{ReadOnly: &yes, OpenWorld: &no}, `{"idempotentHint":false}`, `{"idempotentHint":false}`, "hints-contradiction"},
		{"idempotent may be read-only", Tool{ReadOnly: &yes}, `{"idempotentHint":true}`, `{"idempotentHint":true,"readOnlyHint":true}`, ""},
		{"destructive stays destructive", Tool{Destructive: &no, OpenWorld: &no}, `{"destructiveHint":true}`, `{"destructiveHint":true,"openWorldHint":false}`, "hints-contradiction"},
		{"annotations that are none", Tool{ReadOnly: &yes}, `7`, `7`, "hints-bad-annotations"},
	}
	for _, tt := range tests {
		tt.declared.Name = "cad.*"
		tool := `{"name":"cad.a"}`
		if tt.own != "" {
			tool = `{"name":"cad.a","annotations":` + tt.own + `}`
		}
		got, found := compile(t, Declarations{Tools: []Tool{tt.declared}}).Tool(parse(t, tool))
		if string(got.Get("annotations")) != tt.want || codes(found) != tt.code {
			t.Errorf("%s: got %s, %q, want %s, %q", tt.name, got.Get("annotations"), codes(found), tt.want, tt.code)
		}
	}
}

func TestMostSpecificHintsDecideAsAWhole(t *testing.T) {
	yes, no := true, false
	o := compile(t, Declarations{Tools: []Tool{{Name: "cad.*", ReadOnly: &yes}, {Name: "cad.delete", Destructive: &yes, OpenWorld: &no}, {Name: "cad.delete", Invoking: "Deleting"}}})
	got, _ := o.Tool(parse(t, `{"name":"cad.delete"}`))
	if string(got) != `{"name":"cad.delete","annotations":{"destructiveHint":true,"openWorldHint":false},"_meta":{"openai/toolInvocation/invoking":"Deleting"}}` {
		t.Errorf("got %s", got)
	}
}

func TestToolMetadata(t *testing.T) {
	o := compile(t, Declarations{Tools: []Tool{
		{Name: "*", Description: "A tool.", Invoked: "Done"},
		{Name: "a", Description: "Opens A.", Title: "A", Visibility: []string{"app"}},
	}})
	tests := []struct{ tool, want string }{
		{
			`{"name":"a","description":"old"}`,
			`{"name":"a","description":"Opens A.","title":"A","_meta":{"openai/toolInvocation/invoked":"Done","ui":{"visibility":["app"]},"openai/widgetAccessible":true,"openai/visibility":"private"}}`,
		},
		{`{"name":"b","description":"old"}`, `{"name":"b","description":"old","_meta":{"openai/toolInvocation/invoked":"Done"}}`},
		{`{"name":"c"}`, `{"name":"c","description":"A tool.","_meta":{"openai/toolInvocation/invoked":"Done"}}`},
	}
	for _, tt := range tests {
		got, found := o.Tool(parse(t, tt.tool))
		if string(got) != tt.want || len(found) > 0 {
			t.Errorf("got %s, %v, want %s", got, found, tt.want)
		}
		if again, _ := o.Tool(got); string(again) != tt.want {
			t.Errorf("the second time gave %s", again)
		}
	}
	if got, found := o.Tool(parse(t, `{"name":"a","_meta":1}`)); string(got) != `{"name":"a","_meta":1}` || codes(found) != "tool-bad-meta" {
		t.Errorf("got %s, %v", got, found)
	}
}

func TestMirrorWritesTheOlderToolMembers(t *testing.T) {
	o := compile(t, Declarations{Mirror: true})
	tests := []struct{ meta, want string }{
		{`{"ui":{"resourceUri":"ui://a"}}`, `{"ui":{"resourceUri":"ui://a"},"openai/outputTemplate":"ui://a"}`},
		{`{"openai/outputTemplate":"ui://a"}`, `{"openai/outputTemplate":"ui://a","ui":{"resourceUri":"ui://a"}}`},
		{`{"ui":{"resourceUri":"ui://a"},"openai/outputTemplate":"ui://b"}`, `{"ui":{"resourceUri":"ui://a"},"openai/outputTemplate":"ui://a"}`},
		{`{"ui":{"visibility":["model"]}}`, `{"ui":{"visibility":["model"]},"openai/widgetAccessible":false,"openai/visibility":"public"}`},
		{`{"ui":{"visibility":["app"]}}`, `{"ui":{"visibility":["app"]},"openai/widgetAccessible":true,"openai/visibility":"private"}`},
		{`{"k":1}`, `{"k":1}`},
	}
	for _, tt := range tests {
		tool := `{"name":"t","_meta":` + tt.meta + `}`
		if got, _ := o.Tool(parse(t, tool)); string(got.Get("_meta")) != tt.want {
			t.Errorf("%s became %s, want %s", tt.meta, got.Get("_meta"), tt.want)
		}
		if got, _ := plain.Tool(parse(t, tool)); string(got) != tool {
			t.Errorf("without the option %s became %s", tool, got)
		}
	}
}

func TestToolMetadataIsReviewed(t *testing.T) {
	schema := `"inputSchema":{"type":"object","properties":{"doc":{"type":"object","properties":{"download_url":{},"file_id":{}}},"bare":{"type":"object"},"half":{"type":"object","properties":{"file_id":{}}},"text":{"type":"string"}}}`
	tests := []struct{ meta, code string }{
		{`{"ui":{"resourceUri":"ui://a"},"openai/outputTemplate":"ui://b"}`, "ui-resource-mismatch"},
		{`{"ui":{"visibility":[]}}`, "visibility-invalid"},
		{`{"ui":{"visibility":"app"}}`, "visibility-invalid"},
		{`{"ui":{"visibility":["user"]}}`, "visibility-invalid"},
		{`{"openai/toolInvocation/invoking":"` + strings.Repeat("é", 64) + `"}`, ""},
		{`{"openai/toolInvocation/invoking":"` + strings.Repeat("é", 65) + `"}`, "status-text"},
		{`{"openai/widgetCSP":{}}`, "csp-on-tool"},
		{`{"openai/fileParams":["doc","bare"]}`, ""},
		{`{"openai/fileParams":["half"]}`, "file-params"},
		{`{"openai/fileParams":["text"]}`, "file-params"},
		{`{"openai/fileParams":["gone"]}`, "file-params"},
		{`{"openai/fileParams":"doc"}`, "file-params"},
		{`{"openai/ui":{"x":"` + strings.Repeat("x", 70000) + `"}}`, "metadata-limit"},
	}
	for _, tt := range tests {
		tool := `{"name":"t",` + schema + `,"_meta":` + tt.meta + `}`
		got, found := plain.Tool(parse(t, tool))
		if string(got) != tool || codes(found) != tt.code {
			t.Errorf("%.80s: codes %q, want %q", tt.meta, codes(found), tt.code)
		}
	}
}

func TestToolMistakesAreFoundAtLoad(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		declared []Tool
		says     string
	}{
		{[]Tool{{Name: "a", ReadOnly: &yes, Destructive: &yes}}, "one of the two"},
		{[]Tool{{Name: "a", ReadOnly: &yes, Idempotent: &no}}, "leave idempotent out"},
		{[]Tool{{Name: "a*", Title: "A"}}, "exact name"},
		{[]Tool{{Name: "a", Invoking: strings.Repeat("x", 65)}}, "64 characters"},
		{[]Tool{{Name: "a", Visibility: []string{}}}, "model, app or both"},
		{[]Tool{{Name: "a", Visibility: []string{"user"}}}, "model, app or both"},
		{[]Tool{{Name: "a", Description: "x"}, {Name: "a", Description: "y"}}, "declared twice"},
		{[]Tool{{Name: " "}}, "name or pattern"},
	}
	for _, tt := range tests {
		_, err := Compile(Declarations{Tools: tt.declared})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: error %v, want one that says %q", tt.declared, err, tt.says)
		}
	}
}

// TestDeclaredHintsCountForEverythingElse: hints come first, so that a server
// whose SDK leaves them out can have entrypoints and capabilities.
func TestDeclaredHintsCountForEverythingElse(t *testing.T) {
	yes := true
	o := compile(t, Declarations{
		Tools:       []Tool{{Name: "settings.read", ReadOnly: &yes}, {Name: "board", ReadOnly: &yes}},
		Settings:    &Settings{ReadTool: "settings.read", UpdateTool: "settings.update"},
		Entrypoints: []Entrypoint{{Tool: "board", Type: "global"}},
	})
	catalog := tools{"settings.read": strings.Replace(readTool, `,"annotations":{"readOnlyHint":true}`, ``, 1), "settings.update": updateTool}
	if got, found := o.Capabilities(true, parse(t, `{}`), catalog); !got.Get("extensions", "openai/settings").Exists() {
		t.Errorf("got %s, %v", got, found)
	}
	bare := strings.Replace(boardTool, `"annotations":{"readOnlyHint":true},`, ``, 1)
	if got, found := o.Tool(parse(t, bare)); !declares(got, "global") {
		t.Errorf("got %s, %v", got, found)
	}
}

func TestRevisionTableIsComplete(t *testing.T) {
	for i, d := range Differences() {
		if d.Rule == "" || d.Meaning == "" || d.E314720 == d.V02 {
			t.Errorf("row %d is no difference: %+v", i, d)
		}
		if revision(SpecE314720).has(i) != d.E314720 || revision(Spec02).has(i) != d.V02 {
			t.Errorf("row %d is not what the code asks: %+v", i, d)
		}
	}
}
