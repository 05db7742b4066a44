package discover

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/node"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

// listing is what the tests look at in the result of --json.
type listing struct {
	Source  string `json:"source"`
	Era     string `json:"era"`
	Version string `json:"protocolVersion"`
	Tools   []struct {
		Name string `json:"name"`
	} `json:"tools"`
	Prompts   []json.RawMessage `json:"prompts"`
	Resources []json.RawMessage `json:"resources"`
	Templates []json.RawMessage `json:"resourceTemplates"`
	Requests  []struct {
		Method string `json:"method"`
		Status int    `json:"status"`
	} `json:"requests"`
	Failure *struct {
		Class string `json:"class"`
	} `json:"failure"`
}

func (l listing) names() []string {
	var names []string
	for _, tool := range l.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// list runs discover --json.
func list(t *testing.T, args ...string) listing {
	t.Helper()
	code, stdout, stderr := command{args: append(args, "--json")}.run(t)
	var l listing
	if err := json.Unmarshal([]byte(stdout), &l); err != nil || code != 0 || l.Failure != nil {
		t.Fatalf("exit %d, %v\n%s%s", code, err, stdout, stderr)
	}
	return l
}

// sdkServer is a server of the Go SDK with three tools on pages of two, which
// fails the test if anything but discovery is asked.
func sdkServer(t *testing.T, options *mcp.StreamableHTTPOptions) http.Handler {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1.2.3"}, &mcp.ServerOptions{PageSize: 2})
	called := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		t.Error("a tool was called")
		return &mcp.CallToolResult{}, nil
	}
	for _, name := range []string{"one", "two", "three"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, called)
	}
	server.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		t.Error("a prompt was read")
		return &mcp.GetPromptResult{}, nil
	})
	server.AddResource(&mcp.Resource{Name: "r", URI: "note://r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		t.Error("a resource was read")
		return &mcp.ReadResourceResult{}, nil
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
}

func TestServersOfTheGoSDK(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		for _, asJSON := range []bool{true, false} {
			t.Run(fmt.Sprintf("stateless %v, JSON %v", stateless, asJSON), func(t *testing.T) {
				l := list(t, serve(t, sdkServer(t, &mcp.StreamableHTTPOptions{Stateless: stateless, JSONResponse: asJSON})))
				slices.SortFunc(l.Tools, func(a, b struct {
					Name string `json:"name"`
				},
				) int {
					return strings.Compare(a.Name, b.Name)
				})
				if !slices.Equal(l.names(), []string{"one", "three", "two"}) || len(l.Prompts) != 1 || len(l.Resources) != 1 {
					t.Errorf("%+v", l)
				}
				want := "legacy"
				if stateless {
					want = "modern"
				}
				if l.Era != want {
					t.Errorf("era %s, want %s", l.Era, want)
				}
				if last := l.Requests[len(l.Requests)-1]; !stateless && (last.Method != http.MethodDelete || last.Status/100 != 2) {
					t.Errorf("the session is not ended: %+v", l.Requests)
				}
			})
		}
	}
}

func TestServersOfOtherMakes(t *testing.T) {
	tools := node.Require(t)
	t.Run("TypeScript, both eras", func(t *testing.T) {
		address := node.Address(t)
		node.Serve(t, tools.Command(t.Context(), "dualserver.mjs", node.Port(t, address)), address)
		l := list(t, "http://"+address)
		if l.Era != "modern" || !slices.Equal(l.names(), []string{"greet", "announce", "vault"}) || len(l.Prompts) != 2 || len(l.Resources) != 2 || len(l.Templates) != 2 {
			t.Errorf("%+v", l)
		}
	})
	t.Run("server-everything", func(t *testing.T) {
		address := node.Address(t)
		server := tools.Command(t.Context(), node.ServerEverything, "streamableHttp")
		server.Env = []string{"PORT=" + node.Port(t, address), "PATH=" + os.Getenv("PATH")}
		node.Serve(t, server, address)
		l := list(t, "http://"+address+"/mcp")
		if l.Era != "legacy" || !slices.Contains(l.names(), "echo") || len(l.Prompts) == 0 || len(l.Templates) == 0 {
			t.Errorf("%+v", l)
		}
	})
}

