package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/browser"
)

// TestAnOperatorSeesWhyAToolIsHidden walks through the catalog: a check, the rule
// beside a hidden tool, schemas, search, the filter of allowed tools, and an
// explanation of a tool that nobody lists.
func TestAnOperatorSeesWhyAToolIsHidden(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	p := enter(t, b, run(t, g))
	p.shoot("start")
	p.endpoint("/mcp")
	p.says("#endpoint", "acme, globex")
	p.check(g.token(t, "victor@acme", "acme", "mcp.use"))
	for _, fact := range []string{"victor@acme", "acme", "mcp.use", "workspace 1.0.0 (modern, 2026-07-28)", "http://acme.localhost:", "just now"} {
		if got := p.text("#summary"); !strings.Contains(got, fact) {
			t.Errorf("the summary does not say %q: %s", fact, got)
		}
	}
	p.says("#progress", "Checked: 5 tools shown, 14 hidden.")
	for name, says := range map[string][]string{
		"settings.update":  {"Hidden", "rule tool settings.*", "missing scope settings.write"},
		"admin.purge_deck": {"Hidden", "rule tool admin.*", "none of the rule's roles"},
		"delete_deck":      {"Hidden", "no rule fits and the default is deny"},
		"create_deck":      {"Shown, asks for scopes", "missing scope decks.write"},
		"list_decks":       {"Shown", "read-only"},
		"workspace.home":   {"Shown", "entrypoint global"},
	} {
		for _, text := range says {
			if got := p.text(row(name)); !strings.Contains(got, text) {
				t.Errorf("%s does not say %q: %s", name, text, got)
			}
		}
	}
	if got := p.text("#catalog"); !strings.Contains(got, "openai/settings") || !strings.Contains(got, "tool gone.*") {
		t.Errorf("capabilities and unused rules: %s", got)
	}
	p.shoot("catalog")

	p.click(row("settings.update") + " > summary")
	p.says(row("settings.update")+" pre", "scopes settings.write")
	p.click(row("list_decks") + " > summary")
	p.click(row("list_decks") + " details:nth-of-type(2) > summary")
	p.says(row("list_decks"), `"type": "object"`)
	p.shoot("details")

	p.fill("#search", "DECK")
	p.says("#matches", "of 24 names")
	if got := p.shown(); slices.Contains(got, "workspace.tray") || !slices.Contains(got, "create_deck") {
		t.Errorf("search: %q", got)
	}
	p.choose("which", "hidden")
	if got := p.shown(); slices.Contains(got, "create_deck") || !slices.Contains(got, "delete_deck") {
		t.Errorf("hidden ones: %q", got)
	}
	p.choose("which", "all")
	p.fill("#search", "")
	p.fill("#allowed", "list_decks, delete_deck,nowhere")
	p.says("#matches", "Not offered to this principal: delete_deck (hidden), nowhere (not listed by the server)")
	p.shoot("allowed")
	p.fill("#allowed", "")

	p.fill("#explain-name", "gone.tool")
	p.click("#explain button")
	p.says("#explained", "tool gone.*")
	p.says("#explained", "Would be shown")
	p.says("#explained", "does not list it")
	p.quiet()
}

