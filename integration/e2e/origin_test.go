package e2e

import (
	"net/http"
	"strings"
	"testing"
)

func TestOneListOfOriginsDrivesPreflightAndRequest(t *testing.T) {
	g := start(t, stackFor(example(t, "links {", "origins https://chatgpt.com\nlinks {")))
	own := strings.TrimSuffix(g.URL("acme"), "/mcp")
	token := g.token(t, editor("acme"))
	c := g.nobody()
	for _, tt := range []struct {
		name    string
		header  http.Header
		allowed bool
	}{
		{"no browser", nil, true},
		{"own origin", http.Header{"Origin": {own}}, true},
		{"listed", http.Header{"Origin": {"https://chatgpt.com"}}, true},
		{"same origin, no Origin sent", http.Header{"Sec-Fetch-Site": {"same-origin"}}, true},
		{"typed by the user", http.Header{"Sec-Fetch-Site": {"none"}}, true},
		{"another", http.Header{"Origin": {"https://evil.example"}}, false},
		{"another tenant's", http.Header{"Origin": {strings.Replace(own, "acme", "globex", 1)}}, false},
		{"null", http.Header{"Origin": {"null"}}, false},
		{"empty", http.Header{"Origin": {""}}, false},
		{"with a path", http.Header{"Origin": {own + "/"}}, false},
		{"other scheme", http.Header{"Origin": {"http://chatgpt.com"}}, false},
		{"other port", http.Header{"Origin": {"https://chatgpt.com:8443"}}, false},
		{"longer name", http.Header{"Origin": {"https://chatgpt.com.evil.example"}}, false},
		{"subdomain", http.Header{"Origin": {"https://x.chatgpt.com"}}, false},
		{"repeated", http.Header{"Origin": {"https://chatgpt.com", "https://chatgpt.com"}}, false},
		{"joined", http.Header{"Origin": {"https://chatgpt.com, https://evil.example"}}, false},
		{"cross-site without Origin", http.Header{"Sec-Fetch-Site": {"cross-site"}}, false},
		{"same-site without Origin", http.Header{"Sec-Fetch-Site": {"same-site"}}, false},
	} {
		for _, method := range []string{http.MethodOptions, http.MethodPost, http.MethodGet, http.MethodDelete} {
			header := tt.header.Clone()
			if header == nil {
				header = http.Header{}
			}
			if method == http.MethodOptions {
				header.Set("Access-Control-Request-Method", "POST")
			} else {
				header.Set("Authorization", "Bearer "+token)
			}
			a := c.send(t, method, c.url, pingBody, header)
			if refused := a.status == http.StatusForbidden; refused == tt.allowed {
				t.Errorf("%s %s: %s, allowed should be %v", method, tt.name, a, tt.allowed)
			}
			want := ""
			if tt.allowed {
				want = header.Get("Origin")
			}
			if got := strings.Join(a.header.Values("Access-Control-Allow-Origin"), "|"); got != want {
				t.Errorf("%s %s: Access-Control-Allow-Origin %q, want %q", method, tt.name, got, want)
			}
		}
	}
}

