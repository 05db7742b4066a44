package e2e

import (
	"net/http"
	"strings"
	"testing"
)

const wellKnownIssuer = "/.well-known/oauth-authorization-server"

// ChatGPT and others look for the authorization server at the resource's host
// without asking for a challenge first (adcp 1081).
func TestClientsThatAskHereForTheIssuerAreSentThere(t *testing.T) {
	body := strings.Replace(endpoint(allTools), "scopes mcp.use", "scopes mcp.use\nmetadata_redirect", 1)
	server := pong()
	g := startBefore(t, server, body)
	g.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	base := strings.TrimSuffix(g.URL("acme"), "/mcp")
	for _, path := range []string{wellKnownIssuer, wellKnownIssuer + "/mcp"} {
		a := g.nobody().send(t, http.MethodGet, base+path, "", nil)
		wantStatus(t, path, a, http.StatusTemporaryRedirect)
		if got := a.header.Get("Location"); got != g.Issuer.URL+wellKnownIssuer {
			t.Errorf("%s: Location %q", path, got)
		}
		if a.header.Get("Access-Control-Allow-Origin") != "*" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", path, a.header)
		}
		wantStatus(t, "POST "+path, g.nobody().send(t, http.MethodPost, base+path, "{}", nil), http.StatusMethodNotAllowed)
		response, err := http.Get(a.header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		if document := readAnswer(t, response); string(document.message.Get("issuer")) != `"`+g.Issuer.URL+`"` {
			t.Errorf("%s leads to %s", path, document)
		}
	}
	// Documents of others are not ours.
	a := g.nobody().send(t, http.MethodGet, base+wellKnownIssuer+"/other", "", nil)
	if a.header.Get("Location") != "" {
		t.Errorf("a neighbour's document is redirected: %v", a.header)
	}
	if got := server.seen(); len(got) != 0 {
		t.Errorf("the server saw %v", got)
	}
}

func TestWithoutTheLineNobodyIsRedirected(t *testing.T) {
	g := startBefore(t, pong(), endpoint(allTools)+"respond 404\n")
	base := strings.TrimSuffix(g.URL("acme"), "/mcp")
	for _, path := range []string{wellKnownIssuer, wellKnownIssuer + "/mcp"} {
		wantStatus(t, path, g.nobody().send(t, http.MethodGet, base+path, "", nil), http.StatusNotFound)
	}
}
