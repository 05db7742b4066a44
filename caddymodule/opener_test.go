package caddymodule

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
)

// What browsers on the platforms call themselves.
const (
	agentWindows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
	agentIPhone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1"
	agentAndroid = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36"
	agentLinux   = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
	agentMac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15"
)

// shop is an opener with everything configured.
func shop() openerConfig {
	pages, _ := links.ParseTenantPath("/t/"+tenantPlaceholder+"/*", tenantPlaceholder)
	return openerConfig{
		path: "/open", endpoint: "/mcp", plugin: "bits-and-bolts",
		titles:      map[string]string{"cad.library": "Part <library>", "a/b c": ""},
		fallback:    "https://{http.request.host.labels.2}.app.example.com/shop",
		placeholder: "{http.request.host.labels.2}", tenants: []string{"acme", "globex"},
		pages: pages,
		tenant: func(r *http.Request) (string, bool) {
			name, _, _ := strings.Cut(r.Host, ".")
			return name, name == "acme" || name == "globex"
		},
	}
}

// published is the smallest opener there is.
func published() openerConfig {
	return openerConfig{path: "/open", endpoint: "/mcp", plugin: "bits-and-bolts", titles: map[string]string{"cad.library": ""}}
}

func mustOpener(t testing.TB, c openerConfig) *opener {
	t.Helper()
	o, err := newOpener(c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// ask sends a request as it stands on the wire.
func ask(t testing.TB, o *opener, method, requestTarget string, header map[string]string) *http.Response {
	t.Helper()
	u, err := url.ParseRequestURI(requestTarget)
	if err != nil {
		t.Skipf("net/http would not take it: %v", err)
	}
	r := httptest.NewRequest(method, "http://acme.example.com/", nil)
	r.URL, r.RequestURI = u, requestTarget
	for name, value := range header {
		r.Header.Set(name, value)
	}
	if host := header["Host"]; host != "" {
		r.Host = host
	}
	if !o.serves(u) {
		t.Fatalf("%s is not the opener's", requestTarget)
	}
	w := httptest.NewRecorder()
	o.ServeHTTP(w, r)
	return w.Result()
}

// TestOpenerLeadsToThePage: a link lands where its reader can open it.
func TestOpenerLeadsToThePage(t *testing.T) {
	t.Parallel()
	const page = "%2Ft%2Facme%2Fparts%3Ftag%3Dbolt%26sort%3Dasc"
	o := mustOpener(t, shop())
	for _, tt := range []struct {
		name, target, agent, hint, location string
	}{
		{"Windows", "/open/cad.library?path=" + page, agentWindows, "", "codex://plugins/bits-and-bolts/app/cad.library?path=" + page},
		{"hint before agent", "/open/cad.library?path=" + page, agentWindows, `"macOS"`, "codex://plugins/bits-and-bolts/app/cad.library?path=" + page},
		{"iPhone", "/open/cad.library?path=" + page, agentIPhone, "", "chatgpt://plugins/bits-and-bolts/app/cad.library?path=" + page},
		{"Linux", "/open/cad.library?path=" + page, agentLinux, `"Linux"`, "https://chatgpt.com/plugins/bits-and-bolts/app/cad.library?path=" + page},
		{"Android", "/open/cad.library?path=" + page, agentAndroid, `"Android"`, "https://acme.app.example.com/shop/t/acme/parts?tag=bolt&sort=asc"},
		{"word before hint", "/open/cad.library?platform=web&path=" + page, agentWindows, `"Windows"`, "https://chatgpt.com/plugins/bits-and-bolts/app/cad.library?path=" + page},
		{"the ordinary application", "/open/cad.library?platform=app", "", "", "https://acme.app.example.com/shop"},
		{"start page", "/open/cad.library", agentIPhone, "", "chatgpt://plugins/bits-and-bolts/app/cad.library?path=%2F"},
		{"tool with a slash", "/open/a%2Fb%20c", agentWindows, "", "codex://plugins/bits-and-bolts/app/a%2Fb%20c?path=%2F"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				got := ask(t, o, method, tt.target, map[string]string{"User-Agent": tt.agent, "Sec-CH-UA-Platform": tt.hint})
				if got.StatusCode != http.StatusFound || got.Header.Get("Location") != tt.location {
					t.Errorf("%s: %d to %q, want %q", method, got.StatusCode, got.Header.Get("Location"), tt.location)
				}
			}
		})
	}
}

