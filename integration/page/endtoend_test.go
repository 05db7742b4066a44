package page

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/links"
)

// TestALinkOpensItsPlace: what somebody clicks is what the page shows, by way of
// the gateway's opener, the host, the client, the gateway and the server; and what
// is another tenant's stays closed. The gateway puts the client into the home page,
// and the tray brings it.
func TestALinkOpensItsPlace(t *testing.T) {
	running, err := stack.Start(t.Context(), stack.Config{Caddyfile: []byte(testdata("gateway.caddyfile"))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Errorf("closing the stack: %v", err)
		}
	})
	session := connect(t, running, "acme")

	h := newHost(t)
	for _, name := range []string{"home", "tray"} {
		h.pages[name] = served(t, session, "ui://workspace/"+name)
	}
	h.mux.HandleFunc("POST /tools", func(w http.ResponseWriter, r *http.Request) {
		params := decode[mcp.CallToolParams](r)
		result, err := session.CallTool(r.Context(), &params)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result)
	})
	places := url.Values{"own": {followed(t, running, "/decks/rocket-skates")}, "foreign": {followed(t, running, "/decks/hammock-district")}}
	h.run(t, "endtoend&"+places.Encode())

	for _, call := range running.Workspace.Calls() {
		if call.Tool == "workspace.navigate" && call.Tenant != "acme" {
			t.Errorf("the server navigated for %q", call.Tenant)
		}
	}
}

// connect opens a session at the gateway for somebody of a tenant.
func connect(t *testing.T, s *stack.Stack, tenant string) *mcp.ClientSession {
	t.Helper()
	token, err := s.Issuer.Issue(issuer.Grant{
		Subject: "ann@" + tenant, Audience: []string{s.URL(tenant)}, Claims: map[string]any{"org_id": tenant},
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := s.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "synthetic host", Version: "1.0.0"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.URL(tenant), HTTPClient: &http.Client{Transport: bearer{token, transport}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the stack ends with the test anyway
	return session
}

type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// served reads a page as a host does and adds the probe, so that the test can see
// what becomes of it.
func served(t *testing.T, session *mcp.ClientSession, uri string) string {
	t.Helper()
	read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(read.Contents[0].Text, "</body>", "<script>"+testdata("apps/probe.js")+"</script></body>", 1)
}

// followed clicks on a link to a place, as it stands in a mail, and returns what
// a host hands to the page that the link leads to.
func followed(t *testing.T, s *stack.Stack, place string) string {
	t.Helper()
	transport := s.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	address := strings.TrimSuffix(s.URL("acme"), "/mcp") + "/open/workspace.home?" + url.Values{"platform": {"web"}, "path": {place}}.Encode()
	answer, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	link, err := links.ParseAppLink(answer.Header.Get("Location"))
	if err != nil {
		t.Fatalf("%s answers %s and leads to %q: %v", address, answer.Status, answer.Header.Get("Location"), err)
	}
	return string(link.Path)
}
