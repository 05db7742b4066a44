package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// nextSite is a site with something behind the gateway that would serve the
// server to anybody, the way a careless catch-all does.
func nextSite() string {
	return "mcp_app /mcp {$WORKSPACE} {\n" + secured + allTools + "}\n" + `respond "next handler {http.request.uri.path}"` + "\n"
}

// disguises are paths that some server, file system or framework reads as /mcp.
var disguises = []string{
	"/mcp", "//mcp", "///mcp", "/mcp/", "/mcp//", "/MCP", "/Mcp", "/mcp;x", "/mcp;x=%2Fy", "/mcp;jsessionid=1", "/;x/mcp",
	"/%6dcp", "/%6Dcp", "/%6d%63%70", "/%4dCP", "/mcp%2f", "/%2fmcp", "/%2Fmcp", "/%5cmcp", "/mcp%5C", "/mcp%3bx", "/mcp%3Bx",
	"/x/../mcp", "/./mcp", "/mcp/.", "/mcp/x/..", "/x/%2e%2e/mcp", "/%2e/mcp", "/x%2f..%2fmcp", "/x/..;/mcp", "/../mcp", `/x\..\mcp`, `/\mcp`,
	"/%256dcp", "/%25256dcp", "/%252fmcp", "/mcp%253bx",
}

func TestADisguisedEndpointNeverReachesTheNextHandlerUnchecked(t *testing.T) {
	server := pong()
	g := startBefore(t, server, nextSite())
	for _, path := range disguises {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			request := strings.Replace(g.rawPost(path, "", "", pingBody), "POST", method, 1)
			a := g.rawExchange(t, request)
			wantStatus(t, method+" "+path, a, http.StatusUnauthorized)
			if strings.Contains(string(a.body), "next handler") {
				t.Errorf("%s %s reached the next handler", method, path)
			}
		}
	}
	if got := server.seen(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
}

// With a token they are served as the endpoint they stand for, and the server
// sees the one path that is configured.
func TestADisguisedEndpointIsForwardedUnderItsOwnPath(t *testing.T) {
	server := pong()
	g := startBefore(t, server, nextSite())
	token := g.token(t, viewer("acme"))
	for _, path := range disguises {
		server.forget()
		wantStatus(t, path, g.rawExchange(t, g.rawPost(path+"?a=%2Fb&a", token, "", `{"jsonrpc":"2.0","id":7,"method":"ping"}`)), http.StatusOK)
		if seen := server.seen(); len(seen) != 1 || seen[0].path != "/mcp?a=%2Fb&a" {
			t.Errorf("%s: the server saw %v, want one request for /mcp with the query as it was", path, seen)
		}
	}
}

func TestOtherPathsAreLeftAlone(t *testing.T) {
	server := record(answerWith(http.StatusOK, nil, ""))
	g := startBefore(t, server, nextSite())
	for _, path := range []string{
		"/", "/mcpx", "/mc", "/mcp/x", "/x/mcp", "/mcp.json", "/mcp-2", "/m%20cp", "/index.html?next=/mcp", "/.well-known/oauth-authorization-server",
		wellKnown + "/other", wellKnown + "/mcp/x",
	} {
		request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: acme.localhost:%d\r\nX-Mcp-App-Tenant: theirs\r\n\r\n", path, g.Port)
		a := g.rawExchange(t, request)
		if a.status != http.StatusOK || !strings.HasPrefix(string(a.body), "next handler") {
			t.Errorf("%s: %s, want the next handler's answer", path, a)
		}
	}
	if got := server.seen(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
}
