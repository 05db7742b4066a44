package opener

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/browser"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// TestMain keeps what Caddy stores out of the home directory.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mcp-app-opener-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	caddy.DefaultStorage = &certmagic.FileStorage{Path: dir}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

const caddyfile = `{
	admin off
	auto_https off
	persist_config off
	log {
		output {$GATEWAY_LOG}
	}
}

http://*.localhost:{$GATEWAY_PORT} {
	bind 127.0.0.1
	mcp_app /mcp {$WORKSPACE} {
		resource http://{http.request.host.labels.1}.localhost:{$GATEWAY_PORT}/mcp
		auth {
			issuer {$ISSUER} {
				jwks_url {$ISSUER}/keys
				algorithms ES256
			}
		}
		tenant {
			claim org_id
			require {http.request.host.labels.1}
			allow acme globex
		}
		policy {
			tool *
		}
		openai {
			entrypoint workspace.home global
		}
		links {
			plugin workspace
			tenant_path /t/{http.mcp_app.tenant}/*
			open /open
			fallback https://{http.request.host.labels.1}.app.example.com
		}
	}
	respond "next" 418
}
`

func start(t *testing.T) *stack.Stack {
	t.Helper()
	s, err := stack.Start(t.Context(), stack.Config{Caddyfile: []byte(caddyfile)})
	t.Cleanup(func() { _ = s.Close() })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// address is where a tenant's opener answers.
func address(s *stack.Stack, tenant, rest string) string {
	return fmt.Sprintf("http://%s.localhost:%d/open/%s", tenant, s.Port, rest)
}

// TestOpenerThroughTheGateway: the opener answers without a token, for the
// tenant of its host, and takes no other path from the site.
func TestOpenerThroughTheGateway(t *testing.T) {
	s := start(t)
	client := &http.Client{Transport: s.Transport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, tt := range []struct {
		tenant, rest string
		status       int
		location     string
	}{
		{"acme", "workspace.home?platform=desktop&path=/t/acme/decks", 302, "codex://plugins/workspace/app/workspace.home?path=%2Ft%2Facme%2Fdecks"},
		{"globex", "workspace.home?platform=app&path=/t/globex/decks", 302, "https://globex.app.example.com/t/globex/decks"},
		{"acme", "workspace.home?platform=app&path=/t/globex/decks", 404, ""},
		{"acme", "workspace.tray", 404, ""},
		{"acme", "workspace.home?path=/%2e%2e/", 400, ""},
		{"umbrella", "workspace.home?platform=desktop", 404, ""},
		{"acme", "workspace.home", 200, ""},
		{"acme", "../opener", 418, ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address(s, tt.tenant, tt.rest), nil)
		if err != nil {
			t.Fatal(err)
		}
		if rest, up := strings.CutPrefix(tt.rest, "../"); up {
			request.URL.Path = "/" + rest
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != tt.status || answer.Header.Get("Location") != tt.location {
			t.Errorf("%s: %s: %d to %q, want %d to %q", tt.tenant, tt.rest, answer.StatusCode, answer.Header.Get("Location"), tt.status, tt.location)
		}
	}
}

// device is what a browser says of the machine it is on.
type device struct {
	name, agent, hint string
	width, height     int
	dark              bool
}

var (
	windows = device{"windows", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36", "Windows", 1280, 800, false}
	iphone  = device{"iphone", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1", "", 390, 844, false}
	linux   = device{"linux", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36", "Linux", 1280, 800, false}
	android = device{"android", "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36", "Android", 412, 915, false}

	// Safari says the same on a Mac and on an iPad.
	mac     = device{"mac", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15", "", 1280, 800, false}
	macDark = device{"mac-dark", mac.agent, "", 1280, 800, true}
	narrow  = device{"narrow", mac.agent, "", 320, 640, false} // 1280 pixels at 400 % (WCAG 1.4.10)
)

// TestLinksOpenInABrowser: a click leads each platform to its application,
// without a script.
func TestLinksOpenInABrowser(t *testing.T) {
	b := browser.Start(t)
	s := start(t)
	for _, tt := range []struct {
		device   device
		location string
		followed string
	}{
		{windows, "codex://plugins/workspace/app/workspace.home?path=%2Ft%2Facme%2Fdecks", ""},
		{iphone, "chatgpt://plugins/workspace/app/workspace.home?path=%2Ft%2Facme%2Fdecks", ""},
		{linux, "https://chatgpt.com/plugins/workspace/app/workspace.home?path=%2Ft%2Facme%2Fdecks", "https://chatgpt.com/plugins/workspace/app/workspace.home?path=%2Ft%2Facme%2Fdecks"},
		{android, "https://acme.app.example.com/t/acme/decks", "https://acme.app.example.com/t/acme/decks"},
	} {
		t.Run(tt.device.name, func(t *testing.T) {
			got := open(t, b, tt.device, false).visit(address(s, "acme", "workspace.home?path=%2Ft%2Facme%2Fdecks"))
			if got.status != http.StatusFound || got.location != tt.location || got.followed != tt.followed {
				t.Errorf("%+v, want a redirect to %s", got, tt.location)
			}
		})
	}
}

// TestTheChoiceIsForEverybody: the page can be read and used with the keyboard,
// on small screens, in the dark, and without scripts.
func TestTheChoiceIsForEverybody(t *testing.T) {
	b := browser.Start(t)
	s := start(t)
	want := []string{
		"codex://plugins/workspace/app/workspace.home?path=%2Ft%2Facme%2Fdecks%3Fsort%3Dasc%26tag%3Dbolt",
		"chatgpt://plugins/workspace/app/workspace.home?path=%2Ft%2Facme%2Fdecks%3Fsort%3Dasc%26tag%3Dbolt",
		"https://chatgpt.com/plugins/workspace/app/workspace.home?path=%2Ft%2Facme%2Fdecks%3Fsort%3Dasc%26tag%3Dbolt",
		"https://acme.app.example.com/t/acme/decks?sort=asc&tag=bolt",
	}
	for _, d := range []device{mac, macDark, narrow} {
		for _, scripts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s-scripts-%v", d.name, scripts), func(t *testing.T) {
				p := open(t, b, d, scripts)
				got := p.visit(address(s, "acme", "workspace.home?path=%2Ft%2Facme%2Fdecks%3Fsort%3Dasc%26tag%3Dbolt"))
				if got.status != http.StatusOK || len(got.logged) > 0 {
					t.Errorf("%+v, want a page without complaints", got)
				}
				if links := browser.Eval[[]string](p.Page, `[...document.links].map(a => a.getAttribute("href"))`); !slices.Equal(links, want) {
					t.Errorf("links %q\nwant %q", links, want)
				}
				p.Screenshot(t.Name()[strings.LastIndexByte(t.Name(), '/')+1:])
				p.checkReadable(4.5)
				p.checkKeyboard(len(want))
			})
		}
	}
}

// TestFaultsCanBeRead: whoever gets a faulty link sees why, and where to go.
func TestFaultsCanBeRead(t *testing.T) {
	b := browser.Start(t)
	s := start(t)
	for _, tt := range []struct {
		name, rest, text string
		device           device
		status           int
	}{
		{"traversal", "workspace.home?path=/t/acme/..%2fglobex", "Its path holds a dot segment", mac, 400},
		{"markup", "workspace.home?path=/%3Cimg%20src=x%3E", "must be percent-encoded", macDark, 400},
		{"unknown", "workspace.secret", "This link leads nowhere", narrow, 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := open(t, b, tt.device, false)
			got := p.visit(address(s, "acme", tt.rest))
			text := browser.Eval[string](p.Page, "document.body.innerText")
			if got.status != tt.status || !strings.Contains(text, tt.text) || len(got.logged) > 0 {
				t.Errorf("%+v with %q, want %d with %q", got, text, tt.status, tt.text)
			}
			if n := browser.Eval[int](p.Page, `document.querySelectorAll("script, img, iframe, form").length`); n != 0 {
				t.Errorf("%d foreign elements", n)
			}
			p.Screenshot(tt.name)
			p.checkReadable(4.5)
			p.checkKeyboard(1)
		})
	}
}

// checkReadable: one heading, a language, a title, no sideways scrolling, and
// enough contrast between every text and what is behind it (WCAG 1.4.3).
func (p *page) checkReadable(contrast float64) {
	p.T.Helper()
	if got := browser.Eval[string](p.Page, `document.documentElement.lang + " " + document.querySelectorAll("h1").length + " " + document.querySelectorAll("main").length`); got != "en 1 1" {
		p.T.Errorf("language, headings, main: %q", got)
	}
	if title, heading := browser.Eval[string](p.Page, "document.title"), browser.Eval[string](p.Page, `document.querySelector("h1").innerText`); title == "" || title != heading {
		p.T.Errorf("title %q, heading %q", title, heading)
	}
	if wide := p.Sideways(); wide > 0 {
		p.T.Errorf("%d pixels stick out sideways", wide)
	}
	if small := browser.Eval[int](p.Page, `[...document.links].filter(a => a.getBoundingClientRect().height < 44).length`); small > 0 {
		p.T.Errorf("%d links are too small for a finger", small)
	}
	if lowest := p.LowestContrast(); lowest < contrast {
		p.T.Errorf("contrast %.2f, want %.1f", lowest, contrast)
	}
}

// checkKeyboard: Tab reaches every link, and one sees where one is.
func (p *page) checkKeyboard(links int) {
	p.T.Helper()
	for i := range links {
		p.Press("Tab")
		if at := browser.Eval[int](p.Page, "[...document.links].indexOf(document.activeElement)"); at != i {
			p.T.Errorf("Tab %d reaches link %d", i+1, at)
		}
		if outline := browser.Eval[string](p.Page, "getComputedStyle(document.activeElement).outlineStyle"); outline != "solid" {
			p.T.Errorf("link %d has the outline %q", i, outline)
		}
	}
}
