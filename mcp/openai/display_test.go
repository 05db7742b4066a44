package openai

import (
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func TestDisplayCases(t *testing.T) {
	runCases(t, "display", func(_ *testing.T, input rawjson.Value) error { return CheckDisplay(input) })
}

func TestDisplayGoesOnMatchingItemsAndLeavesTheDocument(t *testing.T) {
	o := compile(t, Declarations{Display: []Display{
		{URI: "ui://bits/*", Available: []string{"inline", "fullscreen"}, Prefer: "fullscreen"},
		{URI: "ui://bits/tray", Available: []string{"inline"}},
	}})
	tests := []struct{ name, item, want string }{
		{
			"glob", `{"uri":"ui://bits/library","mimeType":"text/html;profile=mcp-app","text":"<p>\u00e9 \"x\""}`,
			`{"uri":"ui://bits/library","mimeType":"text/html;profile=mcp-app","text":"<p>\u00e9 \"x\"","_meta":{"openai/ui":{"availableDisplayModes":["inline","fullscreen"],"preferredDisplayMode":"fullscreen"}}}`,
		},
		{
			"exact address wins over the glob", `{"uri":"ui://bits/tray","blob":"PGI+"}`,
			`{"uri":"ui://bits/tray","blob":"PGI+","_meta":{"openai/ui":{"availableDisplayModes":["inline"]}}}`,
		},
		{
			"configured members win, others stay", `{"uri":"ui://bits/a","text":"","_meta":{"openai/ui":{"preferredDisplayMode":"inline","x":1},"ui":{"csp":{}}}}`,
			`{"uri":"ui://bits/a","text":"","_meta":{"openai/ui":{"preferredDisplayMode":"fullscreen","x":1,"availableDisplayModes":["inline","fullscreen"]},"ui":{"csp":{}}}}`,
		},
		{"other address", `{"uri":"ui://nuts/library","text":""}`, ""},
		{"not ui", `{"uri":"https://bits/library","text":""}`, ""},
		{"not HTML", `{"uri":"ui://bits/a.css","mimeType":"text/css","text":""}`, ""},
		{"no address", `{"text":""}`, ""},
		{"no object", `7`, ""},
	}
	for _, tt := range tests {
		if tt.want == "" {
			tt.want = tt.item
		}
		got, found := o.ResourceContent(parse(t, tt.item))
		if string(got) != tt.want || len(found) > 0 {
			t.Errorf("%s: got %s, %v\nwant %s", tt.name, got, found, tt.want)
		}
		if again, _ := o.ResourceContent(got); string(again) != tt.want {
			t.Errorf("%s: the second time gave %s", tt.name, again)
		}
	}
}

func TestDisplayThatContradictsTheServerIsLeftOut(t *testing.T) {
	o := compile(t, Declarations{Display: []Display{{URI: "ui://*", Prefer: "fullscreen"}}})
	item := `{"uri":"ui://a/b","text":"","_meta":{"openai/ui":{"availableDisplayModes":["inline"]}}}`
	got, found := o.ResourceContent(parse(t, item))
	if string(got) != item || codes(found) != "display-contradiction" {
		t.Errorf("got %s, %v", got, found)
	}
	pip := `{"uri":"ui://a/b","text":"","_meta":{"openai/ui":{"availableDisplayModes":["pip"]}}}`
	got, found = compile(t, Declarations{}).ResourceContent(parse(t, pip))
	if string(got) != pip || codes(found) != "display-invalid" {
		t.Errorf("got %s, %v", got, found)
	}
}

func TestLonePreferenceKeepsBothModesInTheOlderRevision(t *testing.T) {
	o := compile(t, Declarations{Spec: "e314720", Display: []Display{{URI: "ui://*", Prefer: "fullscreen"}}})
	got, _ := o.ResourceContent(parse(t, `{"uri":"ui://a/b","text":""}`))
	want := `{"availableDisplayModes":["inline","fullscreen"],"preferredDisplayMode":"fullscreen"}`
	if ui := got.Get("_meta", "openai/ui"); string(ui) != want {
		t.Errorf("got %s, want %s", ui, want)
	}
}

func TestDisplayMistakesAreFoundAtLoad(t *testing.T) {
	tests := []struct {
		declared []Display
		says     string
	}{
		{[]Display{{URI: "https://a", Prefer: "inline"}}, "must begin with ui://"},
		{[]Display{{URI: "ui://a"}}, "says nothing"},
		{[]Display{{URI: "ui://a", Available: []string{"pip"}}}, "inline and fullscreen"},
		{[]Display{{URI: "ui://a", Available: []string{"inline", "inline"}}}, "twice"},
		{[]Display{{URI: "ui://a", Available: []string{"inline"}, Prefer: "fullscreen"}}, "not among"},
		{[]Display{{URI: "ui://a", Prefer: "inline"}, {URI: "ui://a", Prefer: "inline"}}, "declared twice"},
	}
	for _, tt := range tests {
		_, err := Compile(Declarations{Display: tt.declared})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: error %v, want one that says %q", tt.declared, err, tt.says)
		}
	}
}

func TestPatternsMatchWholeNames(t *testing.T) {
	tests := []struct {
		pattern, s string
		want       bool
	}{
		{"ui://a/*", "ui://a/", true},
		{"ui://a/*", "ui://a/b/c", true},
		{"ui://a/*", "ui://ab", false},
		{"*", "", true},
		{"a*b*c", "a__b__c", true},
		{"a*b*c", "a__c__b", false},
		{"cad.*", "cad.", true},
		{"cad.read", "cad.read2", false},
		{"cad?", "cadx", false},
		{"*ab", "aab", true},
	}
	for _, tt := range tests {
		if got := pattern(tt.pattern).match(tt.s); got != tt.want {
			t.Errorf("%q matches %q: got %v", tt.pattern, tt.s, got)
		}
	}
	if pattern(strings.Repeat("*a", 50) + "b").match(strings.Repeat("a", 5000)) {
		t.Error("matched")
	}
}
