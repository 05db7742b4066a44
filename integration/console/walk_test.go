package console

import (
	"slices"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/browser"
)

// TestAnOperatorSeesWhyAToolIsHidden walks through the page: endpoints, a check,
// the rule beside a hidden tool, schemas, search, the filter of allowed tools,
// an explanation, and what goes away when something changes.
func TestAnOperatorSeesWhyAToolIsHidden(t *testing.T) {
	b := browser.Start(t)
	g := start(t)
	c := run(t, g)
	p := enter(t, b, c)
	p.shoot("start")
	p.endpoint("/mcp")
	p.says("#endpoint", "acme, globex")
	p.check(g.token(t, "victor@acme", "acme", "mcp.use"))
	p.says("#summary", "victor@acme")
	p.shoot("catalog")
	if got := p.text(row("settings.update")); got == "" {
		t.Error("no row")
	}
	all := p.shown()
	if !slices.Contains(all, "list_decks") {
		t.Errorf("%q", all)
	}
	p.click(row("settings.update") + " > summary")
	p.click(row("workspace.home") + " > summary")
	p.says(row("settings.update"), "scopes settings.write")
	p.shoot("details")
	p.click("#tab-findings")
	p.shoot("findings")
	p.click("#tab-live")
	p.shoot("live-empty")
	p.quiet()
}
