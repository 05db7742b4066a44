package caddymodule

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// consoleServer is a console on a socket before an admin endpoint that the test
// plays.
type consoleServer struct {
	*console
	t   *testing.T
	url string
}

func serveConsole(t *testing.T, admin http.Handler) *consoleServer {
	t.Helper()
	upstream := httptest.NewServer(admin)
	t.Cleanup(upstream.Close)
	return serveConsoleAt(t, strings.TrimPrefix(upstream.URL, "http://"))
}

func serveConsoleAt(t *testing.T, admin string) *consoleServer {
	t.Helper()
	relay, err := newConsoleRelay(admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(relay.close)
	server := httptest.NewUnstartedServer(nil)
	c := newConsole(server.Listener.Addr().String(), relay)
	server.Config.Handler = c
	server.Start()
	t.Cleanup(server.Close)
	return &consoleServer{c, t, server.URL}
}

// asked is a request to a console, by default one that its own page would send.
type asked struct {
	method, path, body, host string
	header                   map[string]string
	stranger                 bool // has no cookie
}

func (s *consoleServer) ask(a asked) (status int, header http.Header, body string) {
	s.t.Helper()
	if a.method == "" {
		a.method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(s.t.Context(), a.method, s.url+a.path, strings.NewReader(a.body))
	if err != nil {
		s.t.Fatal(err)
	}
	if !a.stranger {
		r.AddCookie(&http.Cookie{Name: consoleCookie, Value: s.cookie})
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if a.method != http.MethodGet {
		r.Header.Set("Origin", s.url)
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range a.header {
		if value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	if a.host != "" {
		r.Host = a.host
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// endpoints is an admin endpoint that knows of none.
var endpointsOnly = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"endpoints":[]}`)
})

// TestTheConsoleKnowsOneHost: no name that was pointed at the loopback address
// gets anything, and none spends the link.
func TestTheConsoleKnowsOneHost(t *testing.T) {
	s := serveConsole(t, endpointsOnly)
	_, port, _ := strings.Cut(s.host, ":")
	for _, host := range []string{"evil.example", "evil.example:" + port, "localhost:" + port, "127.0.0.1", "127.0.0.1.:" + port, "[::1]:" + port, "127.1:" + port, s.host + ".evil.example"} {
		for _, path := range []string{"/enter?secret=" + s.secret, s.base, s.base + "api/endpoints", s.base + "console.js", "/"} {
			if status, header, body := s.ask(asked{path: path, host: host}); status != http.StatusMisdirectedRequest || header.Get("Set-Cookie") != "" || strings.Contains(body, s.secret) {
				t.Errorf("%s%s: %d %s", host, path, status, body)
			}
		}
	}
	if status, _, _ := s.ask(asked{path: "/enter?secret=" + s.secret, stranger: true}); status != http.StatusOK {
		t.Errorf("the link was spent: %d", status)
	}
}

// TestTheLinkWorksOnce, for whoever has all of it and nothing else, and is not
// spent by those who look ahead.
func TestTheLinkWorksOnce(t *testing.T) {
	s := serveConsole(t, endpointsOnly)
	for name, a := range map[string]asked{
		"none":           {path: "/enter"},
		"empty":          {path: "/enter?secret="},
		"wrong":          {path: "/enter?secret=" + strings.Repeat("A", len(s.secret))},
		"longer":         {path: "/enter?secret=" + s.secret + "A"},
		"shorter":        {path: "/enter?secret=" + s.secret[1:]},
		"twice":          {path: "/enter?secret=" + s.secret + "&secret=" + s.secret},
		"a wrong one":    {path: "/enter?secret=x&secret=" + s.secret},
		"something more": {path: "/enter?secret=" + s.secret + "&next=//evil.example"},
		"the cookie":     {path: "/enter?secret=" + s.cookie},
		"looking ahead":  {path: "/enter?secret=" + s.secret, header: map[string]string{"Sec-Purpose": "prefetch;prerender"}},
		"HEAD":           {method: http.MethodHead, path: "/enter?secret=" + s.secret},
		"POST":           {method: http.MethodPost, path: "/enter?secret=" + s.secret},
	} {
		a.stranger = true
		if status, header, _ := s.ask(a); status != http.StatusForbidden && status != http.StatusMethodNotAllowed || header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d, %q", name, status, header.Get("Set-Cookie"))
		}
	}
	// Many at once: one is let in.
	var let atomic.Int32
	var wg sync.WaitGroup
	var cookie, page string
	for range 16 {
		wg.Go(func() {
			status, header, body := s.ask(asked{path: "/enter?secret=" + s.secret, stranger: true, header: map[string]string{"Sec-Fetch-Site": "cross-site"}})
			if status == http.StatusOK {
				let.Add(1)
				cookie, page = header.Get("Set-Cookie"), body
			}
		})
	}
	wg.Wait()
	if let.Load() != 1 {
		t.Fatalf("%d were let in", let.Load())
	}
	if want := consoleCookie + "=" + s.cookie + "; Path=" + s.base + "; HttpOnly; SameSite=Strict"; cookie != want {
		t.Errorf("the cookie is %q, want %q", cookie, want)
	}
	if strings.Contains(page, s.secret) || strings.Contains(page, s.cookie) {
		t.Errorf("the page repeats a secret: %s", page)
	}
	if s.base == "/" || strings.Contains(s.base, s.secret) {
		t.Errorf("the console is at %s", s.base)
	}
	if status, _, body := s.ask(asked{path: "/enter?secret=" + s.secret}); status != http.StatusForbidden || !strings.Contains(body, "used before") {
		t.Errorf("again: %d %s", status, body)
	}
}

// TestNothingWithoutTheCookie: other users of the machine reach the port as well.
func TestNothingWithoutTheCookie(t *testing.T) {
	s := serveConsole(t, endpointsOnly)
	paths := []string{"/", "/favicon.ico", s.base, s.base + "api/endpoints", s.base + "api/events", s.base + "nothing"}
	for name := range consoleAssets {
		paths = append(paths, s.base+name)
	}
	for _, path := range paths {
		for name, a := range map[string]asked{
			"none":         {},
			"wrong":        {header: map[string]string{"Cookie": consoleCookie + "=x"}},
			"empty":        {header: map[string]string{"Cookie": consoleCookie + "="}},
			"the secret":   {header: map[string]string{"Cookie": consoleCookie + "=" + s.secret}},
			"another name": {header: map[string]string{"Cookie": "x=" + s.cookie}},
		} {
			a.path, a.stranger = path, true
			if status, _, body := s.ask(a); status != http.StatusForbidden || !strings.Contains(body, "Open the link") {
				t.Errorf("%s, cookie %s: %d %.80s", path, name, status, body)
			}
		}
	}
}

// TestOnlyThePageAsks: another page in the same browser, also one at another port
// of this machine, gets nothing and starts nothing.
func TestOnlyThePageAsks(t *testing.T) {
	var reached atomic.Int32
	s := serveConsole(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		endpointsOnly(w, r)
	}))
	for _, tt := range []struct {
		name   string
		a      asked
		status int
	}{
		{"a foreign origin", asked{header: map[string]string{"Origin": "https://evil.example"}}, 403},
		{"an origin of another port", asked{header: map[string]string{"Origin": "http://127.0.0.1:1"}}, 403},
		{"the origin in https", asked{header: map[string]string{"Origin": "https://" + s.host}}, 403},
		{"no origin to speak of", asked{header: map[string]string{"Origin": "null"}}, 403},
		{"cross-site", asked{header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403},
		{"same-site, another port", asked{header: map[string]string{"Sec-Fetch-Site": "same-site"}}, 403},
		{"typed in", asked{header: map[string]string{"Sec-Fetch-Site": "none"}}, 403},
		{"the page", asked{}, 200},
		{"an older browser", asked{header: map[string]string{"Sec-Fetch-Site": ""}}, 200},
		{"a POST without an origin", asked{method: "POST", body: "{}", header: map[string]string{"Origin": ""}}, 403},
		{"a POST from elsewhere", asked{method: "POST", body: "{}", header: map[string]string{"Origin": "http://localhost"}}, 403},
		{"a form", asked{method: "POST", body: "{}", header: map[string]string{"Content-Type": "text/plain"}}, 415},
		{"a POST of the page", asked{method: "POST", body: "{}"}, 200},
	} {
		tt.a.path = s.base + "api/endpoints"
		if tt.a.method == http.MethodPost {
			tt.a.path = s.base + "api/catalog"
		}
		before := reached.Load()
		if status, _, body := s.ask(tt.a); status != tt.status {
			t.Errorf("%s: %d %s", tt.name, status, body)
		}
		if got := reached.Load() != before; got != (tt.status == http.StatusOK) {
			t.Errorf("%s: the admin endpoint was asked: %v", tt.name, got)
		}
	}
	for site, want := range map[string]int{"none": 200, "same-origin": 200, "cross-site": 403, "same-site": 403} {
		if status, _, _ := s.ask(asked{path: s.base, header: map[string]string{"Sec-Fetch-Site": site}}); status != want {
			t.Errorf("the page itself, %s: %d, want %d", site, status, want)
		}
	}
}

// TestTheConsoleOnlyReads: what writes cannot be reached through it, under no
// spelling.
func TestTheConsoleOnlyReads(t *testing.T) {
	var paths []string
	var mu sync.Mutex
	s := serveConsole(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.Method+" "+r.URL.RequestURI())
		mu.Unlock()
		endpointsOnly(w, r)
	}))
	for _, rest := range []string{
		"api/revocations", "api/registrations", "api/../revocations", "api/%2e%2e/revocations", "api/endpoints/../revocations", "api//endpoints", "api/endpoints/",
		"api/config", "api/load", "api/stop", "api/events%2f..%2frevocations", "../mcp_app/endpoints", "console/console.js", "render.js", "index.html",
	} {
		for _, method := range []string{"GET", "POST"} {
			if status, _, body := s.ask(asked{method: method, path: s.base + rest, body: "{}"}); status != http.StatusNotFound {
				t.Errorf("%s %s: %d %s", method, rest, status, body)
			}
		}
	}
	for rest, route := range consoleRoutes {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			if status, header, _ := s.ask(asked{method: method, path: s.base + rest, body: "{}"}); method != route.method && (status != http.StatusMethodNotAllowed || header.Get("Allow") != route.method) {
				t.Errorf("%s %s: %d", method, rest, status)
			}
		}
		// Parameters other than the endpoint stay here.
		s.ask(asked{method: route.method, path: s.base + rest + "?endpoint=/x%26y%23&id=1", body: "{}"})
	}
	const one = "?endpoint=%2Fx%26y%23"
	want := []string{
		"GET /mcp_app/endpoints", "GET /mcp_app/endpoints" + one, "GET /mcp_app/events", "GET /mcp_app/events" + one,
		"GET /mcp_app/findings", "GET /mcp_app/findings" + one, "POST /mcp_app/catalog", "POST /mcp_app/explain",
	}
	slices.Sort(paths)
	if got := slices.Compact(paths); !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

// TestEveryAnswerIsGuarded: also refusals carry the policy, and nothing is kept.
func TestEveryAnswerIsGuarded(t *testing.T) {
	s := serveConsole(t, endpointsOnly)
	for _, a := range []asked{
		{path: s.base},
		{path: s.base + "console.js"},
		{path: s.base + "api/endpoints"},
		{path: s.base + "api/events"}, // which the test's admin endpoint does not have
		{path: s.base + "nothing"},
		{path: "/", stranger: true},
		{path: "/enter"},
		{path: "/", host: "evil.example"},
		{path: "/enter?secret=" + s.secret, stranger: true},
	} {
		status, header, _ := s.ask(a)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := header.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("%s (%d): %s is %q", a.path, status, name, got)
			}
		}
		if policy := header.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: %s", a.path, policy)
		}
		if header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: opened to other origins", a.path)
		}
	}
}

// TestThePageIsWholeAndLoadsNothingElse: every file is served and used, nothing
// comes from elsewhere, and no text can become markup.
func TestThePageIsWholeAndLoadsNothingElse(t *testing.T) {
	s := serveConsole(t, endpointsOnly)
	files, err := fs.ReadDir(consoleFiles, "console")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(consoleAssets) {
		t.Errorf("%d files, %d are served", len(files), len(consoleAssets))
	}
	all := ""
	for name, contentType := range consoleAssets {
		status, header, body := s.ask(asked{path: s.base + name})
		if status != http.StatusOK || header.Get("Content-Type") != contentType || body == "" {
			t.Errorf("%s: %d, %s", name, status, header.Get("Content-Type"))
		}
		if foreign := regexp.MustCompile(`(https?:)?//[a-z][^\s"'` + "`" + `]*`).FindString(strings.ReplaceAll(body, "http://www.w3.org/2000/svg", "")); foreign != "" {
			t.Errorf("%s: loads from %s", name, foreign)
		}
		if found := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|createContextualFragment|DOMParser|<style|style=|\son[a-z]+="|javascript:|localStorage|sessionStorage|indexedDB|\.cookie`).FindString(body); found != "" {
			t.Errorf("%s: holds %s", name, found)
		}
		all += body
	}
	for name := range consoleAssets {
		if name != "" && !strings.Contains(all, name) {
			t.Errorf("%s is used by nothing", name)
		}
	}
	if n := strings.Count(all, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
}
