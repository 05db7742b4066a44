package e2e

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// revealing is a server that speaks of its tools and resources wherever the
// protocol lets it: in capabilities, results, settings, mentions, prompts and
// completions.
func revealing() http.Handler {
	advertised := map[string]any{
		"openai/settings": map[string]any{"readTool": "settings.read", "updateTool": "settings.update"},
		"openai/mentions": map[string]any{"searchTool": "search_mentions"},
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "revealing", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Extensions: advertised, Experimental: advertised},
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			if ref := r.Params.Ref; ref.Name != "review" && ref.URI != "cad://parts/{id}" {
				return nil, errors.New("unknown reference")
			}
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"secret-part"}}}, nil
		},
	})
	add := func(tool *mcp.Tool, result *mcp.CallToolResult) {
		if tool.InputSchema == nil {
			tool.InputSchema = schema(`{"type":"object","properties":{}}`)
		}
		server.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil })
	}
	structured := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: schema(text)}
	}
	page := func(uri, quick string) mcp.Meta {
		entrypoint := map[string]any{"type": "global"}
		if quick != "" {
			entrypoint["quickAction"] = map[string]any{"title": "Start", "icons": []any{map[string]any{"src": "https://cdn.example/a.svg", "mimeType": "image/svg+xml"}}, "target": map[string]any{"type": "tool", "name": quick}}
		}
		return mcp.Meta{"ui": map[string]any{"resourceUri": uri}, "openai/ui": map[string]any{"entrypoints": []any{entrypoint}}}
	}
	reading := &mcp.ToolAnnotations{ReadOnlyHint: true}
	add(&mcp.Tool{Name: "cad.library", Title: "Library", Annotations: reading, Meta: page("ui://cad/library", "cad.reset")}, structured(`{}`))
	add(&mcp.Tool{Name: "cad.reset", Title: "Reset", Annotations: reading, Meta: page("ui://cad/reset", "")}, structured(`{}`))
	add(&mcp.Tool{Name: "cad.report", Annotations: reading}, &mcp.CallToolResult{
		Content: []mcp.Content{
			&mcp.TextContent{Text: "The report."},
			&mcp.ResourceLink{URI: "cad://parts/hex", Name: "hex"},
			&mcp.ResourceLink{URI: "ui://cad/reset", Name: "page"},
			&mcp.ResourceLink{URI: "chatgpt://plugins/cad/app/cad.reset", Name: "link"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "cad://parts/hex", Text: "M6"}},
		},
		StructuredContent: schema(`{"open":"chatgpt://plugins/cad/app/cad.reset"}`),
	})
	const form = `{"type":"object","properties":{"grid":{"type":"boolean","title":"Grid"}},"required":["grid"]}`
	add(&mcp.Tool{
		Name: "settings.read", Annotations: reading,
		OutputSchema: schema(`{"type":"object","properties":{"schema":{"type":"object"},"values":{"type":"object"},"layout":{"type":"array","items":{"type":"object"}}},"required":["schema","values"]}`),
	}, structured(`{"schema":`+form+`,"values":{"grid":true},"layout":[{"kind":"group","title":"All","items":[`+
		`{"kind":"property","property":"grid"},{"kind":"tool","tool":"cad.reset"},{"kind":"tool","tool":"cad.library"}]}]}`))
	add(&mcp.Tool{
		Name:         "settings.update",
		InputSchema:  schema(`{"type":"object","properties":{"set":{"type":"object","properties":{"grid":{"type":"boolean"}},"minProperties":1,"additionalProperties":false}},"required":["set"],"additionalProperties":false}`),
		OutputSchema: schema(`{"type":"object","properties":{"values":{"type":"object"}}}`),
	}, structured(`{"values":{"grid":true}}`))
	add(&mcp.Tool{
		Name: "search_mentions", Annotations: reading, Meta: mcp.Meta{"ui": map[string]any{"visibility": []string{"app"}}},
		InputSchema: schema(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
	}, structured(`{"items":[{"type":"resource_link","uri":"cad://parts/hex","name":"hex"},{"type":"resource","resourceUri":"ui://cad/reset","title":"Reset"}]}`))

	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/html;profile=mcp-app", Text: "M6 page"}}}, nil
	}
	for _, uri := range []string{"ui://cad/library", "ui://cad/reset", "cad://parts/hex"} {
		server.AddResource(&mcp.Resource{URI: uri, Name: uri}, read)
	}
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "cad://parts/{id}", Name: "part"}, read)
	server.AddPrompt(&mcp.Prompt{Name: "review", Arguments: []*mcp.PromptArgument{{Name: "part"}}}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "secret-part"}}}}, nil
	})
	return bothEras(func(*http.Request) *mcp.Server { return server })
}

const revealingLines = allTools + "openai {\n\tsettings settings.read settings.update\n\tmentions search_mentions\n}\n" +
	"links {\n\tplugin cad\n\tresults drop\n}\n"