// TestNothingIsShownForLongerThanItHolds: another token, principal, endpoint or
// configuration, and a lost connection, clear what was shown.
func TestNothingIsShownForLongerThanItHolds(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	c := run(t, g)
	p := enter(t, b, c)
	g.strange.lists(tool("one", "The first."))
	victor := g.token(t, "victor@acme", "acme", "mcp.use")
	p.endpoint("/mcp")
	shown := func() {
		t.Helper()
		p.check(victor)
		if len(p.shown()) == 0 {
			t.Fatal("nothing is shown after a check")
		}
	}
	gone := func(why string) {
		t.Helper()
		p.says("#summary", why)
		if got := p.shown(); len(got) > 0 || p.text("#catalog") != "" {
			t.Errorf("%s: still shown: %q", why, got)
		}
	}
	shown()
	p.fill("#token", "other")
	gone("You have changed who asks")
	shown()
	p.choose("by", "claims")
	gone("You have changed who asks")
	p.choose("by", "token")
	shown()
	p.endpoint("/strange")
	gone("Say who asks, and check")
	p.endpoint("/mcp")
	shown()
	browser.Eval[any](p.Page, `document.querySelectorAll("#endpoints input").forEach(e => e.dataset.old = "")`)
	if err := g.Reload([]byte(strings.Replace(caddyfile, "scopes settings.write", "scopes settings.change", 1))); err != nil {
		t.Fatal(err)
	}
	p.wait(`document.querySelectorAll("#catalog .row").length === 0`)
	p.wait(`document.querySelector("#endpoints input:not([data-old])")`)
	p.endpoint("/mcp")
	shown()
	p.says(row("settings.update"), "missing scope settings.change")
	// A check that does not succeed leaves nothing of the one before.
	p.fill("#token", "with blanks in it")
	p.click("#check")
	p.says("#who-error", "do not belong into a token")
	gone("Nothing is shown yet")
	shown()
	if code := c.end(t); code != 0 {
		t.Errorf("exit %d: %s", code, c.out)
	}
	gone("The connection was lost")
	// Trying again, in vain, does not hide it.
	p.wait(`performance.getEntriesByType("resource").filter(e => e.name.endsWith("/api/events")).length > 2`)
	gone("The connection was lost")
	p.says("#endpoints", "Not connected")
	p.says("#connection", "Start caddy mcp-app console again")
	p.shoot("lost")
}

// TestPrincipalsOfEveryKind: claims that nobody has signed, nobody, one who is
// refused, and a server that is down.
func TestPrincipalsOfEveryKind(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	p := enter(t, b, run(t, g))
	p.endpoint("/mcp")
	p.choose("by", "claims")
	for _, bad := range []string{"[1]", `{"sub":`, "null", ""} {
		p.fill("#claims", bad)
		p.click("#check")
		p.says("#who-error", "JSON")
	}
	p.shoot("wrong-claims")
	p.fill("#claims", `{"sub": "erin@acme", "org_id": "acme", "scope": "mcp.use settings.write", "big": 123456789012345678901234567890}`)
	p.click("#check")
	p.says("#progress", "Checked")
	p.says("#summary", "given claims, which nobody has signed")
	p.says(row("settings.update"), "Shown")

	p.fill("#claims", `{"sub": "erin@hooli", "org_id": "hooli", "scope": "mcp.use"}`)
	p.click("#check")
	p.says("#summary", "This principal is not let in")
	p.says("#summary", "403")
	p.shoot("refused")
	p.choose("by", "nobody")
	p.click("#check")
	p.says("#summary", "A client gets 401")
	if got := p.shown(); len(got) > 0 {
		t.Errorf("shown to nobody: %q", got)
	}
	p.endpoint("/strange")
	g.strange.lists()
	p.click("#check")
	p.says("#catalog", "The server lists no tools to this principal")
	p.shoot("empty")
	g.strange.answers(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusInternalServerError) })
	p.click("#check")
	p.says("#catalog", "The server lists no tools") // of the last five minutes
	p.click("#refresh")
	p.says("#summary", "Nothing is known of what it lists")
	if got := p.shown(); len(got) > 0 {
		t.Errorf("shown of a server that is down: %q", got)
	}
	p.shoot("failed")
	p.quiet()
}

