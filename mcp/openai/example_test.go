package openai_test

import (
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func ExampleOverlay_Tool() {
	overlay, err := openai.Compile(openai.Declarations{
		Entrypoints: []openai.Entrypoint{{Tool: "cad.library", Type: "global"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, src := range []string{
		`{"name":"cad.library","title":"Parts","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://bits/library"}}}`,
		`{"name":"cad.library","title":"Parts","inputSchema":{"type":"object","required":["id"]},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://bits/library"}}}`,
	} {
		tool, _ := rawjson.Parse([]byte(src), 64)
		tool, findings := overlay.Tool(tool)
		fmt.Printf("%s\n", tool.Get("_meta"))
		for _, f := range findings {
			fmt.Println(f.Code+":", f.Detail)
		}
	}
	// Output:
	// {"ui":{"resourceUri":"ui://bits/library"},"openai/ui":{"entrypoints":[{"type":"global"}]}}
	// {"ui":{"resourceUri":"ui://bits/library"}}
	// entrypoint-needs-arguments: global entrypoint not declared: the tool does not provably accept {}: it requires "id"
}

// catalog is what one caller may see and call.
type catalog map[string]string

func (c catalog) Tool(name string) (rawjson.Value, bool) {
	tool, ok := c[name]
	return rawjson.Value(tool), ok
}

func ExampleOverlay_Capabilities() {
	overlay, _ := openai.Compile(openai.Declarations{
		Settings: &openai.Settings{ReadTool: "settings.read", UpdateTool: "settings.update"},
	})
	editor := catalog{
		"settings.read":   `{"name":"settings.read","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
		"settings.update": `{"name":"settings.update","inputSchema":{"type":"object","properties":{"set":{"type":"object"}}}}`,
	}
	viewer := catalog{"settings.read": editor["settings.read"]}
	for _, caller := range []catalog{editor, viewer} {
		capabilities, _ := overlay.Capabilities(true, rawjson.Value(`{"tools":{}}`), caller)
		fmt.Printf("%s\n", capabilities)
	}
	// Output:
	// {"tools":{},"extensions":{"openai/settings":{"readTool":"settings.read","updateTool":"settings.update"}}}
	// {"tools":{}}
}
