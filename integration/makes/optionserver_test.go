package makes

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const optionRead = `{"name":"prefs.read","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}},` +
	`"outputSchema":{"type":"object","properties":{"schema":{"type":"object"},"values":{"type":"object"}}}}`

const optionUpdate = `{"name":"prefs.update","inputSchema":{"type":"object","properties":{"set":{"type":"object"}},"required":["set"]}}`

const optionFind = `{"name":"find","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}`

const optionOpen = `{"name":"open","title":"Opener","annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://o/page"}},` +
	`"inputSchema":{"type":"object","properties":{"file":{"type":"object","properties":{"name":{"type":"string"},"resourceUri":{"type":"string"}},"required":["name","resourceUri"]}},"required":["file"]}}`

const optionView = `{"name":"view","title":"Viewer","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}},"_meta":{"ui":{"resourceUri":"ui://o/page"}}}`

const optionWrite = `{"name":"write","inputSchema":{"type":"object","properties":{"text":{"type":"string","pattern":"^\\p{L}+$"}}}}`

// optionServer has something that each option of the openai block is about, and
// says nothing of its own about any.
func optionServer() http.Handler {
	s := newSDKServer("options", &mcp.ServerCapabilities{})
	nothing := func(string, map[string]any) any { return map[string]any{} }
	for _, declaration := range []string{optionOpen, optionView, optionWrite} {
		s.tool(declaration, nothing)
	}
	s.tool(optionFind, func(string, map[string]any) any {
		icon := map[string]any{"src": "https://cdn.example/i.png"}
		return map[string]any{"items": []any{
			map[string]any{"type": "resource", "resourceUri": "acme://one", "title": "First", "icons": []any{icon, icon}},
			map[string]any{"type": "resource", "resourceUri": "acme://two", "title": "Second"},
		}}
	})
	s.raw(optionRead, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		property := func(title string) map[string]any { return map[string]any{"type": "string", "title": title} }
		item := func(name string) map[string]any { return map[string]any{"kind": "property", "property": name} }
		return &mcp.CallToolResult{
			Content: []mcp.Content{&mcp.TextContent{Text: "a private remark"}},
			StructuredContent: map[string]any{
				"schema": map[string]any{"type": "object", "properties": map[string]any{"a": property("A"), "b": property("B"), "c": property("C")}},
				"values": map[string]any{"a": "long enough", "b": "", "c": ""},
				"layout": []any{
					map[string]any{"kind": "group", "title": "One", "items": []any{item("a"), item("b")}},
					map[string]any{"kind": "group", "title": "Two", "items": []any{item("c")}},
				},
			},
		}, nil
	})
	s.raw(optionUpdate, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no route to 10.0.0.1"}}}, nil
	})
	s.raw(`{"name":"echo","inputSchema":{"type":"object","properties":{}}}`, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"meta": r.Params.Meta}}, nil
	})
	s.page(&mcp.Resource{URI: "ui://o/page", Name: "page", MIMEType: "text/html+skybridge"}, "<!doctype html><title>P</title>")
	return s.serve(true)
}