// workspaceServer is the sample server.
func workspaceServer(t *testing.T, config workspace.Config) (address string, server *workspace.Server) {
	t.Helper()
	server, err := workspace.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	address = serve(t, server.Handler()) + workspace.Endpoint
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return address, server
}

func TestTheSampleServerOnEveryWire(t *testing.T) {
	var first []string
	for _, config := range []workspace.Config{{}, {JSON: true}, {PageSize: 1}, {JSON: true, PageSize: 1}} {
		address, server := workspaceServer(t, config)
		l := list(t, address)
		if first == nil {
			first = l.names()
		}
		if l.Era != "modern" || len(first) < 5 || !slices.Equal(l.names(), first) {
			t.Errorf("%+v: %s, %q", config, l.Era, l.names())
		}
		if calls := server.Calls(); len(calls) > 0 {
			t.Errorf("%+v: something was called: %v", config, calls)
		}
	}
}

// TestThroughTheGateway: discover sees what its token may see, and is told why
// it sees nothing.
func TestThroughTheGateway(t *testing.T) {
	s, err := stack.Start(t.Context(), stack.Config{Caddyfile: []byte(`{
	admin off
	auto_https off
	persist_config off
	grace_period 1s
	log {
		output {$GATEWAY_LOG:stderr}
	}
}

http://127.0.0.1:{$GATEWAY_PORT} {
	mcp_app /mcp {$WORKSPACE} {
		resource http://127.0.0.1:{$GATEWAY_PORT}/mcp
		auth {
			issuer {$ISSUER} {
				jwks_url {$ISSUER}/keys
			}
			scopes mcp.use
		}
		tenant {
			claim org_id
			require acme
			allow acme
		}
		policy {
			tool list_decks
			tool create_deck {
				scopes decks.write
			}
		}
	}
}
`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	address := fmt.Sprintf("http://127.0.0.1:%d/mcp", s.Port)
	issue := func(scopes ...string) string {
		token, err := s.Issuer.Issue(issuer.Grant{Subject: "erin", Audience: []string{address}, Scopes: scopes, Claims: map[string]any{"org_id": "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	for _, tt := range []struct {
		token string
		tools []string
	}{
		{issue("mcp.use"), []string{"list_decks"}},
		{issue("mcp.use", "decks.write"), []string{"create_deck", "list_decks"}},
	} {
		code, stdout, stderr := command{args: []string{address, "--json", "--token-file", "-"}, stdin: tt.token + "\n"}.run(t)
		var l listing
		if err := json.Unmarshal([]byte(stdout), &l); err != nil || code != 0 {
			t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
		}
		if slices.Sort(tt.tools); !slices.Equal(slices.Sorted(slices.Values(l.names())), tt.tools) {
			t.Errorf("tools %q, want %q", l.names(), tt.tools)
		}
	}
	token := issue("other")
	for name, tt := range map[string]struct {
		command
		class string
	}{
		"no token":        {command{args: []string{address}}, "authentication"},
		"a bad token":     {command{args: []string{address, "--token", token[:len(token)-8]}}, "authentication"},
		"not enough":      {command{args: []string{address}, env: []string{"MCP_APP_TOKEN=" + token}}, "forbidden"},
		"another address": {command{args: []string{strings.TrimSuffix(address, "mcp") + "other"}}, "not-mcp"},
	} {
		code, stdout, stderr := tt.run(t)
		if code != 1 || stdout != "" || !strings.Contains(stderr, tt.class+": ") || strings.Contains(stderr, token[:40]) {
			t.Errorf("%s: exit %d, %s%s", name, code, stdout, stderr)
		}
	}
}
