package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// at sends a request to the endpoint of one tenant with a token that is right in
// everything, its audience included, but for the tenant claim.
func (g *gateway) at(t *testing.T, host string, claim any, method, body string) *answer {
	t.Helper()
	grant := g.grant(editor(host))
	grant.Claims = map[string]any{"org_id": claim}
	c := g.nobody()
	return c.send(t, method, g.URL(host), body, http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}})
}

func TestACallerOfAnotherTenantIsRefusedWithoutAHint(t *testing.T) {
	g := start(t, exampleConfig(t))
	claims := map[string]any{
		"another tenant": "globex", "no tenant": nil, "empty": "", "padded": " acme", "other case": "Acme",
		"a number": 7, "no name in the list": []string{}, "one entry wrong": []any{"acme", 7}, "an object": map[string]any{"id": "acme"},
		"line break": "acme\nX-Evil: 1",
	}
	var first string
	for name, claim := range claims {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			a := g.at(t, "acme", claim, method, pingBody)
			wantStatus(t, method+", "+name, a, http.StatusForbidden)
			if first == "" {
				first = string(a.body)
			}
			if string(a.body) != first || strings.Contains(strings.ToLower(a.String()), "tenant") || a.header.Get("WWW-Authenticate") != "" {
				t.Errorf("%s, %s: the answer gives a hint: %s", method, name, a)
			}
		}
	}
	if got := g.Workspace.Requests(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
}

func TestACallerOfSeveralTenantsActsAsTheOneOfTheRoute(t *testing.T) {
	g := start(t, stackFor(quiet(t)))
	for _, host := range []string{"acme", "globex"} {
		g.Workspace.ForgetCalls()
		a := g.at(t, host, []string{"acme", "globex"}, http.MethodPost, initializeBody)
		wantStatus(t, host, a, http.StatusOK)
		for _, request := range g.Workspace.Requests() {
			if got := request.Header.Get("X-Mcp-App-Tenant"); got != host {
				t.Errorf("%s: the server is told tenant %q", host, got)
			}
		}
	}
}

// A host that stands for no served tenant has neither an endpoint nor a document.
func TestAHostOfNoTenantServesNothing(t *testing.T) {
	g := start(t, exampleConfig(t))
	c := g.nobody()
	for _, tenant := range []string{"initech", "acme-globex", "a"} {
		address := g.URL(tenant)
		header := http.Header{"Authorization": {"Bearer " + g.token(t, editor("acme"))}}
		wantStatus(t, tenant, c.send(t, http.MethodPost, address, pingBody, header), http.StatusForbidden)
		wantStatus(t, tenant, c.send(t, http.MethodPost, address, pingBody, nil), http.StatusForbidden)
		document := c.send(t, http.MethodGet, strings.Replace(address, "/mcp", wellKnown+"/mcp", 1), "", nil)
		wantStatus(t, tenant, document, http.StatusForbidden)
		if strings.Contains(string(document.body), "resource") {
			t.Errorf("%s: a document: %s", tenant, document)
		}
	}
}

func TestTenantsSeeTheirOwnDataOnly(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		for tenant, other := range map[string]string{"acme": "globex", "globex": "acme"} {
			session := g.connect(t, era, editor(tenant))
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_decks"})
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ToLower(compact(t, result))
			if !strings.Contains(text, tenant) || strings.Contains(text, other) {
				t.Errorf("%s sees %s", tenant, text)
			}
			// A tenant in an argument selects nothing: the server reads it from
			// the header alone, and its schema refuses the argument.
			result, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_decks", Arguments: map[string]any{"tenant": other}})
			if err == nil && !result.IsError {
				t.Errorf("%s: an argument chose the tenant: %s", tenant, compact(t, result))
			}
		}
	})
}

