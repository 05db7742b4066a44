package caddymodule

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// notFollowed lists cases that this module decides in another way on purpose,
// with the reason.
var notFollowed = map[string]string{
	"empty tenant in single-tenant mode": "without a tenant block no claim is looked at, so that none can be wrong",
}

// tenantInput is the input of all kinds of tenant cases.
type tenantInput struct {
	Mapping         map[string]any // the verified claims of the caller
	RequireTenant   *bool
	Claims          map[string]any // claims beside those of the mapping
	Sequence        []string       // the tenant of each call
	At              int            // the call that is judged, from 1
	ResourceTenant  string
	Tool, URI       string
	InAllowList     bool
	Policy          any
	Public          bool
	ReadOnly        bool
	AllowAnonymous  bool
	Authorization   string
	Principal       any
	ExpectPrincipal map[string]any
}

// tenantGateway is the module with an issuer of its own before a server that
// answers for two tools and records who it was told is calling.
type tenantGateway struct {
	*Handler
	issuer *issuer.Running
	told   http.Header // the identity of the last request that went on, nil if none did
}

func newTenantGateway(t *testing.T, auth, rest string) *tenantGateway {
	t.Helper()
	own, err := issuer.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	return &tenantGateway{issuer: own, Handler: mustLoad(t, "resource https://gw.example/mcp\nauth {\nissuer "+own.URL+"\n"+auth+"}\n"+rest)}
}

