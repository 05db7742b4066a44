package e2e

import (
	"net/http"
	"os"
	"testing"
)

// pong is a server that answers every request alike and notes it.
func pong() *recorder {
	return record(answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json"}, `{"jsonrpc":"2.0","id":7,"result":{}}`))
}

// MCP servers on loopback refuse foreign hosts and origins, which have been
// checked before.
func TestTheServerSeesItsOwnHost(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools+"origins https://chatgpt.com"))
	c := g.bearer(t, viewer("acme"))
	wantStatus(t, "ping", c.post(t, pingBody, http.Header{"Origin": {"https://chatgpt.com"}, "Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"cors"}}), http.StatusOK)
	for _, seen := range server.seen() {
		if want := os.Getenv("WORKSPACE"); seen.host != want {
			t.Errorf("the server sees Host %q, want its own address %q", seen.host, want)
		}
		for _, name := range []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode"} {
			if got := seen.header.Get(name); got != "" {
				t.Errorf("the server sees %s %q", name, got)
			}
		}
	}
}

func TestTheClientsHostCanBePreserved(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools+"origins https://chatgpt.com\npreserve_host"))
	c := g.bearer(t, viewer("acme"))
	wantStatus(t, "ping", c.post(t, pingBody, http.Header{"Origin": {"https://chatgpt.com"}}), http.StatusOK)
	for _, seen := range server.seen() {
		if want := c.url[len("http://") : len(c.url)-len("/mcp")]; seen.host != want || seen.header.Get("Origin") != "https://chatgpt.com" {
			t.Errorf("the server sees Host %q and Origin %q", seen.host, seen.header.Get("Origin"))
		}
	}
}

func TestOnlyListedHostsAreServed(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools+"hosts acme.localhost:{$GATEWAY_PORT}"))
	wantStatus(t, "listed", g.bearer(t, viewer("acme")).post(t, pingBody, nil), http.StatusOK)
	server.forget()
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions} {
		c := g.bearer(t, viewer("globex"))
		wantStatus(t, method, c.send(t, method, c.url, pingBody, nil), http.StatusForbidden)
	}
	if got := server.seen(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
}

func TestATokenIsForwardedOnlyIfTheOperatorSaysSo(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools+"identity {\n\tforward_token\n}"))
	c := g.bearer(t, viewer("acme"))
	wantStatus(t, "ping", c.post(t, pingBody, nil), http.StatusOK)
	for _, seen := range server.seen() {
		if seen.header.Get("Authorization") != c.header.Get("Authorization") || seen.header.Get("X-Mcp-App-Tenant") != "acme" {
			t.Errorf("the server sees %v", seen.header)
		}
	}
	server.forget()
	wantStatus(t, "a bad token", c.post(t, pingBody, http.Header{"Authorization": {"Bearer nonsense"}}), http.StatusUnauthorized)
	if got := server.seen(); len(got) != 0 {
		t.Errorf("a bad token was forwarded")
	}
}
