package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Config says which pages get the client. The zero value means none.
type Config struct {
	// Pages lists them by address. If several cover a page, the most specific
	// decides alone.
	Pages []Page `json:"pages,omitempty"`
}

// Page says what the client does in the pages under one address.
type Page struct {
	// URI is a ui:// address; * stands for any characters, slashes included.
	URI string `json:"uri"`

	// Off keeps the client out of these pages where a less specific address would
	// bring it. Everything else here must then be unset. Default: false.
	Off bool `json:"off,omitempty"`

	// Navigate is the tool that turns a deep link into what the page shows: it
	// takes {url}, and its refusal keeps the page where it is. It must be callable
	// for apps (visibility app) and read only. Empty hands links to the page as
	// they come.
	Navigate string `json:"navigate,omitempty"`

	// Route says how a page learns of a link: event (default), the cancelable
	// window event mcp-app:navigate and nothing else; hash, location.hash as well;
	// history, a history entry and a popstate event as well.
	Route string `json:"route,omitempty"`

	// Notice is the text shown above a page that cannot open a link, such as
	// "This link cannot be opened." Up to 512 characters; empty shows nothing.
	Notice string `json:"notice,omitempty"`

	// Handshake says who greets the host: auto (default), the page, or the client
	// if the page has not done so two seconds after loading; always, the client at
	// once, for pages that know no MCP Apps bridge; never, the page alone.
	Handshake string `json:"handshake,omitempty"`

	// DisplayModes are told to the host in a handshake of the client's own:
	// inline, fullscreen, pip. Empty tells none.
	DisplayModes []string `json:"display_modes,omitempty"`

	// Hosts are the origins of the frames that may be the host, up to 16, such as
	// https://web-sandbox.oaiusercontent.com: that of the frame right around the
	// page. Empty (default) takes whatever embeds the page.
	Hosts []string `json:"hosts,omitempty"`
}

const (
	maxNotice = 512
	maxHosts  = 16
)

var (
	toolName   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`) // as MCP advises and the client checks
	routes     = []string{"event", "hash", "history"}
	handshakes = []string{"auto", "always", "never"}
	modes      = []string{"inline", "fullscreen", "pip"}
)

// check says everything that is wrong, each with what to write instead.
func (p Page) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if rest, ok := strings.CutPrefix(p.URI, "ui://"); !ok || rest == "" || !printable(p.URI) || strings.ContainsAny(p.URI, ` \`) {
		fail("the address must begin with ui://: write it as resources/list gives it, with * for any part")
	}
	if p.Off && p.options() != "{}" {
		fail("off: pages without the client have no use for the rest: leave one of the two out")
	}
	if p.Navigate != "" && !toolName.MatchString(p.Navigate) {
		fail("navigate: %q is no tool name: write one of letters, digits, _, . and -, of at most 128", clip(p.Navigate))
	}
	if p.Route != "" && !slices.Contains(routes, p.Route) {
		fail("route: unknown %q: write event, hash or history", clip(p.Route))
	}
	if p.Handshake != "" && !slices.Contains(handshakes, p.Handshake) {
		fail("handshake: unknown %q: write auto, always or never", clip(p.Handshake))
	}
	if p.Notice != "" && (!printable(p.Notice) || strings.TrimSpace(p.Notice) == "" || utf8.RuneCountInString(p.Notice) > maxNotice) {
		fail("notice: write visible text of at most %d characters on one line", maxNotice)
	}
	for i, mode := range p.DisplayModes {
		if !slices.Contains(modes, mode) || slices.Contains(p.DisplayModes[:i], mode) {
			fail("display_modes: %q is unknown or there twice: write inline, fullscreen or pip, each once", clip(mode))
		}
	}
	if len(p.DisplayModes) > 0 && p.Handshake == "never" {
		fail("display_modes are told in a handshake of the client's own, and there is none: leave one of the two out")
	}
	if len(p.Hosts) > maxHosts {
		fail("hosts: %d origins, at most %d are allowed", len(p.Hosts), maxHosts)
	}
	for _, origin := range p.Hosts {
		if !isOrigin(origin) {
			fail("hosts: %q is no origin: write https:// and a host in lower case, maybe a port, and nothing behind it", clip(origin))
		}
	}
	return errors.Join(errs...)
}

// options is what the client reads, in its own words.
func (p Page) options() string {
	text, err := json.Marshal(struct {
		Navigate     string   `json:"navigate,omitempty"`
		Route        string   `json:"route,omitempty"`
		Notice       string   `json:"notice,omitempty"`
		Handshake    string   `json:"handshake,omitempty"`
		DisplayModes []string `json:"displayModes,omitempty"`
		Hosts        []string `json:"hosts,omitempty"`
	}{p.Navigate, p.Route, p.Notice, p.Handshake, p.DisplayModes, p.Hosts})
	if err != nil {
		panic("page: strings that are no JSON: " + err.Error())
	}
	return string(text)
}

// isOrigin reports whether s is an origin as a browser writes it. Plain http is
// for loopback addresses only.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || s != u.Scheme+"://"+u.Host || u.Hostname() == "" || s != strings.ToLower(s) || !printable(s) || strings.ContainsAny(s, `*\" `) {
		return false
	}
	address, _ := netip.ParseAddr(u.Hostname())
	loopback := address.IsLoopback() || u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost")
	return u.Scheme == "https" && u.Port() != "443" || u.Scheme == "http" && u.Port() != "80" && loopback
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// clip shortens what is repeated to the operator.
func clip(s string) string {
	const most = 64
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
