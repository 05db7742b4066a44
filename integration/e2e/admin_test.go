package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/freeport"
)

// A page in the operator's browser reaches the admin endpoint on loopback. It
// must change and learn nothing there, under whatever name it found the way.
func TestPagesInABrowserCannotUseTheAdminAPI(t *testing.T) {
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, stackWith(bytes.Replace(site(endpoint(allTools)), []byte("admin off"), []byte("admin "+address), 1), pong()))
	client := &http.Client{Transport: new(http.Transport)}
	t.Cleanup(client.CloseIdleConnections)
	const revocation = `{"tenant":"acme"}`
	ask := func(method, path, body string, header http.Header) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header.Clone()
		if host := r.Header.Get("Host"); host != "" {
			r.Host = host
			r.Header.Del("Host")
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return readAnswer(t, response).status
	}
	asJSON := http.Header{"Content-Type": {"application/json"}}
	for name, tt := range map[string]struct {
		method, path, body string
		header             http.Header
	}{
		"a name that was made to point here": {"GET", "/mcp_app/endpoints", "", http.Header{"Host": {"evil.example"}}},
		"such a name with the port":          {"POST", "/mcp_app/revocations", revocation, http.Header{"Host": {"evil.example:2019"}, "Content-Type": {"application/json"}}},
		"a foreign page":                     {"POST", "/mcp_app/revocations", revocation, http.Header{"Origin": {"https://evil.example"}, "Content-Type": {"application/json"}}},
		"a page without an origin":           {"POST", "/mcp_app/revocations", revocation, http.Header{"Origin": {"null"}, "Content-Type": {"application/json"}}},
		"a form":                             {"POST", "/mcp_app/revocations", revocation, http.Header{"Content-Type": {"text/plain"}}},
		"a form of another kind":             {"POST", "/mcp_app/revocations", revocation, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}},
		"no type at all":                     {"POST", "/mcp_app/registrations", `{"endpoint":"/mcp","tools":["*"]}`, http.Header{}},
		"a link that does something":         {"GET", "/mcp_app/revocations?tenant=acme&method=POST", "", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}},
		"a question first":                   {"OPTIONS", "/mcp_app/revocations", "", http.Header{"Origin": {"https://evil.example"}, "Access-Control-Request-Method": {"POST"}}},
	} {
		if status := ask(tt.method, tt.path, tt.body, tt.header); status < 400 {
			t.Errorf("%s: status %d", name, status)
		}
	}
	wantStatus(t, "ping", g.bearer(t, viewer("acme")).post(t, pingBody, nil), http.StatusOK)
	if status := ask("POST", "/mcp_app/revocations", revocation, asJSON); status != http.StatusCreated {
		t.Errorf("the operator's own request: status %d", status)
	}
	wantStatus(t, "ping of whom the operator has shut out", g.bearer(t, viewer("acme")).post(t, pingBody, nil), http.StatusUnauthorized)
}
