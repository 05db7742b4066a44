package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

var plain = sure(Compile(Declarations{}))

func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestSettingsSchemaCases(t *testing.T) {
	runCases(t, "settings.schema", func(_ *testing.T, input rawjson.Value) error {
		_, err := plain.SettingsSchema(input)
		return err
	})
}

func TestSettingsValuesCases(t *testing.T) {
	runCases(t, "settings.values", func(t *testing.T, input rawjson.Value) error {
		schema, err := plain.SettingsSchema(input.Get("schema"))
		if err != nil {
			t.Fatal(err)
		}
		partial, _ := input.Get("partial").Bool()
		return schema.Check(input.Get("values"), partial)
	})
}

func TestSettingsReadCases(t *testing.T) {
	runCases(t, "settings.read", func(t *testing.T, input rawjson.Value) error {
		o := plain
		if pinned := input.Get("pinnedSchema"); pinned.Exists() {
			o = compile(t, Declarations{Settings: &Settings{ReadTool: "r", UpdateTool: "u", Schema: []byte(pinned)}})
		}
		_, _, _, err := o.SettingsRead(input.Get("result"), SettingsContext{})
		return err
	})
}

func TestSettingsUpdateCases(t *testing.T) {
	runCases(t, "settings.update", func(t *testing.T, input rawjson.Value) error {
		schema, err := plain.SettingsSchema(input.Get("schema"))
		if err != nil {
			t.Fatal(err)
		}
		return plain.SettingsUpdate(input.Get("arguments"), SettingsContext{Schema: schema})
	})
}

func TestSettingsSchemaBeyondTheCases(t *testing.T) {
	tests := []struct {
		field string
		ok    bool
	}{
		{`{"type":"string","title":"A","pattern":"^(?!x)"}`, false},
		{`{"type":"string","title":"A","pattern":"(a)\\1"}`, false},
		{`{"type":"string","title":"A","pattern":"["}`, false},
		{`{"type":"string","title":"A","pattern":5}`, false},
		{`{"type":"string","title":"\u200b"}`, false},
		{`{"type":["string","null"],"title":"A"}`, false},
		{`{"type":"null","title":"A"}`, false},
		{`{"$ref":"#/$defs/a","title":"A"}`, false},
		{`{"type":"string","title":"A","enum":["a","a"]}`, false},
		{`{"type":"string","title":"A","enum":["abc"],"maxLength":2}`, false},
		{`{"type":"integer","title":"A","minimum":1.2,"maximum":1.8}`, false},
		{`{"type":"integer","title":"A","minimum":1.2,"maximum":2.8}`, true},
		{`{"type":"number","title":"A","minimum":1e999}`, false},
		{`{"type":"boolean","title":"A","default":true}`, true},
		{`{"type":"boolean","title":"A","x-order":1,"$comment":"c"}`, true},
		{`{"type":"string","title":"A","format":"email"}`, false},
		{`{"type":"string","title":"A","description":7}`, false},
	}
	for _, tt := range tests {
		_, err := plain.SettingsSchema(parse(t, `{"type":"object","properties":{"a":`+tt.field+`}}`))
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v, want accepted %v", tt.field, err, tt.ok)
		}
	}
	for _, root := range []string{`{"properties":{}}`, `{"type":"string","properties":{}}`, `{"type":["object","null"],"properties":{}}`, `{"type":"object"}`, `[]`, `{"type":"object","properties":{},"allOf":[]}`, `{"type":"object","properties":{"__proto__":{"type":"boolean","title":"A"}}}`} {
		if _, err := plain.SettingsSchema(parse(t, root)); err == nil {
			t.Errorf("%s accepted", root)
		}
	}
}