// A browser shows a page nothing of an answer without CORS headers: a 401 would
// look like a network failure, and login would never begin (routecraft 320).
func TestPagesCanReadEveryAnswer(t *testing.T) {
	g := start(t, stackFor(example(t, "links {", "origins https://chatgpt.com\nlinks {")))
	origin := http.Header{"Origin": {"https://chatgpt.com"}}
	with := func(more http.Header) http.Header {
		h := origin.Clone()
		for name, values := range more {
			h[name] = values
		}
		return h
	}
	bearer := http.Header{"Authorization": {"Bearer " + g.token(t, viewer("acme"))}}
	c := g.nobody()
	for name, a := range map[string]*answer{
		"401":     c.post(t, pingBody, origin),
		"400":     c.post(t, "[]", with(bearer)),
		"415":     c.post(t, pingBody, with(http.Header{"Authorization": bearer["Authorization"], "Content-Type": {"text/plain"}})),
		"step-up": c.post(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"create_deck"}}`, with(bearer)),
		"200": c.post(t, initializeBody,
			with(bearer)),
	} {
		if got := a.header.Values("Access-Control-Allow-Origin"); len(got) != 1 || got[0] != "https://chatgpt.com" {
			t.Errorf("%s: Access-Control-Allow-Origin %q", name, got)
		}
		if got := strings.Join(a.header.Values("Vary"), ","); !strings.Contains(got, "Origin") {
			t.Errorf("%s: Vary %q", name, got)
		}
		exposed := strings.ToLower(strings.Join(a.header.Values("Access-Control-Expose-Headers"), ","))
		for _, needed := range []string{"www-authenticate", "mcp-session-id", "mcp-protocol-version"} {
			if !strings.Contains(exposed, needed) {
				t.Errorf("%s: %s is not exposed: %q", name, needed, exposed)
			}
		}
	}
}

func TestPreflightAllowsWhatClientsSend(t *testing.T) {
	g := start(t, stackFor(example(t, "links {", "origins https://chatgpt.com\nlinks {")))
	c := g.nobody()
	a := c.send(t, http.MethodOptions, c.url, "", http.Header{
		"Origin": {"https://chatgpt.com"}, "Access-Control-Request-Method": {"POST"},
		"Access-Control-Request-Headers": {"authorization,content-type,mcp-param-region,x-evil"},
	})
	wantStatus(t, "preflight", a, http.StatusNoContent)
	headers := strings.ToLower(a.header.Get("Access-Control-Allow-Headers"))
	for _, needed := range []string{
		"authorization", "content-type", "accept", "last-event-id", "mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "mcp-param-region",
	} {
		if !strings.Contains(headers, needed) {
			t.Errorf("%s is not allowed: %q", needed, headers)
		}
	}
	if strings.Contains(headers, "x-evil") {
		t.Errorf("any header is allowed: %q", headers)
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if !strings.Contains(a.header.Get("Access-Control-Allow-Methods"), method) {
			t.Errorf("%s is not allowed", method)
		}
	}
	if got := g.Workspace.Requests(); len(got) != 0 {
		t.Errorf("a preflight reached the server")
	}
}

// What the server says of origins and logins is about its own address and would
// stand beside ours (toolhive 1811, agentgateway 234). A 401 to a caller whose
// token is good is no matter of that caller.
func TestTheServersOwnPolicyHeadersDoNotLeak(t *testing.T) {
	status := http.StatusOK
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answerWith(status, map[string]string{
			"Content-Type": "application/json", "WWW-Authenticate": `Bearer resource_metadata="http://10.0.0.7/internal"`,
			"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true", "Access-Control-Expose-Headers": "X-Internal",
		}, `{"jsonrpc":"2.0","id":7,"result":{}}`).ServeHTTP(w, r)
	})
	g := startBefore(t, server, endpoint(allTools+"origins https://chatgpt.com"))
	for _, status = range []int{http.StatusOK, http.StatusUnauthorized, http.StatusForbidden} {
		bearer := "Bearer " + g.token(t, viewer("acme"))
		for name, header := range map[string]http.Header{
			"no browser": {"Authorization": {bearer}}, "page": {"Authorization": {bearer}, "Origin": {"https://chatgpt.com"}},
		} {
			a := g.nobody().post(t, `{"jsonrpc":"2.0","id":7,"method":"ping"}`, header)
			want := status
			if status == http.StatusUnauthorized {
				want = http.StatusBadGateway
			}
			wantStatus(t, name, a, want)
			if got := a.header.Values("WWW-Authenticate"); len(got) != 0 {
				t.Errorf("%d, %s: WWW-Authenticate %q", status, name, got)
			}
			if got, want := strings.Join(a.header.Values("Access-Control-Allow-Origin"), "|"), header.Get("Origin"); got != want {
				t.Errorf("%d, %s: Access-Control-Allow-Origin %q, want %q", status, name, got, want)
			}
			if got := a.header.Get("Access-Control-Allow-Credentials"); got != "" {
				t.Errorf("%d, %s: Access-Control-Allow-Credentials %q", status, name, got)
			}
			if got := strings.Join(a.header.Values("Access-Control-Expose-Headers"), ","); strings.Contains(got, "X-Internal") {
				t.Errorf("%d, %s: Access-Control-Expose-Headers %q", status, name, got)
			}
		}
	}
}