// askEverything sends everything that a curious client could, and returns all answers.
func askEverything(t *testing.T, c *caller) map[string]*answer {
	t.Helper()
	complete := func(ref map[string]any) *answer {
		return c.call(t, "completion/complete", "", map[string]any{"ref": ref, "argument": map[string]any{"name": "id", "value": ""}})
	}
	answers := map[string]*answer{
		"handshake":           c.handshake(t),
		"library":             c.tool(t, "cad.library", map[string]any{}),
		"report":              c.tool(t, "cad.report", map[string]any{}),
		"settings":            c.tool(t, "settings.read", map[string]any{}),
		"mentions":            c.tool(t, "search_mentions", map[string]any{"query": ""}),
		"page":                c.read(t, "ui://cad/library"),
		"prompt completion":   complete(map[string]any{"type": "ref/prompt", "name": "review"}),
		"template completion": complete(map[string]any{"type": "ref/resource", "uri": "cad://parts/{id}"}),
	}
	for _, list := range []string{"tools", "resources", "resources/templates", "prompts"} {
		answers[list] = c.call(t, list+"/list", "", nil)
	}
	return answers
}

// Under a registration nothing speaks of what lies outside: no list, capability,
// quick action, layout, mention, link, completion or error.
func TestNothingOutsideTheRegistrationIsSpokenOf(t *testing.T) {
	r := startRegistrarBefore(t, revealing(), revealingLines)
	made := r.register(t, `,"max_calls":100`, "cad.library", "cad.report", "settings.read", "search_mentions", "no_such_tool")
	// What must not appear, and in whose answer it stands for the same caller
	// without the registration.
	outside := map[string][]string{
		"cad.reset":       {"tools", "settings", "report"},
		"settings.update": {"handshake", "tools"},
		"openai/settings": {"handshake"},
		"ui://cad/reset":  {"resources", "report", "mentions"},
		"cad://":          {"resources", "resources/templates", "report", "mentions"},
		"review":          {"prompts"},
		"secret-part":     {"prompt completion", "template completion"},
	}
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			whole := askEverything(t, r.caller(t, era, editor("acme")))
			narrow := r.under(t, era, editor("acme"), made.ID)
			for range 2 { // what is remembered must not be another caller's
				got := askEverything(t, narrow)
				for name, where := range outside {
					for _, what := range where {
						if !strings.Contains(string(whole[what].body), name) {
							t.Errorf("%s does not speak of %s to the whole catalog: %s", what, name, whole[what])
						}
					}
					for what, a := range got {
						if strings.Contains(string(a.body), name) {
							t.Errorf("%s speaks of %s: %s", what, name, a)
						}
					}
				}
				if tools := got["tools"].names("tools", "name"); !slices.Equal(tools, []string{"cad.library", "cad.report", "search_mentions", "settings.read"}) {
					t.Errorf("tools %q", tools)
				}
				if pages := got["resources"].names("resources", "uri"); !slices.Equal(pages, []string{"ui://cad/library"}) {
					t.Errorf("resources %q", pages)
				}
				// What belongs to the registration is there.
				for what, part := range map[string]string{
					"handshake": `"openai/mentions":{"searchTool":"search_mentions"}`,
					"settings":  `{"kind":"tool","tool":"cad.library"}`, "report": "The report.", "page": `"text":"M6 page"`,
				} {
					if !strings.Contains(string(got[what].body), part) {
						t.Errorf("%s lacks %s: %s", what, part, got[what])
					}
				}
			}
			for what, names := range map[string][2]string{
				"a tool": {"cad.reset", "no.such1"}, "a page": {"ui://cad/reset", "ui://cad/never"}, "a resource": {"cad://parts/hex", "cad://never/hex"},
				"a prompt": {"review", "nobody"}, "a prompt's completion": {"review", "nobody"}, "a template's completion": {"cad://parts/{id}", "cad://never/{id}"},
			} {
				hidden, unknown := askHidden(t, narrow, what, names[0]), askHidden(t, narrow, what, names[1])
				sameAsUnknown(t, hidden, unknown, names[0], names[1])
				if hidden.code() == "" {
					t.Errorf("%s: no error: %s", what, hidden)
				}
			}
			wantStatus(t, "an invented registration", askHidden(t, &caller{narrow.client, r.URL("acme") + "?registration=reg_" + strings.Repeat("0", 32), era, narrow.header}, "a tool", "cad.library"), http.StatusNotFound)
		})
	}
}

func askHidden(t *testing.T, c *caller, what, name string) *answer {
	t.Helper()
	complete := func(kind, member string) *answer {
		return c.call(t, "completion/complete", "", map[string]any{"ref": map[string]any{"type": kind, member: name}, "argument": map[string]any{"name": "id", "value": ""}})
	}
	switch what {
	case "a tool":
		return c.tool(t, name, map[string]any{})
	case "a prompt":
		return c.call(t, "prompts/get", name, map[string]any{"name": name})
	case "a prompt's completion":
		return complete("ref/prompt", "name")
	case "a template's completion":
		return complete("ref/resource", "uri")
	default:
		return c.read(t, name)
	}
}