// TestOpenerAsksWhereThePlatformIsUnknown: nobody is sent to an application that
// may not be there.
func TestOpenerAsksWhereThePlatformIsUnknown(t *testing.T) {
	t.Parallel()
	custom := published()
	custom.marketplace = "acme"
	const link = "://plugins/bits-and-bolts/app/cad.library?path=%2Ft%2Facme"
	for _, tt := range []struct {
		name   string
		config openerConfig
		target string
		agent  string
		status int
		links  []string
	}{
		{"Safari on a Mac or an iPad", shop(), "?path=/t/acme", agentMac, 200, []string{"codex" + link, "chatgpt" + link, "https://chatgpt.com/plugins/bits-and-bolts/app/cad.library?path=%2Ft%2Facme", "https://acme.app.example.com/shop/t/acme"}},
		{"nothing is said", published(), "?path=/t/acme", "", 200, []string{"codex" + link, "chatgpt" + link, "https://chatgpt.com/plugins/bits-and-bolts/app/cad.library?path=%2Ft%2Facme"}},
		{"Android without an ordinary application", published(), "?path=/t/acme", agentAndroid, 200, []string{"codex" + link, "chatgpt" + link, "https://chatgpt.com/plugins/bits-and-bolts/app/cad.library?path=%2Ft%2Facme"}},
		{"Linux and a custom marketplace", custom, "", agentLinux, 200, []string{"codex://plugins/bits-and-bolts@acme/app/cad.library?path=%2F", "chatgpt://plugins/bits-and-bolts@acme/app/cad.library?path=%2F"}},
		{"a word without a link", published(), "?path=/t/acme&platform=app", agentWindows, 404, []string{"codex" + link, "chatgpt" + link, "https://chatgpt.com/plugins/bits-and-bolts/app/cad.library?path=%2Ft%2Facme"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, mustOpener(t, tt.config), http.MethodGet, "/open/cad.library"+tt.target, map[string]string{"User-Agent": tt.agent})
			body := bodyOf(t, got)
			if got.StatusCode != tt.status || got.Header.Get("Location") != "" {
				t.Errorf("%d to %q, want %d", got.StatusCode, got.Header.Get("Location"), tt.status)
			}
			if !strings.Contains(body, "<h1>Open ") {
				t.Errorf("no heading in %s", body)
			}
			checkMarkup(t, body)
			if found := hrefs(body); !slices.Equal(found, tt.links) {
				t.Errorf("links %q\nwant %q", found, tt.links)
			}
		})
	}
}

// TestOpenerSaysWhatIsWrong: a reader gets a sentence, and the words of the
// request never come back as markup.
func TestOpenerSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, method, target string
		header               map[string]string
		status               int
		text                 string
	}{
		{"another method", "POST", "/open/cad.library", nil, 405, "only be opened"},
		{"unknown tool", "GET", "/open/cad.delete", nil, 404, "tool it names"},
		{"no tool", "GET", "/open/", nil, 400, "Its tool is empty, at byte 0 after /open/."},
		{"two segments", "GET", "/open/cad.library/x", nil, 400, "Its tool holds &#39;/&#39;, which must be percent-encoded, at byte 11 after /open/."},
		{"traversal", "GET", "/open/cad.library?path=/a/%252e%252e/b", nil, 400, "Its path holds a dot segment, at byte 20 after /open/."},
		{"another host", "GET", "/open/cad.library?path=//evil.example", nil, 400, "Its path begins with two slashes"},
		{"empty path", "GET", "/open/cad.library?path=", nil, 400, "Its path is empty, at byte 17"},
		{"another key", "GET", "/open/cad.library?next=https://evil.example", nil, 400, "Its query holds a key other than path and platform"},
		{"unknown platform", "GET", "/open/cad.library?platform=tv", nil, 400, "Its platform is not one of desktop, mobile, web, app"},
		{"too long", "GET", "/open/" + strings.Repeat("a", 9000), nil, 400, "Its address is too long"},
		{"markup", "GET", "/open/cad.library?path=/<script>alert(1)</script>", nil, 400, "Its path holds &#39;&lt;&#39;, which must be percent-encoded"},
		{"page of another tenant", "GET", "/open/cad.library?path=/t/globex/parts", nil, 404, "outside this part"},
		{"tenant that is not served", "GET", "/open/cad.library", map[string]string{"Host": "evil.example.com"}, 404, "Nothing is served under this host name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, mustOpener(t, shop()), tt.method, tt.target, tt.header)
			body := bodyOf(t, got)
			if got.StatusCode != tt.status || !strings.Contains(body, tt.text) || got.Header.Get("Location") != "" {
				t.Errorf("%d %s\nwant %d with %q", got.StatusCode, body, tt.status, tt.text)
			}
			if tt.status == 405 && got.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("Allow: %q", got.Header.Get("Allow"))
			}
			checkMarkup(t, body)
		})
	}
}

