package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
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

// Clients that follow no redirect to another host get the document itself. The
// authorization server hears nothing of them, is asked once, and may be away for
// a while.
func TestTheIssuersMetadataIsFetchedForThoseWhoFollowNoRedirect(t *testing.T) {
	server := pong()
	body := strings.Replace(endpoint(allTools), "scopes mcp.use", "scopes mcp.use\nmetadata_proxy", 1)
	g := startBefore(t, server, body)
	base := strings.TrimSuffix(g.URL("acme"), "/mcp")
	response, err := http.Get(g.Issuer.URL + wellKnownIssuer)
	if err != nil {
		t.Fatal(err)
	}
	direct := readAnswer(t, response)
	asked := g.Issuer.Fetches(issuer.OAuthMetadata)
	secrets := http.Header{"Authorization": {"Bearer secret"}, "Cookie": {"secret=1"}, "X-Forwarded-For": {"203.0.113.7"}}
	for _, path := range []string{wellKnownIssuer, wellKnownIssuer + "/mcp"} {
		a := g.nobody().send(t, http.MethodGet, base+path, "", secrets)
		wantStatus(t, path, a, http.StatusOK)
		if string(a.body) != string(direct.body) || a.framing != "application/json" {
			t.Errorf("%s: got %s\nwant %s", path, a, direct)
		}
		for name, want := range map[string]string{"Access-Control-Allow-Origin": "*", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Set-Cookie": ""} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s %q, want %q", path, name, got, want)
			}
		}
		wantStatus(t, "HEAD "+path, g.nobody().send(t, http.MethodHead, base+path, "", nil), http.StatusOK)
		wantStatus(t, "OPTIONS "+path, g.nobody().send(t, http.MethodOptions, base+path, "", nil), http.StatusNoContent)
		wantStatus(t, "POST "+path, g.nobody().send(t, http.MethodPost, base+path, "{}", nil), http.StatusMethodNotAllowed)
	}
	if more := g.Issuer.Fetches(issuer.OAuthMetadata) - asked; more != 1 {
		t.Errorf("the authorization server was asked %d times", more)
	}
	g.Issuer.SetFault(issuer.OAuthMetadata, issuer.Down)
	g.Issuer.SetFault(issuer.OIDCMetadata, issuer.Down)
	wantStatus(t, "in an outage", g.nobody().send(t, http.MethodGet, base+wellKnownIssuer, "", nil), http.StatusOK)

	// A reload asks anew, and finds nothing.
	if err := g.reload(t, site(body)); err != nil {
		t.Fatal(err)
	}
	a := g.nobody().send(t, http.MethodGet, base+wellKnownIssuer, "", nil)
	wantStatus(t, "without a document", a, http.StatusServiceUnavailable)
	if a.header.Get("Retry-After") == "" || strings.Contains(string(a.body), "status") || !strings.Contains(g.log(t), "status 503") {
		t.Errorf("without a document: %s, headers %v; the reason belongs into the log alone", a, a.header)
	}
	if got := server.seen(); len(got) != 0 {
		t.Errorf("the server saw %v", got)
	}
	if err := g.reload(t, site(strings.Replace(body, "metadata_proxy", "metadata_proxy\nmetadata_redirect", 1))); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("both lines load: %v", err)
	}
}
