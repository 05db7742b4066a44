package caddymodule

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// OpenAI declares what the server means to ChatGPT.
type OpenAI struct {
	openai.Declarations

	// Pages are the pages that get a client for deep links, model context,
	// messages and display modes, for servers whose pages have none. Each
	// resources/read answer with such a page gets one script more; nothing else
	// in it changes. Default: none.
	Pages []page.Page `json:"pages,omitempty"`
}

// compilePages checks the pages and makes them ready for use.
func (o *OpenAI) compilePages() (*page.Injector, error) {
	return page.Compile(page.Config{Pages: o.Pages})
}

// provisionPages also tells of a navigate tool that the gateway would not guard.
func (m *Handler) provisionPages() (err error) {
	if m.injector, err = m.OpenAI.compilePages(); err != nil {
		return err
	}
	for _, p := range m.OpenAI.Pages {
		if p.Navigate != "" && p.Navigate != m.Links.Navigate {
			m.logger.Warn("a page's navigate tool is not that of links, so that only the page checks its URLs",
				zap.String("page", p.URI), zap.String("tool", p.Navigate), zap.String("fix", "write links { navigate "+p.Navigate+" }"))
		}
	}
	return nil
}

// withClient puts the client into a content item that is a configured page, and
// tells the operator, once for each page, what may keep it from working there.
func (m *Handler) withClient(item rawjson.Value) rawjson.Value {
	injected, findings := m.injector.Content(item)
	if len(injected) != len(item) {
		if uri, _ := item.Get("uri").Text(); m.warned.first("page review " + uri) {
			findings = m.injector.Review(item)
		}
	}
	m.warnOnce("page client may not work", findings)
	return injected
}

// clientWords are the lines of a page block that are about the client; each of
// them brings it in.
func clientWords(p *page.Page) map[string]subdirective {
	return map[string]subdirective{
		"client":        func(d *caddyfile.Dispenser) error { return parseClient(d, p) },
		"navigate":      func(d *caddyfile.Dispenser) error { return parseNavigate(d, p) },
		"notice":        scalar(&p.Notice),
		"handshake":     oneOf(&p.Handshake, "auto", "always", "never"),
		"display_modes": words(&p.DisplayModes),
		"hosts":         words(&p.Hosts),
	}
}

func parseClient(d *caddyfile.Dispenser, p *page.Page) error {
	switch args := d.RemainingArgs(); {
	case len(args) == 1 && args[0] == "off":
		p.Off = true
		return nil
	case len(args) == 1 && args[0] == "inject":
		return nil
	case len(args) == 2 && args[0] == "inject":
		return setRoute(d, p, args[1])
	default:
		return d.Err("expected: client inject [event|hash|history], or client off")
	}
}

func parseNavigate(d *caddyfile.Dispenser, p *page.Page) error {
	args := d.RemainingArgs()
	switch {
	case p.Navigate != "":
		return d.Errf("navigate already specified: %s", p.Navigate)
	case len(args) != 1 && len(args) != 2:
		return d.Err("expected: navigate <tool> [event|hash|history]")
	}
	p.Navigate = args[0]
	if len(args) == 2 {
		return setRoute(d, p, args[1])
	}
	return nil
}

func setRoute(d *caddyfile.Dispenser, p *page.Page, route string) error {
	if p.Route != "" {
		return d.Errf("where links go is already specified: %s", p.Route)
	}
	p.Route = route
	return nil
}
