package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// middlewares are ways to put the gateway in front of the site's own handlers.
var middlewares = map[string]string{
	"reverse_proxy":         "reverse_proxy {$WORKSPACE} {\n\theader_up Host {upstream_hostport}\n}",
	"behind encode":         "encode gzip zstd\nreverse_proxy {$WORKSPACE} {\n\theader_up Host {upstream_hostport}\n}",
	"that asks for gzip":    "reverse_proxy {$WORKSPACE} {\n\theader_up Host {upstream_hostport}\n\theader_up Accept-Encoding gzip\n}",
	"inside handle":         "handle {\n\trequest_header X-Added yes\n\treverse_proxy {$WORKSPACE} {\n\t\theader_up Host {upstream_hostport}\n\t}\n}",
	"that changes the path": "handle {\n\trequest_header X-Added yes\n\turi query added 1\n\treverse_proxy {$WORKSPACE} {\n\t\theader_up Host {upstream_hostport}\n\t}\n}",
}

// asMiddleware is the example without upstream arguments, before a handler.
func asMiddleware(t *testing.T, handler string) []byte {
	t.Helper()
	text := string(example(t, "mcp_app /mcp {$WORKSPACE:127.0.0.1:3000} {", "mcp_app /mcp {"))
	end := strings.LastIndex(text, "}")
	return []byte(text[:end] + handler + "\n}\n")
}

func TestTheGatewayIsMiddlewareTheSame(t *testing.T) {
	for name, handler := range middlewares {
		t.Run(name, func(t *testing.T) {
			everywhere(t, asMiddleware(t, handler), func(t *testing.T, g *gateway, era string) {
				g.Workspace.ForgetCalls()
				viewing, editing := g.connect(t, era, viewer("acme")), g.connect(t, era, editor("acme"))
				if got := toolNames(t, viewing); !slices.Equal(got, viewerTools) {
					t.Errorf("the viewer sees %q, want %q", got, viewerTools)
				}
				if _, ok := viewing.InitializeResult().Capabilities.Extensions["openai/settings"]; ok {
					t.Error("settings are advertised to the viewer")
				}
				if _, ok := editing.InitializeResult().Capabilities.Extensions["openai/settings"]; !ok {
					t.Error("settings are not advertised to the editor")
				}
				if result, err := editing.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_decks"}); err != nil || result.IsError {
					t.Errorf("list_decks: %v, %s", err, compact(t, result))
				}
				if result, err := viewing.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://workspace/home"}); err != nil || result.Contents[0].Meta["openai/ui"] == nil {
					t.Errorf("ui://workspace/home: %v", err)
				}
				c := g.caller(t, era, viewer("acme"))
				sameAsUnknown(t, c.tool(t, "admin.purge_deck", nil), c.tool(t, "no.such_tool", nil), "admin.purge_deck", "no.such_tool")
				for _, request := range g.Workspace.Requests() {
					if request.Header.Get("Authorization") != "" || request.Header.Get("X-Mcp-App-Tenant") != "acme" || request.Path[:4] != "/mcp" {
						t.Errorf("%s of %s as tenant %q", request.RPC, request.Path, request.Header.Get("X-Mcp-App-Tenant"))
					}
					if strings.Contains(handler, "X-Added") && request.Header.Get("X-Added") != "yes" {
						t.Errorf("%s went around the site's own handlers", request.RPC)
					}
				}
			})
		})
	}
}

// A server that compresses for a proxy that asks it to is out of the filter's
// sight; nothing of its answer may pass.
func TestACompressedAnswerIsWithheldInMiddlewareToo(t *testing.T) {
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			answerWith(200, map[string]string{"Content-Type": "application/json"}, listing).ServeHTTP(w, r)
			return
		}
		answerWith(200, map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}, gzipped(t, listing)).ServeHTTP(w, r)
	})
	for name, want := range map[string]int{"reverse_proxy": http.StatusOK, "that asks for gzip": http.StatusBadGateway} {
		t.Run(name, func(t *testing.T) {
			g := start(t, stackWith(site("mcp_app /mcp {\n"+secured+"policy {\n\ttool shown\n}\n}\n"+middlewares[name]), server))
			a := g.bearer(t, viewer("acme")).post(t, pingBody, nil)
			wantStatus(t, name, a, want)
			if strings.Contains(string(a.body), "secret") {
				t.Errorf("the hidden tool came through: %s", a)
			}
		})
	}
}

func TestMiddlewareWithoutAnythingBehindSaysSo(t *testing.T) {
	g := start(t, stackFor(site("mcp_app /mcp {\n"+secured+allTools+"}\n")))
	wantFailure(t, "nothing behind", g.bearer(t, viewer("acme")).post(t, pingBody, nil), http.StatusBadGateway)
	if !strings.Contains(g.log(t), "reverse_proxy") {
		t.Error("the log does not say what is missing")
	}
}

// The client gets what encode made of the rewritten answer, not of the original.
func TestEncodeCompressesWhatTheGatewayWrote(t *testing.T) {
	g := start(t, stackFor(asMiddleware(t, middlewares["behind encode"])))
	c := g.caller(t, modern, viewer("acme"))
	plain := c.call(t, "tools/list", "", nil) // the client of the standard library asks for gzip and decodes
	body, header := c.message(t, "tools/list", "", nil)
	header.Set("Accept-Encoding", "identity")
	if direct := c.post(t, body, header); string(direct.body) != string(plain.body) {
		t.Errorf("compressed\n%s\nnot compressed\n%s", plain.body, direct.body)
	}
	if got := plain.names("tools", "name"); !slices.Equal(got, viewerTools) {
		t.Errorf("tools %q", got)
	}
}