func TestNumbersAreNeitherRoundedNorConverted(t *testing.T) {
	tests := []struct {
		field, value string
		ok           bool
	}{
		{`"type":"integer"`, `5.0`, true},
		{`"type":"integer"`, `5e0`, true},
		{`"type":"integer"`, `5.5`, false},
		{`"type":"integer"`, `-9007199254740991`, true},
		{`"type":"integer"`, `-9007199254740992`, false},
		{`"type":"number"`, `1e400`, false},
		{`"type":"number"`, `"5"`, false},
		{`"type":"number","multipleOf":0.01`, `1.15`, true},
		{`"type":"number","multipleOf":0.01`, `1.155`, false},
		{`"type":"number","multipleOf":0.1`, `0.30000000000000004`, true},
		{`"type":"number","multipleOf":3`, `1e16`, false},
		{`"type":"number","multipleOf":3`, `9007199254740990`, true},
		{`"type":"number","multipleOf":3`, `9007199254740991`, false},
		{`"type":"number","multipleOf":5`, `1e-320`, false},
		{`"type":"number","multipleOf":5`, `0`, true},
	}
	for _, tt := range tests {
		schema, err := plain.SettingsSchema(parse(t, `{"type":"object","properties":{"n":{"title":"N",`+tt.field+`}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Check(parse(t, `{"n":`+tt.value+`}`), false); (err == nil) != tt.ok {
			t.Errorf("%s for %s: %v, want accepted %v", tt.value, tt.field, err, tt.ok)
		}
	}
}

const settingsResult = `{"content":[{"type":"text","text":"admin.purge"}],"structuredContent":{"schema":{"type":"object","properties":{"on":{"type":"boolean","title":"On"}}},"values":{"on":true},"layout":[{"kind":"group","title":"G","items":[{"kind":"property","property":"on"},{"kind":"tool","tool":"cad.library"},{"kind":"tool","tool":"admin.purge"}]},{"kind":"group","title":"Admin","items":[{"kind":"tool","tool":"admin.purge"},{"kind":"tool","tool":"cad.find"}]},{"kind":"group","title":"Empty","items":[]}]}}`

// TestLayoutShowsOnlyWhatTheCallerHas matters because the layout is made by the
// server, which does not know our policy: a button to a hidden tool would tell
// its name, in the structure and in the text that repeats it.
func TestLayoutShowsOnlyWhatTheCallerHas(t *testing.T) {
	catalog := tools{
		"cad.library": `{"name":"cad.library","inputSchema":{"type":"object"}}`,
		"cad.find":    `{"name":"cad.find","inputSchema":{"type":"object","required":["q"]}}`,
	}
	got, schema, found, err := plain.SettingsReadResult(parse(t, settingsResult), SettingsContext{Catalog: catalog})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":{"type":"object","properties":{"on":{"type":"boolean","title":"On"}}},"values":{"on":true},"layout":[{"kind":"group","title":"G","items":[{"kind":"property","property":"on"},{"kind":"tool","tool":"cad.library"}]},{"kind":"group","title":"Empty","items":[]}]}`
	if s := got.Get("structuredContent"); string(s) != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if text := contentText(got); text != want {
		t.Errorf("the text was not written anew: %s", text)
	}
	if codes(found) != "settings-layout-tool-hidden settings-layout-tool-hidden settings-layout-needs-arguments" {
		t.Errorf("findings %v", found)
	}
	if schema.Check(parse(t, `{"on":false}`), true) != nil {
		t.Error("the schema is not usable")
	}

	untouched := strings.ReplaceAll(settingsResult, "admin.purge", "cad.library")
	catalog["cad.find"] = catalog["cad.library"]
	got, _, _, err = plain.SettingsReadResult(parse(t, untouched), SettingsContext{Catalog: catalog})
	if err != nil || string(got) != untouched {
		t.Errorf("got %s, %v", got, err)
	}
	if got, _, _, _ := plain.SettingsReadResult(parse(t, settingsResult), SettingsContext{}); strings.Contains(string(got), "cad.") {
		t.Errorf("without a catalog tools stayed: %s", got)
	}
}

func TestLayoutToolTitleDependsOnTheRevision(t *testing.T) {
	result := `{"schema":{"type":"object","properties":{}},"values":{},"layout":[{"kind":"group","title":"G","items":[{"kind":"tool","tool":"t"}]}]}`
	older := compile(t, Declarations{Spec: "e314720"})
	if _, _, _, err := older.SettingsRead(parse(t, result), SettingsContext{}); err == nil {
		t.Error("e314720 accepted a tool item without title")
	}
	if _, _, _, err := older.SettingsRead(parse(t, result), SettingsContext{Modern: true}); err != nil {
		t.Errorf("a modern client gets 0.2: %v", err)
	}
}

func TestSettingsResultsThatAreNoAnswerPass(t *testing.T) {
	failed := `{"content":[{"type":"text","text":"db at 10.0.0.7 refused"}],"isError":true,"_meta":{"mcp/www_authenticate":["Bearer"],"trace":"x"},"structuredContent":{"secret":1}}`
	for _, result := range []string{failed, `{"resultType":"input_required","inputRequests":{}}`} {
		got, _, _, err := plain.SettingsReadResult(parse(t, result), SettingsContext{})
		if err != nil || string(got) != result {
			t.Errorf("got %s, %v", got, err)
		}
	}
	safe := compile(t, Declarations{Results: Results{SafeErrors: true}})
	got, found := safe.SettingsUpdateResult(parse(t, failed), SettingsContext{})
	want := `{"content":[{"type":"text","text":"The server could not complete this request."}],"isError":true,"_meta":{"mcp/www_authenticate":["Bearer"]}}`
	if string(got) != want || len(found) > 0 {
		t.Errorf("got %s, %v", got, found)
	}
}

func TestSettingsContentIsRebuiltByOption(t *testing.T) {
	result := `{"content":[{"type":"text","text":"other"}],"structuredContent":{"values":{"on":true}}}`
	o := compile(t, Declarations{Results: Results{RebuildContent: true}})
	got, _ := o.SettingsUpdateResult(parse(t, result), SettingsContext{})
	if contentText(got) != `{"values":{"on":true}}` {
		t.Errorf("got %s", got)
	}
	if got, _ := plain.SettingsUpdateResult(parse(t, result), SettingsContext{}); string(got) != result {
		t.Errorf("got %s", got)
	}
}

// TestWrongUpdateResultIsReportedNotRefused: the server has saved by then, and
// an error would make the user try again.
func TestWrongUpdateResultIsReportedNotRefused(t *testing.T) {
	schema := sure(plain.SettingsSchema(parse(t, `{"type":"object","properties":{"on":{"type":"boolean","title":"On"}}}`)))
	for _, result := range []string{`{"structuredContent":{"values":{}}}`, `{"structuredContent":{"values":{"on":1}}}`, `{"content":[]}`, `{"structuredContent":{"values":{"on":true},"revision":3}}`} {
		got, found := plain.SettingsUpdateResult(parse(t, result), SettingsContext{Schema: schema})
		if string(got) != result || codes(found) != "settings-update-result" {
			t.Errorf("%s: got %s, %v", result, got, found)
		}
	}
	good := `{"content":[],"structuredContent":{"values":{"on":false}}}`
	if got, found := plain.SettingsUpdateResult(parse(t, good), SettingsContext{Schema: schema}); string(got) != good || found != nil {
		t.Errorf("got %s, %v", got, found)
	}
}

func TestUpdateIsCheckedAgainstTheToolBeforeTheFirstRead(t *testing.T) {
	tool := parse(t, `{"name":"u","inputSchema":{"type":"object","properties":{"set":{"$ref":"#/$defs/Set"}},"$defs":{"Set":{"type":"object","properties":{"units":{"type":"string","enum":["mm","in"]},"showGrid":{"type":"boolean"}},"minProperties":1,"additionalProperties":false}},"required":["set"]}}`)
	schema := plain.UpdateSchema(tool)
	if schema == nil {
		t.Fatal("no schema")
	}
	if err := fitsSettingsUpdate(tool); err != nil {
		t.Errorf("a reference to a definition: %v", err)
	}
	tests := []struct {
		arguments  string
		withSchema bool
		ok         bool
	}{
		{`{"set":{"showGrid":false}}`, true, true},
		{`{"set":{}}`, true, false},
		{`{"set":{"unknown":true}}`, true, false},
		{`{"set":{"units":"in"},"extra":true}`, true, false},
		{`{"set":{"units":"ft"}}`, true, false},
		{`{"set":[]}`, false, false},
		{`{"set":{"anything":"x","n":1.5,"b":false}}`, false, true},
		{`{"set":{"list":[1]}}`, false, false},
		{`{"set":{"none":null}}`, false, false},
	}
	for _, tt := range tests {
		c := SettingsContext{}
		if tt.withSchema {
			c.Schema = schema
		}
		if err := plain.SettingsUpdate(parse(t, tt.arguments), c); (err == nil) != tt.ok {
			t.Errorf("%s: %v, want accepted %v", tt.arguments, err, tt.ok)
		}
	}
	nullable := strings.Replace(string(tool), `{"type":"boolean"}`, `{"anyOf":[{"type":"boolean"},{"type":"null"}]}`, 1)
	if plain.UpdateSchema(parse(t, nullable)) != nil {
		t.Error("a declaration that is no list of primitives was taken for one")
	}
}

func TestLimitsCanBeSet(t *testing.T) {
	o := compile(t, Declarations{Limits: Limits{SettingsFields: 1, MentionItems: 1, SettingsString: 3}})
	if _, err := o.SettingsSchema(parse(t, `{"type":"object","properties":{"a":{"type":"boolean","title":"A"},"b":{"type":"boolean","title":"B"}}}`)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("two fields: %v", err)
	}
	if err := o.SettingsUpdate(parse(t, `{"set":{"a":"four"}}`), SettingsContext{}); err == nil {
		t.Error("a long text passed")
	}
	if err := o.MentionItems(parse(t, `[{"type":"resource","resourceUri":"a:b","title":"A"},{"type":"resource","resourceUri":"a:c","title":"C"}]`)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("two items: %v", err)
	}
	if _, err := Compile(Declarations{Limits: Limits{MentionItems: -1}}); err == nil {
		t.Error("a negative limit passed")
	}
}

// contentText returns the only text of a result's content.
func contentText(result rawjson.Value) string {
	for block := range result.Get("content").Elements() {
		text, _ := block.Get("text").Text()
		return text
	}
	return ""
}

func TestSettingsAdvice(t *testing.T) {
	result := parse(t, `{"schema":{"type":"object","properties":{"a":{"type":"string","title":"A","pattern":"^\\p{L}*$","default":""}}},"values":{"a":"x"}}`)
	got, _, found, err := plain.SettingsRead(result, SettingsContext{})
	if err != nil || string(got) != string(result) || codes(found) != "settings-default settings-pattern" {
		t.Errorf("got %s, %v, %v", got, found, err)
	}
	if _, _, _, err := plain.SettingsRead(parse(t, `{"schema":{"type":"object","properties":{}},"values":{"x":1}}`), SettingsContext{}); err == nil {
		t.Error("an unknown value passed")
	}
}

func TestPinnedSchemaChecksTheFirstUpdate(t *testing.T) {
	o := compile(t, Declarations{Settings: &Settings{ReadTool: "r", UpdateTool: "u", Schema: []byte(`{"type":"object","properties":{"on":{"type":"boolean","title":"On"}}}`)}})
	if err := o.SettingsUpdate(parse(t, `{"set":{"on":"yes"}}`), SettingsContext{}); err == nil {
		t.Error("a value against the pinned schema passed")
	}
	_, err := Compile(Declarations{Settings: &Settings{ReadTool: "r", UpdateTool: "u", Schema: []byte(`{"type":"array"}`)}})
	if err == nil || !strings.Contains(err.Error(), "the schema member of the read tool's answer") {
		t.Errorf("a pinned schema that is none: %v", err)
	}
}