// Rules may serve some tenants only; to others the names do not exist.
func TestARuleMayBeForOneTenant(t *testing.T) {
	everywhere(t, example(t, "tool list_decks\n", "tool list_decks {\n\ttenants globex\n}\n"), func(t *testing.T, g *gateway, era string) {
		acme, globex := g.caller(t, era, editor("acme")), g.caller(t, era, editor("globex"))
		sameAsUnknown(t, acme.tool(t, "list_decks", nil), acme.tool(t, "no_such_tool", nil), "list_decks", "no_such_tool")
		if a := globex.tool(t, "list_decks", map[string]any{}); !a.message.Get("result").Exists() {
			t.Errorf("globex: %s", a)
		}
	})
}

// A header names the tenant only where a proxy that is trusted has set it.
func TestATenantFromAHeaderCountsFromTrustedProxiesOnly(t *testing.T) {
	body := endpoint(allTools)
	body = strings.Replace(body, "require {http.request.host.labels.1}", "require {http.request.header.X-Tenant}", 1)
	body = strings.Replace(body, resource, "resource http://acme.localhost:{$GATEWAY_PORT}/mcp\n", 1)
	for name, trust := range map[string]string{"trusted": "servers {\ntrusted_proxies static 127.0.0.1/32\n}\n", "not trusted": ""} {
		t.Run(name, func(t *testing.T) {
			server := pong()
			g := start(t, stackWith([]byte(strings.Replace(string(site(body)), "grace_period", trust+"grace_period", 1)), server))
			grant := g.grant(viewer("acme"))
			grant.Claims = map[string]any{"org_id": []string{"acme", "globex"}}
			c := g.nobody()
			c.header.Set("Authorization", "Bearer "+g.issue(t, grant))
			for _, tenant := range []string{"acme", "globex"} {
				server.forget()
				a := c.post(t, pingBody, http.Header{"X-Tenant": {tenant}})
				if trust == "" {
					wantStatus(t, tenant, a, http.StatusForbidden)
					continue
				}
				wantStatus(t, tenant, a, http.StatusOK)
				for _, seen := range server.seen() {
					if got := seen.header.Get("X-Mcp-App-Tenant"); got != tenant {
						t.Errorf("the server is told tenant %q, want %q", got, tenant)
					}
				}
			}
			server.forget()
			wantStatus(t, "no header", c.post(t, pingBody, nil), http.StatusForbidden)
			wantStatus(t, "another tenant", c.post(t, pingBody, http.Header{"X-Tenant": {"initech"}}), http.StatusForbidden)
			wantStatus(t, "a placeholder", c.post(t, pingBody, http.Header{"X-Tenant": {"{http.request.header.X-Other}"}, "X-Other": {"acme"}}), http.StatusForbidden)
			wantStatus(t, "repeated", c.post(t, pingBody, http.Header{"X-Tenant": {"acme", "globex"}}), http.StatusForbidden)
			if got := server.seen(); len(got) != 0 {
				t.Errorf("%d requests reached the server", len(got))
			}
		})
	}
}

// Callers share caches, connections and flights, but nothing of each other.
func TestCallersAtTheSameTimeDoNotMix(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		type result struct {
			who   person
			tools []string
			decks string
			err   error
		}
		people := []person{viewer("acme"), editor("acme"), viewer("globex"), editor("globex")}
		results := make(chan result)
		for _, who := range people {
			session := g.connect(t, era, who)
			for range 4 {
				go func() {
					r := result{who: who}
					defer func() { results <- r }()
					for tool, err := range session.Tools(t.Context(), nil) {
						if err != nil {
							r.err = err
							return
						}
						r.tools = append(r.tools, tool.Name)
					}
					called, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_decks"})
					if r.err = err; err == nil {
						r.decks = fmt.Sprint(called.StructuredContent)
					}
				}()
			}
		}
		for range 4 * len(people) {
			r := <-results
			want := viewerTools
			if slices.Contains(r.who.scopes, "settings.write") {
				want = editorTools
			}
			slices.Sort(r.tools)
			other := map[string]string{"acme": "Globex", "globex": "Acme"}[r.who.tenant]
			if r.err != nil || !slices.Equal(r.tools, want) || r.decks == "" || strings.Contains(r.decks, other) {
				t.Errorf("%s: %v, tools %q, decks %s", r.who.subject, r.err, r.tools, r.decks)
			}
		}
	})
}
