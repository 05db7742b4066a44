package makes

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const pythonSettings = `{"additionalProperties":false,"properties":{"units":{"enum":["mm","in"],"title":"Units","type":"string"},` +
	`"showGrid":{"description":"Draws a grid behind the part.","title":"Show grid","type":"boolean"}},"title":"SettingsPatch","type":"object"`

const pythonRead = `{"name":"settings.read","annotations":{"readOnlyHint":true},` +
	`"inputSchema":{"properties":{},"title":"read_settingsArguments","type":"object"},` +
	`"outputSchema":{"$defs":{"Settings":` + pythonSettings + `,"required":["units","showGrid"]}},"additionalProperties":false,"properties":{` +
	`"schema":{"additionalProperties":true,"title":"Schema","type":"object"},` +
	`"layout":{"anyOf":[{"items":{"type":"object"},"type":"array"},{"type":"null"}],"default":null,"title":"Layout"},` +
	`"values":{"$ref":"#/$defs/Settings"}},"required":["schema","values"],"title":"SettingsReadResult","type":"object"}}`

const pythonUpdate = `{"name":"settings.update",` +
	`"inputSchema":{"$defs":{"SettingsPatch":` + pythonSettings + `,"minProperties":1}},"properties":{"set":{"$ref":"#/$defs/SettingsPatch"}},` +
	`"required":["set"],"title":"update_settingsArguments","type":"object"},` +
	`"outputSchema":{"properties":{"values":{"additionalProperties":true,"title":"Values","type":"object"}},"required":["values"],"title":"SettingsUpdateResult","type":"object"}}`

const pythonMentions = `{"name":"search_mentions","annotations":{"readOnlyHint":true},` +
	`"inputSchema":{"properties":{"query":{"title":"Query","type":"string"}},"required":["query"],"title":"search_mentionsArguments","type":"object"},` +
	`"_meta":{"openai/extensions":{"mentions/search":{}},"ui":{"visibility":["app"]}}}`

const pythonLibrary = `{"name":"cad.library","description":"Opens the part library.\n\nArgs:\n    none","annotations":{"readOnlyHint":true},` +
	`"inputSchema":{"properties":{},"title":"libraryArguments","type":"object"},` +
	`"_meta":{"openai/outputTemplate":"ui://bits-and-bolts/library"}}`

// python is a server that tells clients of the newer era under extensions only,
// and older ones nothing: its SDK leaves extensions out of initialize.
func python(asJSON bool) http.Handler {
	s := newSDKServer("bits-and-bolts-py", &mcp.ServerCapabilities{Extensions: map[string]any{
		"openai/settings":   map[string]any{"readTool": "settings.read", "updateTool": "settings.update"},
		"openai/extensions": map[string]any{},
	}})
	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, r)
			if initialized, ok := result.(*mcp.InitializeResult); ok && err == nil {
				capabilities := *initialized.Capabilities
				capabilities.Extensions = nil
				initialized.Capabilities = &capabilities
			}
			return result, err
		}
	})
	s.tool(pythonRead, func(subject string, _ map[string]any) any {
		definition := settingsDefinition(map[string]any{"title": "Settings", "description": "What the drawing board looks like."})
		return map[string]any{"schema": definition, "layout": settingsLayout(), "values": s.settings(subject, nil)}
	})
	s.tool(pythonUpdate, func(subject string, arguments map[string]any) any {
		set, _ := arguments["set"].(map[string]any)
		return map[string]any{"values": s.settings(subject, set)}
	})
	s.tool(pythonMentions, func(string, map[string]any) any {
		return map[string]any{"items": []any{
			map[string]any{"type": "resource_link", "uri": "cad://parts/hex", "name": "hex", "title": "Hex bolt", "mimeType": "model/stl", "size": 1024},
		}}
	})
	s.tool(pythonLibrary, func(string, map[string]any) any { return map[string]any{} })
	s.tool(cadReset, func(string, map[string]any) any { return map[string]any{} })
	s.page(&mcp.Resource{
		URI: "ui://bits-and-bolts/library", Name: "library", MIMEType: "text/html+skybridge",
		Meta: mcp.Meta{"openai/widgetCSP": map[string]any{"connect_domains": []string{"https://api.example.com"}, "resource_domains": []string{}}},
	}, "<!doctype html><title>Library</title>")
	return s.serve(asJSON)
}
