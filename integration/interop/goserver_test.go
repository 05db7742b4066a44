package interop

import (
	"context"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goServer returns a server of the Go SDK for both eras, with sessions and
// resumable streams in the legacy one. It has the catalog of
// integration/node/dualserver.mjs.
func goServer(t *testing.T) http.Handler {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "dual", Version: "1.0.0"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addTools(server)
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := r.Params.URI
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "This is " + uri + "."}}}, nil
	}
	for _, name := range []string{"public", "private"} {
		server.AddResource(&mcp.Resource{Name: name, URI: "note://" + name, MIMEType: "text/plain"}, read)
		server.AddResourceTemplate(&mcp.ResourceTemplate{Name: name + " pages", URITemplate: "note://" + name + "/{page}"}, read)
	}
	for name, said := range map[string]string{"welcome": "Welcome.", "audit": "Audit."} {
		server.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: said}}}}, nil
		})
	}
	serve := func(*http.Request) *mcp.Server { return server }
	withSessions := mcp.NewStreamableHTTPHandler(serve, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	without := mcp.NewStreamableHTTPHandler(serve, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("MCP-Protocol-Version") >= modern {
			without.ServeHTTP(w, r)
			return
		}
		withSessions.ServeHTTP(w, r)
	})
}

func addTools(server *mcp.Server) {
	text := func(text string, links ...string) *mcp.CallToolResult {
		result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
		for _, uri := range links {
			result.Content = append(result.Content, &mcp.ResourceLink{URI: uri, Name: uri})
		}
		return result
	}
	type person struct {
		Name string `json:"name"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets in three steps."},
		func(ctx context.Context, r *mcp.CallToolRequest, who person) (*mcp.CallToolResult, any, error) {
			if token := r.Params.GetProgressToken(); token != nil {
				for step := range 3 {
					err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(step + 1), Total: 3})
					if err != nil {
						return nil, nil, err
					}
				}
			}
			return text("Hello, "+who.Name+"!", "note://private", "note://public"), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "announce", Description: "Says that the notes changed."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			for _, uri := range []string{"note://private", "note://public"} {
				if err := server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
					return nil, nil, err
				}
			}
			return text("announced"), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "vault", Description: "Not for everybody."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return text("the vault is open"), nil, nil
		})
}
