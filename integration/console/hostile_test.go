package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/browser"
)

// TestTextsOfServersStayText: whatever a server writes into its list, the page
// has no more elements than it made, runs nothing, asks nobody, and shows what
// cannot be seen.
func TestTextsOfServersStayText(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	p := enter(t, b, run(t, g))
	texts := []string{
		`<img src=x onerror="document.title='owned'">`, `<script>document.title='owned'</script>`, `</summary></details><iframe src="http://127.0.0.1:1/">`,
		"rtl\u202egnp.exe", "zero\u200bwidth\u2066isolate", "escape\x1b[31m\x00", `"><svg onload=alert(1)>`, "{{constructor.constructor('alert(1)')()}}",
		"__proto__", "constructor", "toString", "javascript:alert(1)", strings.Repeat("long", 5000), strings.Repeat("Z\u0335\u0336\u0337", 200), "\ufeffbom", "emoji 👩‍💻",
	}
	var list []map[string]any
	for i, text := range texts {
		list = append(list, map[string]any{
			"name": text, "title": text + " title", "description": "About " + text + "\n\nsecond line",
			"annotations": map[string]any{"readOnlyHint": "yes", "title": text, "__proto__": map[string]any{"x": 1}},
			"inputSchema": map[string]any{"type": "object", "description": text, "properties": map[string]any{text: map[string]any{"type": "string"}}},
			"_meta":       map[string]any{"openai/ui": map[string]any{"entrypoints": []any{text, nil, map[string]any{"type": text, "extensions": text}, number(i)}}},
		})
	}
	g.strange.lists(list...)
	p.endpoint("/strange")
	p.choose("by", "nobody")
	p.click("#check")
	p.says("#progress", "Checked")
	browser.Eval[any](p.Page, `document.querySelectorAll("#catalog details").forEach(e => e.open = true)`)
	p.wait(`document.querySelectorAll("#catalog .inside").length > 10`)
	browser.Eval[any](p.Page, `document.querySelectorAll("#catalog details").forEach(e => e.open = true)`)
	p.wait(`[...document.querySelectorAll("#catalog details")].every(e => !e.open || e.childElementCount > 1)`)
	if got := p.shown(); len(got) == 0 {
		t.Fatal("nothing is shown: " + p.text("#summary"))
	}
	all := p.text("#catalog")
	for _, seen := range []string{`<img src=x onerror=`, `<script>document.title=`, `rtl\u{202e}gnp.exe`, `zero\u{200b}width\u{2066}isolate`, "characters more)", `rtl\u202egnp.exe`, "javascript:alert(1)"} {
		if !strings.Contains(all, seen) {
			t.Errorf("%q is not to be read", seen)
		}
	}
	for _, hidden := range []string{"\u202e", "\u200b", "\u2066", "\x1b", "\x00"} {
		if strings.Contains(all, hidden) {
			t.Errorf("%q reaches the page", hidden)
		}
	}
	if foreign := browser.Eval[int](p.Page, `document.querySelectorAll("iframe, svg, object, embed, img:not([src='icon.svg']), script:not([src='console.js']), style, base, [onerror], [onload]").length`); foreign > 0 {
		t.Errorf("%d foreign elements", foreign)
	}
	if title := browser.Eval[string](p.Page, "document.title"); title != "MCP app console" {
		t.Errorf("the title is %q", title)
	}
	if polluted := browser.Eval[bool](p.Page, `({}).x !== undefined`); polluted {
		t.Error("the prototype of all objects was changed")
	}
	p.shoot("hostile")
	p.fill("#explain-name", "<b>none</b>\u202e")
	p.click("#explain button")
	p.says("#explained", `<b>none</b>\u{202e}`)
	p.click("#tab-findings")
	p.click("#findings section:nth-of-type(3) button")
	p.says("#progress", "Checked from outside")
	p.quiet()
}

// TestTwoThousandToolsCanBeSearched, and nothing sticks out.
func TestTwoThousandToolsCanBeSearched(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	p := enter(t, b, run(t, g))
	var list []map[string]any
	for i := range 2000 {
		list = append(list, tool(fmt.Sprintf("tool_%04d", i), strings.Repeat("text ", 40)))
	}
	g.strange.lists(list...)
	p.endpoint("/strange")
	p.choose("by", "nobody")
	p.click("#check")
	p.says("#progress", "Checked: 2,000 tools shown, 0 hidden.")
	p.fill("#search", "1999")
	p.says("#matches", "1 of 2,000 names")
	if got := p.shown(); len(got) != 1 || got[0] != "tool_1999" {
		t.Errorf("%q", got)
	}
	if wide := p.Sideways(); wide > 0 {
		t.Errorf("%d pixels stick out sideways", wide)
	}
}

// TestASilentServerCanBeGivenUp: the time that passes is shown, Cancel reaches the
// server, and nothing is claimed afterwards.
func TestASilentServerCanBeGivenUp(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	p := enter(t, b, run(t, g))
	g.strange.hangs()
	p.endpoint("/strange")
	p.choose("by", "nobody")
	p.click("#check")
	p.says("#progress", "Checking, for 35 s at most")
	p.says("#elapsed", "1 s")
	p.shoot("waiting")
	p.click("#cancel")
	p.says("#progress", "Cancelled.")
	<-g.strange.left
	if got := p.text("#summary"); !strings.Contains(got, "Nothing was learned") || len(p.shown()) > 0 {
		t.Errorf("after giving up: %s", got)
	}
	if at := browser.Eval[string](p.Page, "document.activeElement.id"); at != "check" {
		t.Errorf("the keyboard is at %q", at)
	}
	// Changing who asks gives up, too.
	p.click("#check")
	p.says("#elapsed", "0 s")
	p.choose("by", "token")
	<-g.strange.left
	p.choose("by", "nobody")
	g.strange.lists(tool("one", ""))
	p.click("#check")
	p.says("#progress", "Checked: 1 tool shown")
	p.quiet()
}

// TestServersThatMisbehaveAreToldApart: each failure is a sentence, and nothing
// is claimed to be known.
func TestServersThatMisbehaveAreToldApart(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	p := enter(t, b, run(t, g))
	p.endpoint("/strange")
	p.choose("by", "nobody")
	for name, answer := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/x", http.StatusTemporaryRedirect)
		},
		"garbage": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>\x00\xff<script>alert(1)</script>"))
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":`))
		},
		"twice": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]}}`))
		},
		"broken off": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		g.strange.answers(answer)
		p.click("#refresh")
		p.says("#summary", "The server’s lists could not be had")
		if got := p.text("#summary"); !strings.Contains(got, "Nothing is known") || strings.Contains(got, "<script>") || len(p.shown()) > 0 {
			t.Errorf("%s: %s", name, got)
		}
		t.Logf("%s: %s", name, strings.Split(p.text("#summary"), "\n")[2])
	}
	p.quiet()
}
