package makes

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

// The eras, by the revision that stands for each.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

var eras = []string{legacy, modern}

// handler answers a call of a tool with its structured content.
type handler func(subject string, arguments map[string]any) any

// sdkServer is a server of the Go SDK that puts on the wire what the SDK of
// another language would.
type sdkServer struct {
	mcp *mcp.Server

	mu     sync.Mutex
	values map[string]map[string]any // settings by subject
}

func newSDKServer(name string, capabilities *mcp.ServerCapabilities) *sdkServer {
	return &sdkServer{
		values: make(map[string]map[string]any),
		mcp: mcp.NewServer(&mcp.Implementation{Name: name, Version: "1.0.0"}, &mcp.ServerOptions{
			PageSize: 1, Capabilities: capabilities,
		}),
	}
}

// tool registers a tool as its SDK declares it.
func (s *sdkServer) tool(declaration string, handle handler) {
	s.raw(declaration, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		arguments := map[string]any{}
		if len(r.Params.Arguments) > 0 {
			if err := json.Unmarshal(r.Params.Arguments, &arguments); err != nil {
				return nil, err
			}
		}
		subject := r.Extra.Header.Get(workspace.SubjectHeader)
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: handle(subject, arguments)}, nil
	})
}

// raw registers a tool that answers with whole results.
func (s *sdkServer) raw(declaration string, handle mcp.ToolHandler) {
	tool := &mcp.Tool{}
	if err := json.Unmarshal([]byte(declaration), tool); err != nil {
		panic(err) // a literal of this package
	}
	s.mcp.AddTool(tool, handle)
}

// page registers a UI resource.
func (s *sdkServer) page(resource *mcp.Resource, html string) {
	s.mcp.AddResource(resource, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
			URI: resource.URI, MIMEType: resource.MIMEType, Text: html, Meta: resource.Meta,
		}}}, nil
	})
}

// settings answers the settings of a person, after a change if there is one.
func (s *sdkServer) settings(subject string, set map[string]any) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values[subject] == nil {
		s.values[subject] = map[string]any{"units": "mm", "showGrid": true}
	}
	for name, value := range set {
		s.values[subject][name] = value
	}
	values := make(map[string]any)
	for name, value := range s.values[subject] {
		values[name] = value
	}
	return values
}

// serve serves both eras: the modern one without sessions, the legacy one with.
func (s *sdkServer) serve(asJSON bool) http.Handler {
	one := func(*http.Request) *mcp.Server { return s.mcp }
	stateful := mcp.NewStreamableHTTPHandler(one, &mcp.StreamableHTTPOptions{JSONResponse: asJSON})
	stateless := mcp.NewStreamableHTTPHandler(one, &mcp.StreamableHTTPOptions{JSONResponse: asJSON, Stateless: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = plainHints{w}
		if r.Header.Get("Mcp-Protocol-Version") >= modern {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})
}

// settingsDefinition is what both SDKs answer as the schema of the settings.
func settingsDefinition(more map[string]any) map[string]any {
	definition := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"units":    map[string]any{"type": "string", "title": "Units", "enum": []string{"mm", "in"}},
			"showGrid": map[string]any{"type": "boolean", "title": "Show grid", "description": "Draws a grid behind the part."},
		},
		"required":             []string{"units", "showGrid"},
		"additionalProperties": false,
	}
	for name, value := range more {
		definition[name] = value
	}
	return definition
}

// settingsLayout has a tool that everybody may use and one that few may.
func settingsLayout() []any {
	return []any{
		map[string]any{"kind": "group", "title": "Drawing", "items": []any{
			map[string]any{"kind": "property", "property": "units"},
			map[string]any{"kind": "property", "property": "showGrid"},
		}},
		map[string]any{"kind": "group", "title": "Danger", "items": []any{
			map[string]any{"kind": "tool", "tool": "cad.reset", "description": "Forgets everything."},
		}},
	}
}

// plainHints takes out a hint that the Go SDK writes although nobody declared
// it: the other two SDKs do not.
type plainHints struct{ http.ResponseWriter }

func (w plainHints) Write(p []byte) (int, error) {
	_, err := w.ResponseWriter.Write(bytes.ReplaceAll(p, []byte(`"idempotentHint":false,`), nil))
	return len(p), err
}

func (w plainHints) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w plainHints) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
