package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

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
		"two  blanks", "__proto__", "constructor", "toString", "javascript:alert(1)", strings.Repeat("long", 5000), strings.Repeat("Z\u0335\u0336\u0337", 200), "\ufeffbom", "emoji 👩‍💻",
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
	p.shoot("hostile")
	browser.Eval[any](p.Page, `document.querySelectorAll("#catalog details").forEach(e => e.open = true)`)
	p.wait(`document.querySelectorAll("#catalog .inside").length > 10`)
	browser.Eval[any](p.Page, `document.querySelectorAll("#catalog details").forEach(e => e.open = true)`)
	p.wait(`[...document.querySelectorAll("#catalog details")].every(e => !e.open || e.childElementCount > 1)`)
	if got := p.shown(); len(got) == 0 {
		t.Fatal("nothing is shown: " + p.text("#summary"))
	}
	all := p.text("#catalog")
	for _, seen := range []string{`<img src=x onerror=`, `<script>document.title=`, `rtl\u{202e}gnp.exe`, `zero\u{200b}width\u{2066}isolate`, "characters more)", "two  blanks", `rtl\u202egnp.exe`, "javascript:alert(1)"} {
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
	for _, v := range []browser.View{light, narrow} {
		p.See(v)
		if wide := p.Sideways(); wide > 0 {
			t.Errorf("%d pixels stick out sideways of %d", wide, v.Width)
		}
	}
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
	g.strange.isLeft(t)
	if got := p.text("#summary"); !strings.Contains(got, "Nothing was learned") || len(p.shown()) > 0 {
		t.Errorf("after giving up: %s", got)
	}
	if at := browser.Eval[string](p.Page, "document.activeElement.id"); at != "check" {
		t.Errorf("the keyboard is at %q", at)
	}
	// Changing who asks gives up, too.
	asked := g.strange.asked.Load()
	p.click("#check")
	for range 400 { // else there is nobody to be told
		if g.strange.asked.Load() > asked {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.choose("by", "token")
	g.strange.isLeft(t)
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
		"twice":      nil,
		"broken off": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		if answer != nil {
			g.strange.answers(answer)
		} else {
			g.strange.lists(tool("a", ""), tool("a", ""))
		}
		p.click("#refresh")
		p.says("#summary", "The server’s lists could not be had")
		if got := p.text("#summary"); !strings.Contains(got, "Nothing is known") || strings.Contains(got, "<script>") || len(p.shown()) > 0 {
			t.Errorf("%s: %s", name, got)
		}
		t.Logf("%s: %s", name, strings.Split(p.text("#summary"), "\n")[2])
	}
	p.quiet()
}

// attack is a page of somebody else that knows where the console is, and tries
// everything that a page can do with it. What came of it is in window.came.
const attack = `<!doctype html><title>attack</title><script type="module">
const base = new URLSearchParams(location.search).get("base"), came = {};
const tried = (name, promise) => promise.then(x => { came[name] = String(x); }, () => { came[name] = "failed"; });
const element = (tag, attributes) => new Promise((done, failed) => {
	const e = Object.assign(document.createElement(tag), attributes, { onload: () => done("loaded"), onerror: failed });
	document.body.append(e);
});
const body = '{"endpoint":"/strange","refresh":true}';
await Promise.all([
	tried("read", fetch(base + "api/endpoints", { credentials: "include" }).then(r => r.text())),
	tried("check", fetch(base + "api/catalog", { method: "POST", body, credentials: "include", headers: { "Content-Type": "application/json" } }).then(r => r.text())),
	tried("check blindly", fetch(base + "api/catalog", { method: "POST", body, credentials: "include", mode: "no-cors" }).then(r => r.type)),
	tried("events", new Promise((done, failed) => { const s = new EventSource(base + "api/events", { withCredentials: true }); s.onopen = done; s.onerror = failed; })),
	tried("script", element("script", { src: base + "text.js", type: "module" })),
	tried("classic script", element("script", { src: base + "text.js" })),
	tried("picture", element("img", { src: base + "icon.svg" })),
	tried("style", element("link", { rel: "stylesheet", href: base + "console.css" })),
]);
window.came = came;
</script><body>`

// TestOtherPagesInTheSameBrowserGetNothing: another server of this machine, to
// whose pages the browser's strict cookie is no stranger, and a name that was
// pointed at the console's address.
func TestOtherPagesInTheSameBrowserGetNothing(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	p := enter(t, b, run(t, g))
	g.strange.lists(tool("one", ""))
	base := browser.Eval[string](p.Page, "location.href")
	var cookies []string
	attacker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookies = append(cookies, r.Header.Get("Cookie"))
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(attack))
	}))
	t.Cleanup(attacker.Close)
	for origin, refused := range map[string]string{
		attacker.URL: "The console is asked by its own page only.",
		strings.Replace(attacker.URL, "127.0.0.1", "evil.localhost", 1): "Open the link that", // is not even sent the cookie
	} {
		p.Must("Page.navigate", map[string]any{"url": origin + "/?base=" + url.QueryEscape(base)}, nil)
		p.wait("window.came")
		for name, got := range browser.Eval[map[string]string](p.Page, "window.came") {
			if want := "failed"; got != want && !(name == "check blindly" && got == "opaque") {
				t.Errorf("%s: %s: %s", origin, name, got)
			}
		}
		if asked := g.strange.asked.Load(); asked != 0 {
			t.Errorf("%s: the server was asked %d times", origin, asked)
		}
		// Neither in a frame nor in a window of its own.
		browser.Eval[any](p.Page, `void document.body.append(Object.assign(document.createElement("iframe"), {src: `+quote(base)+`}))`)
		browser.Eval[any](p.Page, `void (location.href = `+quote(base)+`)`)
		p.says("body", refused)
	}
	for _, cookie := range cookies {
		if cookie != "" {
			t.Errorf("another server of this machine was sent the cookie %q", cookie)
		}
	}
	p.Must("Page.navigate", map[string]any{"url": strings.Replace(base, "127.0.0.1", "rebound.localhost", 1)}, nil)
	p.says("body", "This is not the address of the console.")
	// The user still has it.
	p.Must("Page.navigate", map[string]any{"url": base}, nil)
	p.wait(`document.querySelector("#connection")?.dataset.state === "open"`)
}
