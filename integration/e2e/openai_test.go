package e2e

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// compact renders decoded JSON again, so that it can be compared.
func compact(t *testing.T, v any) string {
	t.Helper()
	return string(marshal(t, v))
}

func TestEntrypointsAreAddedToTheToolsThatAreDeclared(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		session := g.connect(t, era, viewer("acme"))
		for tool, want := range map[string]string{
			"workspace.home": `{"entrypoints":[{"type":"global"}]}`,
			"workspace.tray": `{"entrypoints":[{"type":"thread"}]}`,
			"list_decks":     `null`,
		} {
			if got := compact(t, findTool(t, session, tool).Meta["openai/ui"]); got != want {
				t.Errorf(`%s has _meta["openai/ui"] %s, want %s`, tool, got, want)
			}
		}
		if got, want := compact(t, findTool(t, session, "workspace.home").Meta["ui"]), `{"resourceUri":"ui://workspace/home"}`; got != want {
			t.Errorf("the server's own _meta.ui is %s, want %s", got, want)
		}
	})
}

func TestDisplayModesAreAddedToThePagesThatAreRead(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		result, err := g.connect(t, era, viewer("acme")).ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://workspace/home"})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Contents) != 1 {
			t.Fatalf("%d content items, want 1", len(result.Contents))
		}
		ui, _ := result.Contents[0].Meta["openai/ui"].(map[string]any)
		if got := compact(t, ui["availableDisplayModes"]); got != `["inline","fullscreen"]` {
			t.Errorf("availableDisplayModes is %s", got)
		}
		if got := compact(t, ui["preferredDisplayMode"]); got != `"fullscreen"` {
			t.Errorf("preferredDisplayMode is %s", got)
		}
	})
}

// only returns the one element of a list.
func only(t *testing.T, list rawjson.Value) rawjson.Value {
	t.Helper()
	if list.Len() != 1 {
		t.Fatalf("%d elements in %s, want 1", list.Len(), list)
	}
	for element := range list.Elements() {
		return element
	}
	return nil
}

// Pages carry scripts whose hash may be known somewhere, so that not even an
// escape may be written differently.
func TestPagesKeepTheirBytes(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		direct, through := g.direct(t, era, viewer("acme")), g.caller(t, era, viewer("acme"))
		for _, uri := range []string{"ui://workspace/home", "ui://workspace/tray"} {
			want := only(t, direct.read(t, uri).message.Get("result", "contents"))
			got := only(t, through.read(t, uri).message.Get("result", "contents"))
			if !got.Get("_meta").Exists() {
				t.Errorf("%s was not decorated: the comparison proves nothing", uri)
			}
			if got = got.Delete("_meta"); string(got) != string(want) {
				t.Errorf("%s: the gateway changed\n%s\ninto\n%s", uri, want, got)
			}
		}
	})
}

func TestWhatNeedsNoChangeKeepsItsBytes(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		direct, through := g.direct(t, era, editor("acme")), g.caller(t, era, editor("acme"))
		for _, tool := range []string{"list_decks", "settings.read", "workspace.home"} {
			got, want := through.tool(t, tool, map[string]any{}), direct.tool(t, tool, map[string]any{})
			if string(got.body) != string(want.body) || got.framing != want.framing || got.status != want.status {
				t.Errorf("%s: through the gateway %d %s\n%s\ndirect %d %s\n%s", tool, got.status, got.framing, got.body, want.status, want.framing, want.body)
			}
		}
	})
}

// Every tool says which scopes it needs; apart from that, the ones without a
// declaration keep their bytes.
func TestToolsWithoutADeclarationKeepTheirBytes(t *testing.T) {
	g := start(t, exampleConfig(t))
	for _, era := range eras {
		declared := map[string]rawjson.Value{}
		for tool := range g.direct(t, era, editor("acme")).call(t, "tools/list", "", nil).message.Get("result", "tools").Elements() {
			name, _ := tool.Get("name").Text()
			declared[name] = tool
		}
		for tool := range g.caller(t, era, editor("acme")).call(t, "tools/list", "", nil).message.Get("result", "tools").Elements() {
			name, _ := tool.Get("name").Text()
			if name == "workspace.home" || name == "workspace.tray" {
				continue
			}
			tool = tool.Delete("securitySchemes").Delete("_meta", "securitySchemes")
			if string(tool.Get("_meta")) == "{}" {
				tool = tool.Delete("_meta")
			}
			if string(tool) != string(declared[name]) {
				t.Errorf("%s: the gateway changed\n%s\ninto\n%s", era, declared[name], tool)
			}
		}
	}
}
