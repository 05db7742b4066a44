package caddymodule

import (
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

//go:embed console
var consoleFiles embed.FS

// consoleAssets are the files of the page and their types.
var consoleAssets = map[string]string{
	"":            "text/html; charset=utf-8",
	"console.css": "text/css; charset=utf-8",
	"icon.svg":    "image/svg+xml",
	"ask.js":      "text/javascript; charset=utf-8",
	"catalog.js":  "text/javascript; charset=utf-8",
	"console.js":  "text/javascript; charset=utf-8",
	"dom.js":      "text/javascript; charset=utf-8",
	"findings.js": "text/javascript; charset=utf-8",
	"live.js":     "text/javascript; charset=utf-8",
	"text.js":     "text/javascript; charset=utf-8",
}

// consolePolicy lets the page load its own files and ask its own server, and
// nobody frame it. Text never becomes markup (require-trusted-types-for).
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const consoleCookie = "mcp_app_console"

// consoleReadTimeout is how long a request may take to arrive.
const consoleReadTimeout = 10 * time.Second

// console serves the page of caddy mcp-app console to the one browser that opened
// its link, and relays what the page asks. Other programs and other users of this
// machine reach the same port: who has not opened the link gets nothing.
type console struct {
	host   string // the only one it answers to, against DNS rebinding
	secret string // of the link, for one use
	used   atomic.Bool
	cookie string
	// base is where the page is, and the only path to which browsers send the
	// cookie. Cookies know no ports, and so it cannot be "/": any other server of
	// this machine would be sent the cookie too.
	base  string
	relay *consoleRelay
	// checking is told of checks, for the terminal.
	checking func() (say func(what string), end func())
}

func newConsole(host string, relay *consoleRelay) *console {
	return &console{
		host: host, secret: rand.Text(), cookie: rand.Text(), base: "/" + rand.Text() + "/", relay: relay,
		checking: func() (func(string), func()) { return func(string) {}, func() {} },
	}
}

// link is what to open.
func (c *console) link() string { return "http://" + c.host + "/enter?secret=" + c.secret }

// ServeHTTP implements http.Handler.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Of the whole request; lifted again before what may take longer.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(consoleReadTimeout)) // not known to all writers
	h := w.Header()
	h.Set("Content-Security-Policy", consolePolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch rest, inside := strings.CutPrefix(r.URL.Path, c.base); {
	case r.Host != c.host:
		refuseConsole(w, http.StatusMisdirectedRequest, "This is not the address of the console.")
	case r.URL.Path == "/enter":
		c.enter(w, r)
	case !c.knows(r):
		refuseConsole(w, http.StatusForbidden, "Open the link that caddy mcp-app console printed.")
	case !inside:
		refuseConsole(w, http.StatusNotFound, "There is nothing here.")
	case !c.fromItself(r, rest == ""):
		refuseConsole(w, http.StatusForbidden, "The console is asked by its own page only.")
	default:
		c.serve(w, r, rest)
	}
}

// enter exchanges the secret for the cookie. The page that says so moves on by
// itself: after a redirect, browsers would keep a strict cookie to themselves if
// the link stood on a web page, as terminals sometimes do.
func (c *console) enter(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", "GET")
		refuseConsole(w, http.StatusMethodNotAllowed, "Only GET is allowed here.")
		return
	case r.Header.Get("Sec-Purpose") != "": // looked at in advance, by nobody
		refuseConsole(w, http.StatusForbidden, "Open the link yourself.")
		return
	case !c.shown(r.URL.RawQuery) || !c.used.CompareAndSwap(false, true):
		refuseConsole(w, http.StatusForbidden, "This link is not valid, or was used before. Start caddy mcp-app console again.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: consoleCookie, Value: c.cookie, Path: c.base, HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // plain HTTP on loopback, where not every browser accepts Secure
	writeConsole(w, http.StatusOK, "text/html; charset=utf-8", []byte(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Console</title>`+
		`<meta http-equiv="refresh" content="0;url=`+c.base+`"><p><a href="`+c.base+`">Go to the console</a></p></html>`))
}

// shown reports whether the query is the secret of the link and nothing else.
func (c *console) shown(query string) bool { return same(query, "secret="+c.secret) }

// knows reports whether the browser has opened the link.
func (c *console) knows(r *http.Request) bool {
	for _, cookie := range r.CookiesNamed(consoleCookie) {
		if same(cookie.Value, c.cookie) {
			return true
		}
	}
	return false
}

// fromItself reports whether the page asks, and nobody else in the same browser
// (https://www.w3.org/TR/fetch-metadata/). The page itself may also be asked for
// by the user. Browsers send an Origin with each POST.
func (c *console) fromItself(r *http.Request, page bool) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	switch {
	case origin != "" && origin != "http://"+c.host, r.Method == http.MethodPost && origin == "":
		return false
	case page && site == "none":
		return r.Method == http.MethodGet
	default:
		return site == "" || site == "same-origin"
	}
}

// serve sends a file of the page, or relays.
func (c *console) serve(w http.ResponseWriter, r *http.Request, rest string) {
	if contentType, ok := consoleAssets[rest]; ok {
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", "GET")
			refuseConsole(w, http.StatusMethodNotAllowed, "Only GET is allowed here.")
			return
		}
		if rest == "" {
			rest = "index.html"
		}
		body, err := consoleFiles.ReadFile("console/" + rest)
		if err != nil {
			refuseConsole(w, http.StatusInternalServerError, "The file is missing.")
			return
		}
		writeConsole(w, http.StatusOK, contentType, body)
		return
	}
	route, ok := consoleRoutes[rest]
	switch {
	case !ok:
		refuseConsole(w, http.StatusNotFound, "There is nothing here.")
	case r.Method != route.method:
		w.Header().Set("Allow", route.method)
		refuseConsole(w, http.StatusMethodNotAllowed, "Only "+route.method+" is allowed here.")
	case route.method == http.MethodPost:
		say, end := c.checking()
		defer end()
		c.relay.serve(w, r, route, say)
	default:
		c.relay.serve(w, r, route, nil)
	}
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func refuseConsole(w http.ResponseWriter, status int, text string) {
	writeConsole(w, status, "text/plain; charset=utf-8", []byte(text+"\n"))
}

// writeConsole is [writeBody] without the metrics, which are those of endpoints.
func writeConsole(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a browser that has gone away is no error of ours
}