// token is one for a caller with the given claims; mapped ones have the names
// of the cases.
func (g *tenantGateway) token(t *testing.T, mapped, more map[string]any) string {
	t.Helper()
	grant := issuer.Grant{Subject: "nobody", Audience: []string{"https://gw.example/mcp"}, Claims: maps.Clone(more)}
	if grant.Claims == nil {
		grant.Claims = map[string]any{}
	}
	for name, value := range mapped {
		switch name {
		case "id":
			grant.Subject = fmt.Sprint(value)
		case "tenantId":
			grant.Claims["org_id"] = value
		default:
			grant.Claims[name] = value
		}
	}
	token, err := g.issuer.Issue(grant)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// send sends a message with an Authorization header, none if it is empty.
func (g *tenantGateway) send(t *testing.T, authorization, body string) *httptest.ResponseRecorder {
	t.Helper()
	header := map[string]string{}
	if authorization != "" {
		header["Authorization"] = authorization
	}
	g.told = nil
	return serve(t, g.Handler, post(t, body, header), func(w http.ResponseWriter, r *http.Request) error {
		g.told = http.Header{}
		for name, values := range r.Header {
			if g.identity.owns(name) {
				g.told[name] = values
			}
		}
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		var message struct {
			Method string
			Params struct{ Name, URI string }
		}
		if err := json.Unmarshal(sent, &message); err != nil {
			return err
		}
		answer := `{"jsonrpc":"2.0","id":7,"result":{"content":[],"contents":[]}}`
		name := message.Params.Name + message.Params.URI
		switch {
		case message.Method == "tools/list":
			answer = `{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"catalog_get","annotations":{"readOnlyHint":true}},{"name":"prefs_write"},{"name":"admin_wipe"}]}}`
		case name != "catalog_get" && name != "prefs_write" && name != "admin_wipe" && name != "ui://acme/v1/board":
			answer = `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"unknown ` + name + `"}}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, err = io.WriteString(w, answer)
		return err
	})
}

func call(method, member, name string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{"` + member + `":"` + name + `"}}`
}

// succeeds reports whether an answer is a result.
func succeeds(w *httptest.ResponseRecorder) bool {
	return w.Code == http.StatusOK && strings.Contains(w.Body.String(), `"result"`) && !strings.Contains(w.Body.String(), `"isError":true`)
}

func TestTenantCases(t *testing.T) {
	for _, c := range casesOf(t, "tenant") {
		t.Run(c.Name, func(t *testing.T) {
			accepted := decideTenantCase(t, c, input[tenantInput](t, c))
			if reason, ok := notFollowed[c.Name]; ok {
				if accepted == (c.Expect == "accept") {
					t.Errorf("followed after all, remove it from notFollowed (%s)", reason)
				}
				return
			}
			if accepted != (c.Expect == "accept") {
				t.Errorf("accepted: %v, want %s: %s", accepted, c.Expect, c.Why)
			}
		})
	}
}

// decideTenantCase plays a case and reports whether the caller got through.
func decideTenantCase(t *testing.T, c behaviourCase, in tenantInput) bool {
	t.Helper()
	const tools = "policy {\ntool catalog_get\ntool prefs_write\n}\n"
	tenant := "tenant {\nclaim org_id\n}\n"
	member := map[string]any{"id": "u1", "tenantId": "t1"} // where a case names nobody
	switch {
	case in.AllowAnonymous && in.Tool != "":
		g := newTenantGateway(t, "mode mixed\n", "policy {\ntool "+in.Tool+" {\nanonymous\n}\n}\n")
		return succeeds(g.send(t, "", call("tools/call", "name", in.Tool))) && len(g.told) == 0
	case in.AllowAnonymous:
		g := newTenantGateway(t, "mode mixed\n", "policy {\ntool catalog_get {\nanonymous\n}\n}\n")
		w := g.send(t, in.Authorization, call("tools/call", "name", "catalog_get"))
		if g.told != nil {
			t.Error("the request went on")
		}
		return w.Code != http.StatusUnauthorized
	case in.Sequence != nil:
		g := newTenantGateway(t, "", "tenant {\nclaim org_id\nrequire "+in.ResourceTenant+"\n}\n"+tools)
		var w *httptest.ResponseRecorder
		for _, tenant := range in.Sequence[:in.At] {
			w = g.send(t, "Bearer "+g.token(t, map[string]any{"id": "u1", "tenantId": tenant}, nil), call("tools/call", "name", "catalog_get"))
		}
		return succeeds(w)
	case in.Policy == "throws":
		g := newTenantGateway(t, "", tenant+"policy {\ntool "+in.Tool+" {\nwhen `claims.no_such.member == 1`\n}\n}\n")
		bearer := "Bearer " + g.token(t, member, nil)
		if w := g.send(t, bearer, listRequest); strings.Contains(w.Body.String(), in.Tool) {
			t.Errorf("the tool is listed: %s", w.Body)
		}
		return succeeds(g.send(t, bearer, call("tools/call", "name", in.Tool)))
	case in.Tool != "", in.URI != "":
		g := newTenantGateway(t, "", tenant+tools)
		bearer := "Bearer " + g.token(t, member, nil)
		method, parameter, name, nobody := "tools/call", "name", in.Tool, "no_such"
		if in.URI != "" {
			method, parameter, name, nobody = "resources/read", "uri", in.URI, "ui://acme/no/such"
		}
		got, unknown := g.send(t, bearer, call(method, parameter, name)), g.send(t, bearer, call(method, parameter, nobody))
		if want := strings.ReplaceAll(unknown.Body.String(), nobody, name); got.Body.String() != want || !strings.Contains(want, "-32602") {
			t.Errorf("answered with %s, an unknown name with %s", got.Body, unknown.Body)
		}
		return succeeds(got)
	case in.Mapping["roles"] != nil:
		g := newTenantGateway(t, "", tenant+"policy {\nroles_claim roles\ntool catalog_get {\nroles 4\n}\n}\n")
		return succeeds(g.send(t, "Bearer "+g.token(t, in.Mapping, in.Claims), call("tools/call", "name", "catalog_get")))
	}
	if in.RequireTenant != nil && !*in.RequireTenant {
		tenant = ""
	}
	g := newTenantGateway(t, "", tenant+tools)
	w := g.send(t, "Bearer "+g.token(t, in.Mapping, in.Claims), call("tools/call", "name", "catalog_get"))
	if !succeeds(w) {
		if g.told != nil {
			t.Error("the request went on")
		}
		return false
	}
	wantSubject, wantTenant := fmt.Sprint(in.Mapping["id"]), ""
	if tenant != "" {
		wantTenant = fmt.Sprint(in.Mapping["tenantId"])
	}
	if g.told.Get("X-Mcp-App-Subject") != wantSubject || g.told.Get("X-Mcp-App-Tenant") != wantTenant || len(g.told["X-Mcp-App-Tenant"]) > 1 {
		t.Errorf("%s: the server is told %v", c.Name, g.told)
	}
	for name := range g.told {
		if strings.Contains(strings.ToLower(name), "cross") {
			t.Errorf("the server is told %s", name)
		}
	}
	return true
}
