package openai

import (
	"bytes"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// What stands alone may be remembered by its bytes, so that it must come out the
// same for every caller and behind any other tool.
func TestWhatStandsAloneDependsOnNothingElse(t *testing.T) {
	o, err := Compile(Declarations{
		Entrypoints: []Entrypoint{{Tool: "open", Type: "global"}},
		Mentions:    &Mentions{SearchTool: "search"},
		Tools:       []Tool{{Name: "a*", Description: "described"}},
		Mirror:      true, RepairSchemas: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	alone := 0
	for _, text := range []string{
		`{"name":"open","title":"Open","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a"}}}`,
		`{"name":"search","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
		`{"name":"abc","inputSchema":{"type":"object","properties":{"x":{"type":"string","pattern":"\\p{L}"}}},"_meta":{"ui":{"resourceUri":"ui://a","visibility":["app"]}}}`,
		`{"name":"b","title":"Open","description":"line\nline","inputSchema":{"type":"object"}}`,
		`{"name":"own","title":"Open","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a"},"openai/ui":{"entrypoints":[{"type":"global"}]}}}`,
		`{"name":"quick","inputSchema":{"type":"object"},"_meta":{"op\u0065nai/ui":{"entrypoints":[{"type":"global","quickAction":{"title":"x","target":{"type":"tool","name":"hidden"}}}]}}}`,
		`{"name":"marked","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"openai/extensions":{"mentions/search":{}}}}`,
	} {
		tool, err := rawjson.Parse([]byte(text), 32)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := tool.Get("name").Text()
		if !o.StandsAlone(name, tool) {
			continue
		}
		alone++
		want, _ := o.Tool(tool)
		for _, modern := range []bool{false, true} {
			for _, mentions := range []MentionsState{MentionsUnknown, MentionsWithheld, MentionsAbsent} {
				page := o.Page(PageOptions{Modern: modern, Mentions: mentions, Visible: func(string) bool { return false }})
				page.Tool(rawjson.Value(`{"name":"open","title":"Open","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://a"}}}`))
				if got, _ := page.Tool(tool); !bytes.Equal(got, want) {
					t.Errorf("%s: %s\nand for others %s", name, want, got)
				}
			}
		}
	}
	if alone != 2 {
		t.Errorf("%d tools stand alone, want abc and b", alone)
	}
}
