package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// advertised reports where the answer of a handshake advertises settings.
func advertised(a *answer) (extensions, experimental bool) {
	capabilities := a.message.Get("result", "capabilities")
	return capabilities.Get("extensions", "openai/settings").Exists(), capabilities.Get("experimental", "openai/settings").Exists()
}

func TestSettingsAreAdvertisedToThoseWhoHaveBothTools(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		for _, tt := range []struct {
			who  person
			want bool
		}{{editor("acme"), true}, {viewer("acme"), false}, {editor("globex"), true}} {
			extensions, experimental := advertised(g.caller(t, era, tt.who).handshake(t))
			if extensions != tt.want {
				t.Errorf("%s: extensions advertise settings: %v, want %v", tt.who.subject, extensions, tt.want)
			}
			if want := tt.want && era == legacy; experimental != want {
				t.Errorf("%s: experimental advertises settings: %v, want %v", tt.who.subject, experimental, want)
			}
			// What the client of the SDK reads.
			capabilities := g.connect(t, era, tt.who).InitializeResult().Capabilities
			if _, got := capabilities.Extensions["openai/settings"]; got != tt.want {
				t.Errorf("%s: the client sees settings: %v, want %v", tt.who.subject, got, tt.want)
			}
		}
	})
}

// pickyServer is an MCP server that lists the update tool to the boss only.
func pickyServer() *recorder {
	read := &mcp.Tool{
		Name: "settings.read", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		InputSchema:  schema(`{"type":"object","properties":{},"additionalProperties":false}`),
		OutputSchema: schema(`{"type":"object","properties":{"schema":{"type":"object"},"values":{"type":"object"},"layout":{"type":"array"}}}`),
	}
	update := &mcp.Tool{
		Name:        "settings.update",
		InputSchema: schema(`{"type":"object","properties":{"set":{"type":"object"}},"required":["set"],"additionalProperties":false}`),
	}
	return record(serveTools(func(r *http.Request) []*mcp.Tool {
		if strings.HasPrefix(r.Header.Get("X-Mcp-App-Subject"), "boss@") {
			return []*mcp.Tool{read, update}
		}
		return []*mcp.Tool{read}
	}))
}

// withSettings is the endpoint that declares the settings of pickyServer.
var withSettings = endpoint(allTools + "openai {\n\tsettings settings.read settings.update\n}")

// The policy lets everybody use both tools; that the server does not list one
// of them to a caller must be enough.
func TestSettingsAreAdvertisedByTheCallersOwnCatalog(t *testing.T) {
	server := pickyServer()
	g := startBefore(t, server, withSettings)
	boss := person{"boss@acme", "acme", []string{"mcp.use"}}
	for _, era := range eras {
		for _, tt := range []struct {
			who  person
			want bool
		}{{boss, true}, {viewer("acme"), false}} {
			server.forget()
			a := g.caller(t, era, tt.who).handshake(t)
			if extensions, _ := advertised(a); extensions != tt.want {
				t.Errorf("%s, %s: settings advertised: %v, want %v: %s", era, tt.who.subject, extensions, tt.want, a)
			}
			eventually(t, "the private sessions are closed", func() bool {
				opened, closed := server.private()
				return len(opened) == len(closed)
			})
			for _, seen := range server.seen() {
				if got := seen.header.Get("X-Mcp-App-Subject"); got != tt.who.subject {
					t.Errorf("%s: the server was asked %s as %q, want %q", era, seen, got, tt.who.subject)
				}
				if got := seen.header.Get("Authorization"); got != "" {
					t.Errorf("%s: the server was given a token with %s", era, seen)
				}
			}
		}
	}
}

// Where the policy already says no, the server need not be asked; a question
// that nobody waits for would be cut off and logged as a fault at every
// handshake.
func TestAHandshakeAsksForACatalogOnlyIfItMatters(t *testing.T) {
	g := start(t, exampleConfig(t))
	for range 10 {
		for _, era := range eras {
			g.caller(t, era, viewer("acme")).handshake(t)
		}
	}
	for _, request := range g.Workspace.Requests() {
		if request.RPC == "tools/list" {
			t.Fatal("the server was asked for tools whose answer nobody needs")
		}
	}
	if strings.Contains(g.log(t), "catalog could not be had") {
		t.Error("the log speaks of a fault")
	}
}

func TestSettingsAreChangedAndReadBack(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		session := g.connect(t, era, editor("acme"))
		for _, theme := range []string{"dark", "light"} {
			for _, call := range []*mcp.CallToolParams{
				{Name: "settings.update", Arguments: map[string]any{"set": map[string]any{"theme": theme}}},
				{Name: "settings.read", Arguments: map[string]any{}},
			} {
				result, err := session.CallTool(t.Context(), call)
				if err != nil || result.IsError {
					t.Fatalf("%s: %v, %s", call.Name, err, compact(t, result))
				}
				values, _ := result.StructuredContent.(map[string]any)["values"].(map[string]any)
				if values["theme"] != theme {
					t.Errorf("%s: the theme is %v, want %s", call.Name, values["theme"], theme)
				}
			}
		}
	})
}