// TestDecisionsAreSeenAsTheyAreMade, with counters, for the chosen endpoint.
func TestDecisionsAreSeenAsTheyAreMade(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	p := enter(t, b, run(t, g))
	p.endpoint("/mcp")
	p.click("#tab-live")
	p.says("#live", "No decisions yet")
	victor := g.token(t, "victor@acme", "acme", "mcp.use")
	g.call(t, victor, "tools/list", "", map[string]any{})
	g.call(t, victor, "tools/call", "settings.update", map[string]any{"name": "settings.update", "arguments": map[string]any{}})
	g.call(t, "bad", "tools/list", "", map[string]any{})
	p.says("#live .counters", "allow\n1")
	p.says("#live .counters", "hide\n1")
	p.says("#live .counters", "refuse\n1")
	for _, text := range []string{"victor@acme of acme", "rule settings.*", "missing scope settings.write", "tools/call", "nobody who has logged in", "invalid_token"} {
		if got := p.text("#live"); !strings.Contains(got, text) {
			t.Errorf("%q is not told: %s", text, got)
		}
	}
	p.shoot("live")
	p.click("#live button[aria-pressed]")
	g.call(t, victor, "prompts/list", "", map[string]any{})
	p.says("#live .counters", "allow\n2")
	if got := p.text("#live .live"); strings.Contains(got, "prompts/list") {
		t.Errorf("the list moves although it was paused: %s", got)
	}
	p.click("#live button[aria-pressed]")
	p.says("#live .live", "prompts/list")
	p.endpoint("/strange")
	p.says("#live", "No decisions yet")
	// Records come in order: the foreign one has been there when its own is seen.
	g.call(t, victor, "tools/list", "", map[string]any{})
	response, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/strange", g.Port), "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	p.says("#live .counters", "refuse\n1")
	if got := p.text("#live .counters"); !strings.Contains(got, "allow\n0") {
		t.Errorf("decisions of another endpoint are counted: %s", got)
	}
	p.quiet()
}

// TestFindingsFromThreeSides: the running configuration, the last check, and a
// look from outside, which is not made before somebody wants it.
func TestFindingsFromThreeSides(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	p := enter(t, b, run(t, g))
	g.strange.lists(map[string]any{"name": "odd", "inputSchema": map[string]any{"type": "object", "anyOf": []any{}}})
	p.endpoint("/strange")
	p.choose("by", "nobody")
	p.click("#tab-findings")
	p.says("#findings", "storage-local")
	p.says("#findings", "Check in the form above first.")
	p.says("#findings", "Not checked yet.")
	if asked := g.strange.asked.Load(); asked != 0 {
		t.Errorf("the server was asked %d times before anybody wanted it", asked)
	}
	p.click("#findings section:nth-of-type(3) button")
	p.says("#findings", "S04")
	p.says("#findings", "address-local")
	p.says("#progress", "Checked from outside")
	p.shoot("findings")
	p.click("#check")
	p.says("#progress", "Checked: ")
	if got := p.text("#findings"); !strings.Contains(got, "Not checked yet.") {
		t.Errorf("a check keeps what was found before it: %s", got)
	}
	p.quiet()
}

// TestTheKeyboardReachesEverything, in the order in which it is read, and one
// sees where one is.
func TestTheKeyboardReachesEverything(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	p := enter(t, b, run(t, g))
	p.endpoint("/mcp")
	p.check(g.token(t, "victor@acme", "acme", "mcp.use"))
	browser.Eval[any](p.Page, `document.querySelector(".skip").focus()`)
	var reached []string
	for range 20 {
		p.Press("Tab")
		at := browser.Eval[string](p.Page, `(e => e.id || e.name || e.textContent.trim().slice(0, 20))(document.activeElement)`)
		if outline := browser.Eval[string](p.Page, `(e => getComputedStyle(e).outlineStyle + getComputedStyle(e.nextElementSibling ?? e).outlineStyle)(document.activeElement)`); !strings.Contains(outline, "solid") {
			t.Errorf("%s has the outline %q", at, outline)
		}
		reached = append(reached, at)
	}
	// Found by number of tabs, not by a pointer.
	order := []string{"endpoint", "by", "token", "check", "refresh", "tab-catalog", "search", "allowed", "which"}
	last := -1
	for _, id := range order {
		i := slices.Index(reached, id)
		if i <= last {
			t.Fatalf("%s comes at %d, after %d: %q", id, i, last, reached)
		}
		last = i
	}
	browser.Eval[any](p.Page, `document.querySelector("#tab-catalog").focus()`)
	p.Press("ArrowRight")
	if got := browser.Eval[string](p.Page, `document.activeElement.id + " " + document.querySelector("#panel-findings").hidden + " " + document.querySelector("#panel-catalog").hidden`); got != "tab-findings false true" {
		t.Errorf("the arrow leads to %s", got)
	}
	p.Press("ArrowLeft")
	browser.Eval[any](p.Page, `document.querySelector('#catalog summary').focus()`)
	p.Press("Enter")
	p.wait(`document.querySelector("#catalog details").open`)

	// What a screen reader is told: each field has a name, each part a heading.
	unnamed := browser.Eval[[]string](p.Page, `[...document.querySelectorAll("input, textarea, button, fieldset, [role=tabpanel], pre")].filter(e =>
		!e.labels?.length && !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby") && !e.querySelector("legend") && !(e.matches("button") && e.textContent.trim())).map(e => e.outerHTML.slice(0, 80))`)
	if len(unnamed) > 0 {
		t.Errorf("without a name: %q", unnamed)
	}
	if got := browser.Eval[string](p.Page, `document.documentElement.lang + " " + document.querySelectorAll("h1").length + " " + document.querySelectorAll("main").length`); got != "en 1 1" {
		t.Errorf("language, headings, main: %q", got)
	}
}

