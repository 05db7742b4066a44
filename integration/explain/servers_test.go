package explain

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// TestAServerThatIsDownIsSaidToBe: rules are explained for the tool that was
// asked for; nothing is claimed about the rest.
func TestAServerThatIsDownIsSaidToBe(t *testing.T) {
	g := start(t, "mcp_app /mcp {$WORKSPACE}", "mcp_app /mcp 127.0.0.1:1")
	var x explanation
	g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{
		"endpoint": "/mcp", "tool": "settings.update", "claims": map[string]any{"sub": "erin@acme", "org_id": "acme", "scope": "mcp.use"},
	}, &x)
	if x.CatalogError == "" || x.Server != nil || len(x.Tools) != 1 || x.Tools[0].Decision != "hide" {
		t.Errorf("%+v", x)
	}
}

// TestAServerBehindTheSiteIsAskedThroughIt: without upstreams of its own mcp_app
// asks through the handlers that follow it, with what those in front have set.
func TestAServerBehindTheSiteIsAskedThroughIt(t *testing.T) {
	g := start(t, "mcp_app /mcp {$WORKSPACE}", "reverse_proxy {$WORKSPACE} {\n\t\theader_up Host {upstream_hostport}\n\t}\n\tmcp_app /mcp")
	token := g.token(t, "victor@acme", "acme", "mcp.use")
	var x explanation
	if status := g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "token": token}, &x); status != http.StatusOK {
		t.Fatalf("%d %s", status, x.Error)
	}
	if served := g.listed(t, "acme", token); !slices.Equal(x.visible(), served) || len(served) == 0 {
		t.Errorf("explained as visible %v, served %v, %+v", x.visible(), served, x)
	}
}

// TestAServerOfTheOldEraIsAskedInItsOwnWords: without server/discover it is
// asked in a session of its own.
func TestAServerOfTheOldEraIsAskedInItsOwnWords(t *testing.T) {
	old := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	for _, name := range []string{"list_decks", "create_deck", "admin.purge_deck"} {
		mcp.AddTool(old, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, map[string]any, error) {
			return nil, map[string]any{}, nil
		})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return old }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= modern {
			http.Error(w, "Bad Request: Unsupported protocol version", http.StatusBadRequest)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	g := start(t, "mcp_app /mcp {$WORKSPACE}", "mcp_app /mcp "+strings.TrimPrefix(server.URL, "http://"))
	var x explanation
	if status := g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "token": g.token(t, "victor@acme", "acme", "mcp.use")}, &x); status != http.StatusOK {
		t.Fatalf("%d %s", status, x.Error)
	}
	if x.CatalogError != "" || x.Server == nil || x.Server.Era != "legacy" {
		t.Fatalf("%+v", x)
	}
	for tool, want := range map[string]string{"list_decks": "allow", "create_deck": "challenge", "admin.purge_deck": "hide"} {
		if got := x.tool(t, tool).Decision; got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
}

// TestATenantOfAHeaderIsGivenByHand: an operator who explains has no proxy in
// front, and says which tenant the route stands for.
func TestATenantOfAHeaderIsGivenByHand(t *testing.T) {
	g := start(t, "auto_https off", "auto_https off\n\tservers {\n\t\ttrusted_proxies static 127.0.0.1/32\n\t}",
		"require {http.request.host.labels.1}", "require {http.request.header.X-Org}",
		"header X-Tenant", "", "http://{http.request.host.labels.1}.localhost", "http://acme.localhost")
	token := g.issue(t, issuer.Grant{
		Subject: "erin@acme", Audience: []string{g.URL("acme")}, Scopes: []string{"mcp.use"}, Claims: map[string]any{"org_id": []string{"acme", "globex"}},
	})
	for tenant, status := range map[string]int{"acme": 0, "globex": http.StatusForbidden, "initech": http.StatusForbidden, "": http.StatusForbidden} {
		var x explanation
		if got := g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "token": token, "tenant": tenant}, &x); got != http.StatusOK {
			t.Errorf("%q: %d %s", tenant, got, x.Error)
			continue
		}
		switch {
		case status == 0 && (x.Refused != nil || x.Principal.Tenant != tenant || x.tool(t, "list_decks").Decision != "allow"):
			t.Errorf("%q: %+v", tenant, x)
		case status != 0 && (x.Refused == nil || x.Refused.Status != status || len(x.Tools) != 0):
			t.Errorf("%q: %+v", tenant, x)
		}
	}
}

// TestCallersWithoutATokenAreExplained, in mixed mode and in mode none.
func TestCallersWithoutATokenAreExplained(t *testing.T) {
	tenant := caddyfile[strings.Index(caddyfile, "\t\ttenant {"):strings.Index(caddyfile, "\t\tpolicy {")]
	auth := caddyfile[strings.Index(caddyfile, "\t\tauth {"):strings.Index(caddyfile, "\t\ttenant {")]
	whole := []string{tenant, "", "{http.request.host.labels.1}.localhost", "acme.localhost", "tool workspace.*", "tool workspace.* {\n\t\t\t\tanonymous\n\t\t\t}"}
	t.Run("mixed", func(t *testing.T) {
		g := start(t, append(whole, "scopes mcp.use\n", "mode mixed\n", "tool gone.*", "tool gone.* {\n\t\t\t\tanonymous\n\t\t\t}")...)
		var x explanation
		if status := g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp"}, &x); status != http.StatusOK {
			t.Fatalf("%d %s", status, x.Error)
		}
		if x.Principal.By != "anonymous" || x.Refused != nil {
			t.Errorf("%+v", x)
		}
		for tool, want := range map[string]string{"workspace.home": "allow", "settings.read": "login", "admin.purge_deck": "hide"} {
			if x.CatalogError == "" && x.tool(t, tool).Decision != want {
				t.Errorf("%s: %+v", tool, x.tool(t, tool))
			}
		}
	})
	t.Run("none", func(t *testing.T) {
		resource := caddyfile[strings.Index(caddyfile, "\t\tresource "):strings.Index(caddyfile, "\t\tauth {")]
		g := start(t, resource, "", auth, "\t\tauth mode none\n", tenant, "")
		var x explanation
		if status := g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "tool": "list_decks"}, &x); status != http.StatusOK {
			t.Fatalf("%d %s", status, x.Error)
		}
		if x.Principal.By != "none" || x.Refused != nil || len(x.Tools) != 1 || x.Tools[0].Decision != "allow" {
			t.Errorf("%+v", x)
		}
		if status := g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "claims": map[string]any{"sub": "x"}}, &x); status != http.StatusBadRequest {
			t.Errorf("claims: %d %+v", status, x)
		}
	})
}
