package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

const (
	readTool   = `{"name":"settings.read","inputSchema":{"type":"object","additionalProperties":false},"outputSchema":{"type":"object","properties":{"schema":{"type":"object"},"values":{"type":"object"}},"required":["schema","values"]},"annotations":{"readOnlyHint":true}}`
	updateTool = `{"name":"settings.update","inputSchema":{"type":"object","properties":{"set":{"type":"object","properties":{},"additionalProperties":false,"minProperties":1}},"required":["set"],"additionalProperties":false}}`
	pair       = `{"readTool":"settings.read","updateTool":"settings.update"}`
)

var settingsTools = tools{"settings.read": readTool, "settings.update": updateTool}

func TestSettingsCapabilityCases(t *testing.T) {
	runCases(t, "settings.capability", func(t *testing.T, input rawjson.Value) error {
		read, _ := input.Get("readTool").Text()
		update, _ := input.Get("updateTool").Text()
		names, _ := texts(input.Get("catalog"))
		catalog := make(tools)
		for _, name := range names {
			catalog[name] = strings.Replace(updateTool, "settings.update", name, 1)
			if name == read {
				catalog[name] = strings.Replace(readTool, "settings.read", name, 1)
			}
		}
		o, err := Compile(Declarations{Settings: &Settings{ReadTool: read, UpdateTool: update}})
		if err != nil {
			return err
		}
		out, found := o.Capabilities(true, parse(t, `{"tools":{}}`), catalog)
		want := `{"tools":{},"extensions":{"openai/settings":` + string(must(must(rawjson.Value("{}").Set(rawjson.Quote(read), "readTool")).Set(rawjson.Quote(update), "updateTool"))) + `}}`
		if string(out) != want {
			if string(out) != `{"tools":{}}` {
				t.Errorf("withheld, but the rest changed: %s", out)
			}
			return errors.New(codes(found))
		}
		return nil
	})
}

func TestSettingsCapabilityByEraAndMap(t *testing.T) {
	configured := compile(t, Declarations{Settings: &Settings{ReadTool: "settings.read", UpdateTool: "settings.update"}})
	nothing := compile(t, Declarations{})
	other := `{"readTool":"a","updateTool":"b"}`
	tests := []struct {
		name    string
		overlay *Overlay
		modern  bool
		catalog Catalog
		before  string
		after   string
	}{
		{"modern: extensions", configured, true, settingsTools, `{"tools":{} }`, `{"tools":{},"extensions":{"openai/settings":` + pair + `} }`},
		{"legacy: both maps", configured, false, settingsTools, `{}`, `{"extensions":{"openai/settings":` + pair + `},"experimental":{"openai/settings":` + pair + `}}`},
		{"no capabilities at all", configured, true, settingsTools, ``, `{"extensions":{"openai/settings":` + pair + `}}`},
		{"another pair is replaced", configured, false, settingsTools, `{"experimental":{"openai/settings":` + other + `,"x":{}}}`, `{"experimental":{"openai/settings":` + pair + `,"x":{}},"extensions":{"openai/settings":` + pair + `}}`},
		{"modern: nothing in experimental", configured, true, settingsTools, `{"experimental":{"openai/settings":` + other + `,"x":{}}}`, `{"experimental":{"x":{}},"extensions":{"openai/settings":` + pair + `}}`},
		{"neighbours survive", configured, true, settingsTools, `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[]},"openai/extensions":{}}}`, `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[]},"openai/extensions":{},"openai/settings":` + pair + `}}`},
		{"withheld: removed from both", configured, false, tools{}, `{"extensions":{"openai/settings":` + pair + `,"k":1},"experimental":{"openai/settings":` + pair + `}}`, `{"extensions":{"k":1},"experimental":{}}`},
		{"withheld: no empty map is made", configured, true, tools{}, `{"tools":{}}`, `{"tools":{}}`},
		{"no catalog", configured, true, nil, `{"extensions":{"openai/settings":` + pair + `}}`, `{"extensions":{}}`},
		{"maps that are none", configured, true, settingsTools, `{"extensions":[]}`, `{"extensions":[]}`},
		{"server's own is kept", nothing, false, settingsTools, `{"extensions": { "openai/settings" :` + pair + `}}`, `{"extensions": { "openai/settings" :` + pair + `}}`},
		{"server's own in both maps is kept", nothing, true, settingsTools, `{"extensions":{"openai/settings":` + pair + `},"experimental":{"openai/settings":` + pair + `}}`, `{"extensions":{"openai/settings":` + pair + `},"experimental":{"openai/settings":` + pair + `}}`},
		{"server's own, older place only", nothing, false, settingsTools, `{"experimental":{"openai/settings":` + pair + `}}`, `{"experimental":{"openai/settings":` + pair + `}}`},
		{"server's own, maps disagree", nothing, false, settingsTools, `{"extensions":{"openai/settings":` + pair + `},"experimental":{"openai/settings":` + other + `}}`, `{"extensions":{"openai/settings":` + pair + `},"experimental":{}}`},
		{"server's own, one tool hidden", nothing, false, tools{"settings.read": readTool}, `{"extensions":{"openai/settings":` + pair + `},"experimental":{"openai/settings":` + pair + `}}`, `{"extensions":{},"experimental":{}}`},
		{"server's own, no catalog", nothing, true, nil, `{"extensions":{"openai/settings":` + pair + `}}`, `{"extensions":{}}`},
		{"nothing anywhere", nothing, true, nil, `{ "tools" : {} }`, `{ "tools" : {} }`},
	}
	for _, tt := range tests {
		var before rawjson.Value
		if tt.before != "" {
			before = parse(t, tt.before)
		}
		got, _ := tt.overlay.Capabilities(tt.modern, before, tt.catalog)
		if string(got) != tt.after {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.after)
		}
		if again, _ := tt.overlay.Capabilities(tt.modern, got, tt.catalog); string(again) != tt.after {
			t.Errorf("%s: the second time gave %s", tt.name, again)
		}
	}
}