// TestOpenerKeepsItToItself: no answer may be kept, framed, run scripts or tell
// the next page where the reader came from.
func TestOpenerKeepsItToItself(t *testing.T) {
	t.Parallel()
	o := mustOpener(t, shop())
	for _, requestTarget := range []string{"/open/cad.library", "/open/cad.library?platform=web", "/open/nothing", "/open/?", "/open/a/b"} {
		h := ask(t, o, http.MethodGet, requestTarget, nil).Header
		for name, want := range map[string]string{
			"Cache-Control":          "no-store",
			"Referrer-Policy":        "no-referrer",
			"X-Content-Type-Options": "nosniff",
			"X-Robots-Tag":           "noindex",
			"Content-Type":           "text/html; charset=utf-8",
			"Vary":                   "Sec-CH-UA-Platform, User-Agent",
			"Set-Cookie":             "",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", requestTarget, name, got, want)
			}
		}
		policy := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "style-src 'sha256-"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %q", requestTarget, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") {
			t.Errorf("%s: the policy %q is too wide", requestTarget, policy)
		}
	}
}

func TestOpenerServesItsOwnPathsOnly(t *testing.T) {
	t.Parallel()
	o := mustOpener(t, published())
	for path, want := range map[string]bool{
		"/open/cad.library": true, "/open/": true, "/open/%2e%2e": true,
		"/open": false, "/opener/x": false, "/OPEN/x": false, "/x/open/y": false, "//open/x": false, "/mcp": false,
	} {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Fatal(err)
		}
		if o.serves(u) != want {
			t.Errorf("serves %s: %v", path, !want)
		}
	}
	var none *opener
	if none.serves(&url.URL{Path: "/open/x"}) {
		t.Error("no opener serves something")
	}
}

func TestNewOpenerSaysWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(c *openerConfig)
		want   string
	}{
		{"no plugin", func(c *openerConfig) { c.plugin = "" }, "links { plugin <id> }"},
		{"no path", func(c *openerConfig) { c.path = "" }, "such as /open"},
		{"root", func(c *openerConfig) { c.path = "/" }, "such as /open"},
		{"final slash", func(c *openerConfig) { c.path = "/open/" }, "such as /open"},
		{"encoded", func(c *openerConfig) { c.path = "/o%70en" }, "such as /open"},
		{"placeholder", func(c *openerConfig) { c.path = "/{host}" }, "such as /open"},
		{"well-known", func(c *openerConfig) { c.path = "/.well-known/open" }, "such as /open"},
		{"dots", func(c *openerConfig) { c.path = "/a/../b" }, "such as /open"},
		{"endpoint", func(c *openerConfig) { c.path = "/MCP" }, "where the endpoint /mcp is"},
		{"above the endpoint", func(c *openerConfig) { c.path, c.endpoint = "/api", "/api/mcp" }, "where the endpoint /api/mcp is"},
		{"no entrypoint", func(c *openerConfig) { c.titles = nil }, "entrypoint <tool> global"},
		{"plain fallback", func(c *openerConfig) { c.fallback = "http://app.example.com" }, "https://"},
		{"fallback with a query", func(c *openerConfig) { c.fallback = "https://app.example.com/?to=" }, "query"},
		{"unknown placeholder", func(c *openerConfig) { c.fallback = "https://{http.request.host}" }, "plain ASCII"},
		{"no list of tenants", func(c *openerConfig) { c.tenants = nil }, "tenant { allow … }"},
		{"tenant that is no host", func(c *openerConfig) { c.tenants = []string{"evil.example/"} }, "not plain enough"},
		{"broken plugin id", func(c *openerConfig) { c.plugin = ".." }, "dot segment"},
		{"broken tool", func(c *openerConfig) { c.titles = map[string]string{"..": ""} }, "dot segment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := shop()
			tt.change(&c)
			if _, err := newOpener(c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// FuzzOpener: whatever anybody writes into a link, the answer leads nowhere but
// to this plugin and to the configured application, and holds no markup but its
// own.
func FuzzOpener(f *testing.F) {
	for _, s := range []string{
		"cad.library", "cad.library?path=%2Fparts&platform=desktop", "cad.library?path=//evil.example", "cad.library?path=/%22%3E%3Cscript%3E",
		"<script>", "cad.library?path=javascript:alert(1)", `cad.library?path=/\evil.example`, "cad.library?platform=app&path=/@evil.example",
		"cad.library?path=/%0d%0aSet-Cookie:a=b", "a%2Fb%20c?path=/'onmouseover='x", "cad.library?<b>=1", "%3Cb%3E",
	} {
		f.Add(s, agentMac, `"Android"`)
		f.Add(s, agentWindows, "")
	}
	o := mustOpener(f, shop())
	f.Fuzz(func(t *testing.T, rest, agent, hint string) {
		if strings.ContainsAny(agent+hint, "\r\n\x00") {
			t.Skip()
		}
		got := ask(t, o, http.MethodGet, "/open/"+rest, map[string]string{"User-Agent": agent, "Sec-CH-UA-Platform": hint, "Host": "acme.example.com"})
		switch got.StatusCode {
		case http.StatusOK, http.StatusBadRequest, http.StatusNotFound:
			if location := got.Header.Get("Location"); location != "" {
				t.Fatalf("%d leads to %q", got.StatusCode, location)
			}
		case http.StatusFound:
			checkDestination(t, got.Header.Get("Location"))
		default:
			t.Fatalf("status %d", got.StatusCode)
		}
		checkMarkup(t, bodyOf(t, got))
	})
}

func bodyOf(t testing.TB, r *http.Response) string {
	t.Helper()
	var body strings.Builder
	if err := r.Write(&body); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(body.String(), "\r\n\r\n")
	return text
}

var (
	tagPattern  = regexp.MustCompile(`(?s)<[^>]*>?`)
	hrefPattern = regexp.MustCompile(`^<a href="([^"<>' ]*)">$`)
	ownTags     = regexp.MustCompile(`^<(!doctype html|html lang="en"|meta [a-z ="0-9,/-]+|p class="about"|/?(head|title|style|body|main|h1|p|ul|li|span|strong|small|html|a))>$`)
)

// checkMarkup fails on any tag that the page does not have by itself.
func checkMarkup(t testing.TB, body string) {
	t.Helper()
	for _, tag := range tagPattern.FindAllString(body, -1) {
		if !ownTags.MatchString(tag) && !hrefPattern.MatchString(tag) {
			t.Fatalf("foreign tag %q in %s", tag, body)
		}
	}
	for _, href := range hrefs(body) {
		checkDestination(t, href)
	}
}

// checkDestination fails on any place but those of shop.
func checkDestination(t testing.TB, destination string) {
	t.Helper()
	u, err := url.Parse(destination)
	if err != nil || u.User != nil || strings.ContainsFunc(destination, func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
		t.Fatalf("leads to %q: %v", destination, err)
	}
	origin := u.Scheme + "://" + u.Host
	switch {
	case origin == "codex://plugins", origin == "chatgpt://plugins":
	case origin == "https://chatgpt.com" && strings.HasPrefix(u.Path, "/plugins/bits-and-bolts/app/"):
	case origin == "https://acme.app.example.com" && (u.Path == "/shop" || strings.HasPrefix(u.Path, "/shop/")):
	default:
		t.Fatalf("leads to %q", destination)
	}
}

func hrefs(body string) []string {
	var found []string
	for _, tag := range tagPattern.FindAllString(body, -1) {
		if m := hrefPattern.FindStringSubmatch(tag); m != nil {
			found = append(found, html.UnescapeString(m[1]))
		}
	}
	return found
}
