package openai

import (
	"strings"
	"testing"
)

// A server of the official TypeScript helper: strict schemas with $schema, both
// maps filled whatever the protocol, the mention capability and the old marker.
var helperServer = tools{
	"settings.read":   `{"name":"settings.read","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true},"outputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"schema":{"type":"object","properties":{"type":{"type":"string","const":"object"}},"required":["type"],"additionalProperties":{}},"values":{"type":"object","properties":{"units":{"type":"string","enum":["mm","in"]}},"required":["units"],"additionalProperties":false},"layout":{"type":"array","items":{"type":"object"}}},"required":["schema","values"],"additionalProperties":false}}`,
	"settings.update": `{"name":"settings.update","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"set":{"type":"object","properties":{"units":{"type":"string","enum":["mm","in"]}},"additionalProperties":false,"minProperties":1}},"required":["set"],"additionalProperties":false}}`,
	"search_mentions": `{"name":"search_mentions","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false},"annotations":{"readOnlyHint":true},"_meta":{"openai/extensions":{"mentions/search":{}},"ui":{"visibility":["app"]}}}`,
}

const helperCapabilities = `{"tools":{"listChanged":true},"extensions":{"openai/settings":{"readTool":"settings.read","updateTool":"settings.update"},"openai/mentions":{"searchTool":"search_mentions"}},"experimental":{"openai/settings":{"readTool":"settings.read","updateTool":"settings.update"},"openai/mentions":{"searchTool":"search_mentions"}}}`

// TestServerThatAdvertisesItselfKeepsItForThoseWhoHaveTheTools: nothing is
// configured, so the only question is whether the caller has the tools.
func TestServerThatAdvertisesItselfKeepsItForThoseWhoHaveTheTools(t *testing.T) {
	viewer := tools{"settings.read": helperServer["settings.read"], "search_mentions": helperServer["search_mentions"]}
	withoutSettings := strings.ReplaceAll(helperCapabilities, `"openai/settings":{"readTool":"settings.read","updateTool":"settings.update"},`, ``)
	for _, modern := range []bool{true, false} {
		for _, tt := range []struct {
			caller  string
			catalog Catalog
			want    string
		}{
			{"editor", helperServer, helperCapabilities},
			{"viewer", viewer, withoutSettings},
			{"anonymous", tools{}, `{"tools":{"listChanged":true},"extensions":{},"experimental":{}}`},
		} {
			got, _ := plain.Capabilities(modern, parse(t, helperCapabilities), tt.catalog)
			if string(got) != tt.want {
				t.Errorf("%s, modern %v: got %s, want %s", tt.caller, modern, got, tt.want)
			}
		}
	}
	for name, src := range helperServer {
		if got, found := plain.Tool(parse(t, src)); string(got) != src || len(found) > 0 {
			t.Errorf("%s was changed to %s, %v", name, got, found)
		}
	}
	if schema := plain.UpdateSchema(parse(t, helperServer["settings.update"])); schema == nil {
		t.Error("the helper's update tool gives no schema")
	}
}

// TestServerWithoutOlderAdvertisementGetsIt: the Python helper fills extensions
// only, and its protocol library drops them from initialize. Named types come
// as references.
func TestServerWithoutOlderAdvertisementGetsIt(t *testing.T) {
	catalog := tools{
		"settings.read":   `{"name":"settings.read","inputSchema":{"properties":{},"title":"settings_readArguments","type":"object"},"annotations":{"readOnlyHint":true},"outputSchema":{"type":"object","properties":{"schema":{},"values":{}}}}`,
		"settings.update": `{"name":"settings.update","inputSchema":{"$defs":{"Set":{"type":"object","properties":{"units":{"type":"string"}},"title":"Set"}},"properties":{"set":{"$ref":"#/$defs/Set"}},"required":["set"],"title":"settings_updateArguments","type":"object"}}`,
	}
	o := compile(t, Declarations{Settings: &Settings{ReadTool: "settings.read", UpdateTool: "settings.update"}})
	got, found := o.Capabilities(false, parse(t, `{"tools":{"listChanged":false},"experimental":{}}`), catalog)
	want := `{"tools":{"listChanged":false},"experimental":{"openai/settings":` + pair + `},"extensions":{"openai/settings":` + pair + `}}`
	if string(got) != want {
		t.Errorf("got %s, %v", got, found)
	}
}

// TestFileToolOfAPythonServerQualifies: the argument type is a reference.
func TestFileToolOfAPythonServerQualifies(t *testing.T) {
	schema := `{"$defs":{"FileInput":{"properties":{"name":{"title":"Name","type":"string"},"resourceUri":{"title":"Uri","type":"string"}},"required":["name","resourceUri"],"title":"FileInput","type":"object"}},"properties":{"file":{"$ref":"#/$defs/FileInput"}},"required":["file"],"title":"openArguments","type":"object"}`
	if err := acceptsFile(parse(t, schema)); err != nil {
		t.Error(err)
	}
	for _, ref := range []string{`#/$defs/Gone`, `https://example.com/FileInput`, `#/properties/file`, `#`} {
		if acceptsFile(parse(t, strings.Replace(schema, `#/$defs/FileInput`, ref, 1))) == nil {
			t.Errorf("the reference %s proves nothing", ref)
		}
	}
	loop := `{"type":"object","$defs":{"A":{"$ref":"#/$defs/A"}},"properties":{"file":{"$ref":"#/$defs/A"}}}`
	if acceptsFile(parse(t, loop)) == nil {
		t.Error("a circle proves nothing")
	}
}