func TestSettingsToolsMustFit(t *testing.T) {
	tests := []struct{ name, tool, from, to string }{
		{"read needs an argument", "settings.read", `{"type":"object","additionalProperties":false}`, `{"type":"object","required":["id"]}`},
		{"read is not read-only", "settings.read", `"readOnlyHint":true`, `"readOnlyHint":false`},
		{"read declares no result", "settings.read", `"outputSchema"`, `"other"`},
		{"read declares another result", "settings.read", `"values":{"type":"object"}`, `"rows":{"type":"object"}`},
		{"update does not take set", "settings.update", `"set":{`, `"patch":{`},
		{"update needs more", "settings.update", `"required":["set"]`, `"required":["set","revision"]`},
		{"update wants everything", "settings.update", `"minProperties":1`, `"required":["unit"]`},
		{"update takes a list", "settings.update", `"set":{"type":"object"`, `"set":{"type":"array"`},
		{"update says it only reads", "settings.update", `"name":`, `"annotations":{"readOnlyHint":true},"name":`},
	}
	o := compile(t, Declarations{Settings: &Settings{ReadTool: "settings.read", UpdateTool: "settings.update"}})
	for _, tt := range tests {
		catalog := tools{"settings.read": readTool, "settings.update": updateTool}
		catalog[tt.tool] = strings.Replace(catalog[tt.tool], tt.from, tt.to, 1)
		parse(t, catalog[tt.tool])
		got, found := o.Capabilities(true, parse(t, `{}`), catalog)
		if string(got) != `{}` || codes(found) != "capability-withheld" {
			t.Errorf("%s: got %s, %v", tt.name, got, found)
		}
	}
}

func TestSettingsMistakesAreFoundAtLoad(t *testing.T) {
	for _, s := range []*Settings{{}, {ReadTool: "a"}, {ReadTool: "a", UpdateTool: "a"}, {ReadTool: "settings.*", UpdateTool: "b"}} {
		if _, err := Compile(Declarations{Settings: s}); err == nil {
			t.Errorf("%+v accepted", s)
		}
	}
	if _, err := Compile(Declarations{Spec: "0.3"}); err == nil || !strings.Contains(err.Error(), "write spec 0.2") {
		t.Errorf("unknown revision: %v", err)
	}
}

func TestMetadataCases(t *testing.T) {
	runCases(t, "metadata.json", func(_ *testing.T, input rawjson.Value) error {
		_, err := Limits{}.Metadata(input)
		return err
	})
	runCases(t, "metadata.raw", func(_ *testing.T, input rawjson.Value) error {
		text, _ := input.Text()
		_, err := Limits{}.Metadata([]byte(text))
		return err
	})
}
