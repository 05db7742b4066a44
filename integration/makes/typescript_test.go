package makes

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const typescriptRead = `{"name":"settings.read","annotations":{"readOnlyHint":true},` +
	`"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{},"additionalProperties":false},` +
	`"outputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` +
	`"schema":{"type":"object","properties":{"type":{"type":"string","const":"object"}},"required":["type"],"additionalProperties":{}},` +
	`"layout":{"type":"array","items":{"type":"object"}},` +
	`"values":{"type":"object","properties":{"units":{"type":"string","enum":["mm","in"]},"showGrid":{"type":"boolean"}},"required":["units","showGrid"],"additionalProperties":false}},` +
	`"required":["schema","values"],"additionalProperties":false}}`

const typescriptUpdate = `{"name":"settings.update",` +
	`"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"set":{"type":"object","properties":{` +
	`"units":{"type":"string","enum":["mm","in"]},"showGrid":{"type":"boolean"}},"additionalProperties":false,"minProperties":1}},"required":["set"],"additionalProperties":false},` +
	`"outputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"values":{"type":"object"}},"required":["values"],"additionalProperties":false}}`

const typescriptMentions = `{"name":"search_mentions","annotations":{"readOnlyHint":true},` +
	`"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false},` +
	`"_meta":{"openai/extensions":{"mentions/search":{}},"ui":{"visibility":["app"]}}}`

const cadLibrary = `{"name":"cad.library","title":"Part library","annotations":{"readOnlyHint":true},` +
	`"inputSchema":{"type":"object","properties":{}},` +
	`"_meta":{"ui":{"resourceUri":"ui://bits-and-bolts/library","visibility":["model","app"]},` +
	`"openai/ui":{"entrypoints":[{"type":"global","quickAction":{"title":"Start over","icons":[{"src":"https://cdn.example/reset.svg","mimeType":"image/svg+xml"}],"target":{"type":"tool","name":"cad.reset"}}}]}}}`

const cadReset = `{"name":"cad.reset","title":"Reset","inputSchema":{"type":"object","properties":{}}}`

// typescript is a server that advertises everything itself: the same value in
// both maps whatever the client speaks, the mention capability and the marker
// it replaced, all at once.
func typescript(asJSON bool) http.Handler {
	both := map[string]any{
		"openai/settings": map[string]any{"readTool": "settings.read", "updateTool": "settings.update"},
		"openai/mentions": map[string]any{"searchTool": "search_mentions"},
	}
	s := newSDKServer("bits-and-bolts", &mcp.ServerCapabilities{Extensions: both, Experimental: both})
	s.tool(typescriptRead, func(subject string, _ map[string]any) any {
		return map[string]any{"schema": settingsDefinition(nil), "layout": settingsLayout(), "values": s.settings(subject, nil)}
	})
	s.tool(typescriptUpdate, func(subject string, arguments map[string]any) any {
		set, _ := arguments["set"].(map[string]any)
		return map[string]any{"values": s.settings(subject, set)}
	})
	s.tool(typescriptMentions, func(string, map[string]any) any {
		return map[string]any{"items": []any{
			map[string]any{"type": "resource", "resourceUri": "cad://parts/hex", "title": "Hex bolt", "subtitle": "M6"},
			map[string]any{"type": "resource_link", "uri": "cad://parts/nut", "name": "nut", "title": "Nut"},
		}}
	})
	s.tool(cadLibrary, func(string, map[string]any) any { return map[string]any{} })
	s.tool(cadReset, func(string, map[string]any) any { return map[string]any{} })
	s.page(&mcp.Resource{
		URI: "ui://bits-and-bolts/library", Name: "library", MIMEType: "text/html;profile=mcp-app",
		Meta: mcp.Meta{"ui": map[string]any{"csp": map[string]any{"connectDomains": []string{"https://api.example.com"}}, "prefersBorder": true}},
	}, "<!doctype html><title>Library</title>")
	return s.serve(asJSON)
}
