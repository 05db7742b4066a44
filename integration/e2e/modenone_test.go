package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// startOpen runs an endpoint without authentication on the loopback address.
func startOpen(t *testing.T, server http.Handler, mode string) (*gateway, *caller) {
	t.Helper()
	const address = "http://127.0.0.1:{$GATEWAY_PORT}"
	g := start(t, stackWith(siteAt(address, "mcp_app /mcp {$WORKSPACE} {\nresource "+address+"/mcp\nauth {\n\tmode "+mode+"\n}\n"+allTools+"}\n"), server))
	return g, &caller{g.client, fmt.Sprintf("http://127.0.0.1:%d/mcp", g.Port), legacy, http.Header{}}
}

func TestWithoutAuthenticationOnlyThisMachineIsServed(t *testing.T) {
	server := record(answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json", "WWW-Authenticate": "Bearer"}, `{"jsonrpc":"2.0","id":7,"result":{}}`))
	_, c := startOpen(t, server, "none")
	for name, header := range map[string]http.Header{
		"nothing said":           nil,
		"a private client":       {"X-Forwarded-For": {"192.168.1.7"}},
		"a token, never read":    {"Authorization": {"Bearer nonsense"}},
		"a page of its own":      {"Origin": {c.url[:len(c.url)-len("/mcp")]}},
		"an obfuscated client":   {"Forwarded": {"for=_hidden"}},
		"an unparseable address": {"X-Real-Ip": {"unknown"}},
	} {
		server.forget()
		wantStatus(t, name, c.post(t, pingBody, header), http.StatusOK)
		if seen := server.seen(); len(seen) != 1 || seen[0].header.Get("Authorization") != "" || len(identityOf(seen[0].header)) != 0 {
			t.Errorf("%s: the server saw %v", name, seen)
		}
	}
	server.forget()
	for name, header := range map[string]http.Header{
		"X-Forwarded-For":           {"X-Forwarded-For": {"203.0.113.7"}},
		"X-Forwarded-For, a chain":  {"X-Forwarded-For": {"10.0.0.1, 203.0.113.7"}},
		"X-Forwarded-For, repeated": {"X-Forwarded-For": {"10.0.0.1", "203.0.113.7"}},
		"X-Real-IP":                 {"X-Real-Ip": {"203.0.113.7"}},
		"CF-Connecting-IP":          {"Cf-Connecting-Ip": {"2001:db8::7"}},
		"Forwarded":                 {"Forwarded": {`for=10.0.0.1, For="[2001:db8::7]:4711";proto=https`}},
		"another page":              {"Origin": {"https://evil.example"}},
		"cross-site":                {"Sec-Fetch-Site": {"cross-site"}},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			wantStatus(t, method+", "+name, c.send(t, method, c.url, pingBody, header), http.StatusForbidden)
		}
	}
	if got := server.seen(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
}

func TestServingEverybodyWithoutAuthenticationMustBeSaid(t *testing.T) {
	server := pong()
	_, c := startOpen(t, server, "none public")
	wantStatus(t, "a public client", c.post(t, pingBody, http.Header{"X-Forwarded-For": {"203.0.113.7"}}), http.StatusOK)
	// Nobody is identified, so that nobody may claim to be somebody.
	c.post(t, pingBody, http.Header{"X-Mcp-App-Tenant": {"acme"}, "x_mcp_app_subject": {"boss"}})
	for _, seen := range server.seen() {
		if got := identityOf(seen.header); len(got) != 0 {
			t.Errorf("the server is told %v", got)
		}
	}
}

// Policy and strict reading hold without authentication too.
func TestThePolicyHoldsWithoutAuthentication(t *testing.T) {
	const address = "http://127.0.0.1:{$GATEWAY_PORT}"
	g := start(t, stackFor(siteAt(address, "mcp_app /mcp {$WORKSPACE} {\nauth {\n\tmode none\n}\npolicy {\n\ttool list_decks\n}\n}\n")))
	for _, era := range eras {
		c := &caller{g.client, fmt.Sprintf("http://127.0.0.1:%d/mcp", g.Port), era, http.Header{}}
		c.open(t)
		if got := c.call(t, "tools/list", "", nil).names("tools", "name"); len(got) != 1 || got[0] != "list_decks" {
			t.Errorf("%s: tools %q", era, got)
		}
		sameAsUnknown(t, c.tool(t, "create_deck", nil), c.tool(t, "no.such_tool", nil), "create_deck", "no.such_tool")
		wantStatus(t, era, c.post(t, "["+pingBody+"]", nil), http.StatusBadRequest)
	}
	a := (&caller{client: g.client, header: http.Header{}}).send(t, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s/mcp", g.Port, wellKnown), "", nil)
	if a.message.Get("authorization_servers").Exists() || a.message.Get("resource").Exists() {
		t.Errorf("a document about logging in where nobody can: %s", a)
	}
}