// TestNoSecretIsKeptAnywhere: neither the link's secret nor a pasted token stands
// in the page, its address, its storage, the output of the command or the logs.
func TestNoSecretIsKeptAnywhere(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	c := run(t, g)
	p := enter(t, b, c)
	_, secret, _ := strings.Cut(c.url, "secret=")
	token := g.token(t, "victor@acme", "acme", "mcp.use")
	g.strange.lists(tool("echo", "You sent Bearer "+token+"."))
	p.endpoint("/mcp")
	p.check(token)
	p.endpoint("/strange")
	p.check(token)
	p.click(row("echo") + " > summary")
	p.says(row("echo"), "You sent Bearer [redacted].")
	p.click(row("echo") + " details:last-of-type > summary")
	p.says(row("echo")+" pre", "[redacted]")
	p.click("#tab-findings")
	p.click("#findings section:nth-of-type(3) button")
	p.says("#progress", "Checked from outside")

	kept := browser.Eval[string](p.Page, `JSON.stringify([document.documentElement.outerHTML, location.href, document.referrer, document.cookie,
		{...localStorage}, {...sessionStorage}, history.state, performance.getEntries().map(e => e.name), document.title])`)
	var history struct{ Entries []struct{ URL string } }
	p.Must("Page.getNavigationHistory", nil, &history)
	for name, where := range map[string]string{"page": kept, "output": c.out.String(), "history": fmt.Sprint(history)} {
		if strings.Contains(where, token) || strings.Contains(where, token[strings.LastIndexByte(token, '.'):]) {
			t.Errorf("%s: the token is there", name)
		}
		if n := strings.Count(where, secret); n > 1 || n == 1 && name != "output" {
			t.Errorf("%s: the link's secret is there %d times: %s", name, n, where)
		}
	}
	var cookies struct {
		Cookies []struct {
			Name, Value, Path, SameSite string
			HTTPOnly, Session           bool
		}
	}
	p.Must("Network.getCookies", nil, &cookies)
	if n := len(cookies.Cookies); n != 1 {
		t.Fatalf("%d cookies", n)
	}
	if k := cookies.Cookies[0]; !k.HTTPOnly || !k.Session || k.SameSite != "Strict" || k.Path == "/" || k.Value == secret {
		t.Errorf("the cookie %+v", k)
	}
	log, err := os.ReadFile(g.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{token, secret, cookies.Cookies[0].Value} {
		if strings.Contains(string(log), hidden) {
			t.Error("the log of Caddy holds a secret")
		}
	}
	if !json.Valid([]byte(c.out.String())) {
		t.Errorf("more than one JSON value: %s", c.out)
	}

	// Gone from the page when it is left, also for the back button.
	p.Must("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	p.wait(`location.href === "about:blank"`)
	browser.Eval[any](p.Page, `history.back()`)
	p.wait(`document.querySelector("#connection")?.dataset.state === "open"`)
	if got := browser.Eval[string](p.Page, `document.querySelector("#token").value`); got != "" {
		t.Error("the token is still in its field")
	}

	// Another browser, with no cookie, gets nothing by the used link.
	other := visit(t, b, c.url)
	other.says("body", "was used before")
}
