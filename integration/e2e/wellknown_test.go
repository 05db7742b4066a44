package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// document is the address of the metadata of a tenant's endpoint.
func (g *gateway) document(tenant, suffix string) string {
	return strings.Replace(g.URL(tenant), "/mcp", wellKnown+suffix, 1)
}

func TestTheMetadataDocumentsAreThoseOfTheirTenant(t *testing.T) {
	g := start(t, exampleConfig(t))
	c := g.nobody()
	for _, tenant := range []string{"acme", "globex"} {
		for _, suffix := range []string{"", "/mcp"} {
			address := g.document(tenant, suffix)
			a := c.send(t, http.MethodGet, address, "", nil)
			wantStatus(t, address, a, http.StatusOK)
			if a.framing != "application/json" || a.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.header.Get("Cache-Control"), "no-store") {
				t.Errorf("%s: headers %v", address, a.header)
			}
			if got, _ := a.message.Get("resource").Text(); got != g.URL(tenant) {
				t.Errorf("%s: resource %q, want exactly the URL users enter", address, got)
			}
			if got, want := string(a.message.Get("authorization_servers")), `["`+g.Issuer.URL+`"]`; got != want {
				t.Errorf("%s: authorization_servers %s, want %s", address, got, want)
			}
			if got, want := string(a.message.Get("scopes_supported")), `["mcp.use","decks.write","settings.write"]`; got != want {
				t.Errorf("%s: scopes_supported %s, want %s", address, got, want)
			}
			if head := c.send(t, http.MethodHead, address, "", nil); head.status != http.StatusOK || len(head.body) != 0 {
				t.Errorf("HEAD %s: %s", address, head)
			}
			wantStatus(t, "POST "+address, c.send(t, http.MethodPost, address, "{}", nil), http.StatusMethodNotAllowed)
			preflight := c.send(t, http.MethodOptions, address, "", http.Header{
				"Origin": {"https://anything.example"}, "Access-Control-Request-Method": {"GET"}, "Access-Control-Request-Headers": {"mcp-protocol-version"},
			})
			if preflight.status != http.StatusNoContent || preflight.header.Get("Access-Control-Allow-Origin") != "*" ||
				!strings.Contains(strings.ToLower(preflight.header.Get("Access-Control-Allow-Headers")), "mcp-protocol-version") {
				t.Errorf("OPTIONS %s: %d %v", address, preflight.status, preflight.header)
			}
		}
	}
	if got := g.Workspace.Requests(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
}

// The client of the Go SDK finds the document by our challenge, compares the
// resource with the URL it knows, and refuses any difference. It takes plain
// http from loopback addresses only.
func TestTheSDKAgreesWithTheDocuments(t *testing.T) {
	const base = "http://127.0.0.1:{$GATEWAY_PORT}"
	g := start(t, stackFor(siteAt(base, "mcp_app /mcp {$WORKSPACE} {\nresource "+base+"/mcp\n"+auth+allTools+"}\n")))
	own := fmt.Sprintf("http://127.0.0.1:%d", g.Port)
	params := challengeOf(t, g.nobody().send(t, http.MethodPost, own+"/mcp", pingBody, nil))
	for _, address := range []string{params["resource_metadata"], own + wellKnown, own + wellKnown + "/mcp"} {
		metadata, err := oauthex.GetProtectedResourceMetadata(t.Context(), address, own+"/mcp", g.client)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if len(metadata.AuthorizationServers) != 1 || metadata.AuthorizationServers[0] != g.Issuer.URL {
			t.Errorf("%s: %+v", address, metadata)
		}
	}
}

// The URL in the challenge and in the document is the configured one, whatever
// a request says about its host (agentgateway 545, 449).
func TestForwardedHeadersDoNotChangeTheDocument(t *testing.T) {
	g := start(t, exampleConfig(t))
	c := g.nobody()
	header := http.Header{"X-Forwarded-Host": {"evil.example"}, "X-Forwarded-Proto": {"https"}, "Forwarded": {"host=evil.example;proto=https"}, "X-Original-Url": {"/evil"}}
	a := c.send(t, http.MethodGet, g.document("acme", "/mcp"), "", header)
	if got, _ := a.message.Get("resource").Text(); got != g.URL("acme") {
		t.Errorf("resource %q, want %q", got, g.URL("acme"))
	}
	params := challengeOf(t, c.send(t, http.MethodPost, g.URL("acme"), pingBody, header))
	if params["resource_metadata"] != g.document("acme", "/mcp") {
		t.Errorf("resource_metadata %q", params["resource_metadata"])
	}
}

// twoEndpoints is one site with two endpoints, each a resource of its own.
func twoEndpoints(wrap string) []byte {
	one := func(path string) string {
		text := "mcp_app " + path + " {$WORKSPACE} {\n" +
			strings.Replace(secured, "/mcp", path, 1) + allTools + "}\n"
		if wrap != "" {
			return wrap + " {\n" + text + "}\n"
		}
		return text
	}
	return site(one("/first") + one("/second"))
}

// With two endpoints no client could tell whose document the root one is
// (envoyproxy/ai-gateway 1585, vault-cortex 422).
func TestTwoEndpointsOfASiteHaveNoRootDocument(t *testing.T) {
	for _, wrap := range []string{"", "route"} {
		t.Run("inside "+wrap, func(t *testing.T) {
			g := start(t, stackFor(twoEndpoints(wrap)))
			c := g.nobody()
			base := strings.TrimSuffix(g.URL("acme"), "/mcp")
			for _, path := range []string{"/first", "/second"} {
				a := c.send(t, http.MethodGet, base+wellKnown+path, "", nil)
				if got, _ := a.message.Get("resource").Text(); got != base+path {
					t.Errorf("%s: resource %q, want %q", path, got, base+path)
				}
				params := challengeOf(t, c.send(t, http.MethodPost, base+path, pingBody, nil))
				if params["resource_metadata"] != base+wellKnown+path {
					t.Errorf("%s: resource_metadata %q", path, params["resource_metadata"])
				}
			}
			if a := c.send(t, http.MethodGet, base+wellKnown, "", nil); strings.Contains(string(a.body), "resource") {
				t.Errorf("the root document speaks for one of two: %s", a)
			}
		})
	}
}

// A token for one resource of a site is none for the other.
func TestEndpointsOfOneSiteDoNotShareTokens(t *testing.T) {
	g := start(t, stackFor(twoEndpoints("")))
	base := strings.TrimSuffix(g.URL("acme"), "/mcp")
	grant := g.grant(viewer("acme"))
	grant.Audience = []string{base + "/first"}
	header := http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}}
	c := g.nobody()
	wantStatus(t, "its own endpoint", c.send(t, http.MethodGet, base+"/first", "", header), http.StatusNotFound, http.StatusBadRequest, http.StatusMethodNotAllowed)
	wantStatus(t, "the other endpoint", c.send(t, http.MethodGet, base+"/second", "", header), http.StatusUnauthorized)
}
