package makes

import (
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// unfitServer has a tool for each thing that can be wrong with one.
func unfitServer() http.Handler {
	s := newSDKServer("unfit", &mcp.ServerCapabilities{})
	const ui = `"_meta":{"ui":{"resourceUri":"ui://u/page"}}`
	for _, declaration := range []string{
		`{"name":"no_ui","title":"A","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}}}`,
		`{"name":"no_hint","title":"B","inputSchema":{"type":"object","properties":{}},` + ui + `}`,
		`{"name":"needs","title":"C","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},` + ui + `}`,
		`{"name":"plugin","title":"Bits & Bolts","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}},` + ui + `}`,
		`{"name":"good","title":"Good","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}},` + ui + `}`,
		`{"name":"good_too","title":"good","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}},` + ui + `}`,
		`{"name":"writes","annotations":{"destructiveHint":true},"inputSchema":{"type":"object","properties":{}}}`,
		`{"name":"patterns","inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"^\\p{L}$"},"b":{"type":"string","pattern":"\\p{Lu}"},"c":{"type":"string","format":"uri"}}}}`,
	} {
		s.tool(declaration, func(string, map[string]any) any { return map[string]any{} })
	}
	return s.serve(true)
}

const unfitLines = `policy {
	tool * {
		anonymous
	}
}
links {
	plugin bits-and-bolts
}
openai {
	entrypoint no_ui global
	entrypoint no_hint global
	entrypoint needs thread
	entrypoint plugin global
	entrypoint good global
	entrypoint good_too thread
	tool writes {
		read_only on
	}
	settings no_ui writes
	repair schemas
}
`

// What does not qualify is left out, each with one warning however often the
// list is asked for, though its pages hold one tool each, and what hosts cannot read is repaired, each place told
// once.
func TestEachFaultIsWarnedAboutOnce(t *testing.T) {
	g := start(t, unfitLines, stack.Config{Upstream: unfitServer()})
	declared := make(map[string]bool)
	var listing string
	for range 3 {
		for _, era := range eras {
			c := g.caller(t, era, person{})
			for _, tool := range c.all(t, "tools/list", "tools") {
				name, _ := tool.Get("name").Text()
				declared[name] = declared[name] || tool.Get("_meta", "openai/ui", "entrypoints").Exists()
				listing += string(tool)
			}
			if strings.Contains(c.record.String(), `"openai/settings"`) {
				t.Error("settings are advertised with tools that do not fit")
			}
		}
	}
	for name, want := range map[string]bool{"no_ui": false, "no_hint": false, "needs": false, "plugin": false, "good": true, "good_too": false} {
		if declared[name] != want {
			t.Errorf("%s carries an entrypoint: %v, want %v", name, declared[name], want)
		}
	}
	if strings.Contains(listing, `"pattern"`) || strings.Contains(listing, `"format"`) {
		t.Errorf("not repaired: %s", listing)
	}
	log := g.log(t)
	for code, want := range map[string]int{
		"entrypoint-no-ui": 1, "entrypoint-not-read-only": 1, "entrypoint-needs-arguments": 1, "entrypoint-title-is-plugin": 1,
		"entrypoint-title-repeated": 1, "hints-contradiction": 1, "capability-withheld": 1, "S01-repaired": 2, "S07-repaired": 1,
	} {
		if got := strings.Count(log, `"code":"`+code+`"`); got != want {
			t.Errorf("%d log lines with %s, want %d", got, code, want)
		}
	}
}
