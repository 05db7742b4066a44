package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// placeholders sends on what the rest of a Caddyfile knows of the caller.
const placeholders = `reverse_proxy {$WORKSPACE} {
	header_up X-Seen "{http.auth.user.id}|{http.auth.user.issuer}|{http.auth.user.tenant}|{http.auth.user.client_id}"
	header_up X-Mcp "{http.mcp_app.subject}|{http.mcp_app.issuer}|{http.mcp_app.tenant}|{http.mcp_app.method}|{http.mcp_app.era}"
}
`

// The words of Caddy say what the token says, whatever the client sends or an
// earlier part of the site has set.
func TestPlaceholdersHoldTheVerifiedCaller(t *testing.T) {
	forged := http.Header{
		"X-Mcp-App-Subject": {"mallory"}, "X-Mcp-App-Tenant": {"globex"}, "Http.auth.user.id": {"mallory"}, "X-Forwarded-User": {"mallory"},
	}
	earlier := "map {method} {http.auth.user.id} {http.auth.user.tenant} {http.mcp_app.tenant} {\n\tdefault mallory globex globex\n}\n"
	for name, before := range map[string]string{"alone": "", "behind another login": earlier} {
		t.Run(name, func(t *testing.T) {
			server := pong()
			g := startBefore(t, server, "route {\n"+before+endpointWithout(allTools)+placeholders+"}\n")
			for _, era := range eras {
				server.forget()
				c := g.bearer(t, viewer("acme"))
				c.era = era
				c.header.Set("Mcp-Protocol-Version", era)
				word := map[string]string{legacy: "legacy", modern: "modern"}[era]
				method := map[string]string{legacy: "ping", modern: "tools/list"}[era]
				body, header := c.message(t, method, "", nil)
				for key, values := range forged {
					header[key] = values
				}
				wantStatus(t, era, c.post(t, body, header), http.StatusOK)
				if len(server.seen()) == 0 {
					t.Fatalf("%s: nothing reached the server", era)
				}
				for _, seen := range server.seen() {
					if got, want := seen.header.Get("X-Seen"), "victor@acme|"+g.Issuer.URL+"|acme|"; !strings.HasPrefix(got, want) || strings.Contains(got, "mallory") {
						t.Errorf("%s: http.auth.user.* are %q, want %q…", era, got, want)
					}
					if got, want := seen.header.Get("X-Mcp"), "victor@acme|"+g.Issuer.URL+"|acme|"+method+"|"+word; got != want {
						t.Errorf("%s: http.mcp_app.* are %q, want %q", era, got, want)
					}
				}
			}
		})
	}
}

// Without a token they are empty, also where something earlier had filled them.
func TestPlaceholdersOfNobodyAreEmpty(t *testing.T) {
	server := pong()
	text := strings.Replace(mixedSite, "mcp_app /mcp {$WORKSPACE}", "mcp_app /mcp", 1)
	g := startBefore(t, server, "route {\nmap {method} {http.auth.user.id} {http.auth.user.tenant} {\n\tdefault mallory globex\n}\n"+text+placeholders+"}\n")
	wantStatus(t, "ping", g.nobody().post(t, `{"jsonrpc":"2.0","id":7,"method":"ping"}`, nil), http.StatusOK)
	for _, seen := range server.seen() {
		if got := seen.header.Get("X-Seen"); got != "|||" {
			t.Errorf("http.auth.user.* are %q", got)
		}
		if got := seen.header.Get("X-Mcp"); got != "|||ping|legacy" {
			t.Errorf("http.mcp_app.* are %q", got)
		}
	}
	if len(server.seen()) == 0 {
		t.Error("nothing reached the server")
	}
}

// endpointWithout is endpoint before the site's own handlers.
func endpointWithout(more string) string {
	return strings.Replace(endpoint(more), "mcp_app /mcp {$WORKSPACE}", "mcp_app /mcp", 1)
}
