package caddymodule

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// browser is a request as a page at origin would send it; "-" stands for a
// request without Origin.
func browser(t testing.TB, origin, fetchSite string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://gw.example/mcp", strings.NewReader("{}"))
	if origin != "-" {
		r.Header["Origin"] = []string{origin}
	}
	if fetchSite != "" {
		r.Header.Set("Sec-Fetch-Site", fetchSite)
	}
	return prepared(r, httptest.NewRecorder())
}

const atGateway = "resource https://gw.example/mcp\nauth {\nissuer https://id.example\n}\npolicy {\ntool *\n}\n"

func TestOnlyNamedOriginsMayCall(t *testing.T) {
	m := mustLoad(t, atGateway+"origins https://chatgpt.com http://localhost:6274")
	for _, tt := range []struct {
		origin, site string
		want         bool
	}{
		{"-", "", true},
		{"-", "same-origin", true},
		{"-", "none", true},
		{"-", "same-site", false},
		{"-", "cross-site", false},
		{"https://gw.example", "", true},
		{"https://chatgpt.com", "cross-site", true},
		{"http://localhost:6274", "", true},
		{"http://localhost", "", false},
		{"http://localhost:6275", "", false},
		{"https://localhost:6274", "", false},
		{"http://gw.example", "", false},
		{"https://gw.example:443", "", false},
		{"https://gw.example/", "", false},
		{"https://gw.example/mcp", "", false},
		{"https://gw.example.", "", false},
		{"https://GW.example", "", false},
		{"https://gw.example.evil.example", "", false},
		{"https://evil.example#https://gw.example", "", false},
		{"https://user@gw.example", "", false},
		{"null", "", false},
		{"", "", false},
		{"*", "", false},
		{"gw.example", "", false},
		{"https://gw.example, https://chatgpt.com", "", false},
		{"file://", "", false},
	} {
		if _, got := allowedOrigin(m, browser(t, tt.origin, tt.site)); got != tt.want {
			t.Errorf("Origin %q, Sec-Fetch-Site %q: allowed %v, want %v", tt.origin, tt.site, got, tt.want)
		}
	}
	repeated := browser(t, "https://gw.example", "")
	repeated.Header.Add("Origin", "https://gw.example")
	if _, got := allowedOrigin(m, repeated); got {
		t.Error("a repeated Origin is allowed")
	}
}

// Each tenant's own origin is that of its own host.
func TestTheOwnOriginFollowsTheTenant(t *testing.T) {
	const host = "{http.request.host.labels.2}"
	m := mustLoad(t, "resource https://"+host+".example.com/mcp\nauth {\nissuer https://id.example\n}\ntenant {\nclaim org\nrequire "+host+"\nallow acme globex\n}\npolicy {\ntool *\n}\n")
	for _, tt := range []struct {
		host, origin string
		want         bool
	}{
		{"acme.example.com", "https://acme.example.com", true},
		{"globex.example.com", "https://globex.example.com", true},
		{"acme.example.com", "https://globex.example.com", false},
		{"initech.example.com", "https://initech.example.com", false},
		{"acme.example.com", "http://acme.example.com", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+tt.host+"/mcp", nil)
		r.Header.Set("Origin", tt.origin)
		if _, got := allowedOrigin(m, prepared(r, httptest.NewRecorder())); got != tt.want {
			t.Errorf("%s from %s: allowed %v, want %v", tt.host, tt.origin, got, tt.want)
		}
	}
}

// Without tokens a page that an attacker has pointed at this machine by DNS must
// not pass as the endpoint's own (DNS rebinding).
func TestWithoutTokensOnlyThisMachinesNameIsAnOriginOfItsOwn(t *testing.T) {
	m := mustLoad(t, open)
	for _, tt := range []struct {
		host, origin string
		want         bool
	}{
		{"localhost:8080", "http://localhost:8080", true},
		{"127.0.0.1:8080", "http://127.0.0.1:8080", true},
		{"[::1]:8080", "http://[::1]:8080", true},
		{"localhost:8080", "http://localhost:8081", false},
		{"rebound.example:8080", "http://rebound.example:8080", false},
		{"localhost.evil.example", "http://localhost.evil.example", false},
		{"192.168.1.7", "http://192.168.1.7", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+tt.host+"/mcp", nil)
		r.Header.Set("Origin", tt.origin)
		if _, got := allowedOrigin(m, prepared(r, httptest.NewRecorder())); got != tt.want {
			t.Errorf("%s from %s: allowed %v, want %v", tt.host, tt.origin, got, tt.want)
		}
	}
}

func TestOnlyNamedHostsAreServed(t *testing.T) {
	m := mustLoad(t, open+"hosts gw.example localhost:8080")
	for host, want := range map[string]bool{
		"gw.example": true, "GW.Example": true, "localhost:8080": true, "localhost": false, "gw.example:8080": false, "evil.example": false, "": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://placeholder/mcp", nil)
		r.Host, r.RemoteAddr = host, "127.0.0.1:1"
		r = prepared(r, httptest.NewRecorder())
		if refused := m.checkBoundary(r, m.whereOf(r)); (refused == nil) != want {
			t.Errorf("%q: served %v, want %v", host, refused == nil, want)
		}
	}
}

// What no browser sends would match nothing; whoever wrote it would look for the
// fault everywhere else.
func TestOriginsAreWrittenAsBrowsersSendThem(t *testing.T) {
	for text, want := range map[string]string{
		"https://ChatGPT.com":         "write https://chatgpt.com",
		"HTTPS://chatgpt.com":         "write https://chatgpt.com",
		"https://chatgpt.com:443":     "write https://chatgpt.com",
		"http://localhost:80":         "write http://localhost",
		"https://chatgpt.com/":        "write scheme and host only",
		"https://chatgpt.com/x":       "write scheme and host only",
		"https://u@chatgpt.com":       "write scheme and host only",
		"https://*":                   "",
		"chatgpt.com":                 "write scheme and host only",
		"*":                           "write scheme and host only",
		"null":                        "write scheme and host only",
		"https://b\u00fccher.example": "write scheme and host only",
		"https://chatgpt.com:8443":    "",
		"http://localhost:443":        "",
		"http://[::1]:6274":           "",
		"chrome-extension://abcdef":   "",
	} {
		err := parseOrigin(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	m := mustLoad(t, strings.Replace(atGateway, "https://gw.example/", "https://GW.example:443/", 1))
	if _, allowed := allowedOrigin(m, browser(t, "https://gw.example", "")); !allowed {
		t.Error("the endpoint's own origin is refused because of how its resource is written")
	}
}

// allowedOrigin is the answer for a request as it comes in.
func allowedOrigin(m *Handler, r *http.Request) (string, bool) {
	return m.allowedOrigin(r, m.whereOf(r))
}
