package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/tunnelcheck"
)

const tunnelAddress = "http://127.0.0.1:{$GATEWAY_PORT}"

func (g *gateway) tunnel(header http.Header) *tunnelcheck.Client {
	return &tunnelcheck.Client{Target: fmt.Sprintf("http://127.0.0.1:%d/mcp", g.Port), Header: header, HTTP: g.client}
}

func TestTheTunnelClientIsServedWithLogins(t *testing.T) {
	const audience = "https://tunnel.example.com/mcp"
	g := start(t, stackFor(siteAt(tunnelAddress, "mcp_app /mcp {$WORKSPACE} {\nresource https://mcp.example.com/mcp\n"+
		strings.Replace(auth, "scopes", "audience https://mcp.example.com/mcp "+audience+"\n\tscopes", 1)+allTools+"}\n")))
	c := g.tunnel(http.Header{"authorization": {"Bearer static"}, "X-Static": {"1"}})
	ready, err := g.tunnel(nil).Start(t.Context())
	if problems := ready.Check(true); err != nil || len(problems) != 0 || ready.Document["resource"] != "https://mcp.example.com/mcp" {
		t.Fatalf("%+v, %q, %v", ready, problems, err)
	}
	grant := g.grant(editor("acme"))
	grant.Audience = []string{audience}
	header := http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}}
	begun, err := c.Command(t.Context(), []byte(initializeBody), header)
	if err != nil || begun.Status != http.StatusOK || begun.Header.Get("Mcp-Session-Id") == "" || begun.Header.Get("Cache-Control") != "" {
		t.Fatalf("initialize: %+v, %v", begun, err)
	}
	header.Set("Mcp-Session-Id", begun.Header.Get("Mcp-Session-Id"))
	header.Set("Mcp-Protocol-Version", legacy)
	listed, err := c.Command(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), header)
	if err != nil || listed.Status != http.StatusOK || listed.Header.Get("Content-Type") != "application/json" || !bytes.Contains(listed.Body, []byte("list_decks")) {
		t.Errorf("tools/list: %+v, %v", listed, err)
	}
	grant.Audience = []string{"https://other.example.com/mcp"}
	header.Set("Authorization", "Bearer "+g.issue(t, grant))
	if refused, err := c.Command(t.Context(), []byte(initializeBody), header); err != nil || refused.Status != http.StatusUnauthorized || refused.Header.Get("Www-Authenticate") == "" {
		t.Errorf("another audience: %+v, %v", refused, err)
	}
}

func TestTheTunnelClientIsServedWithoutLogins(t *testing.T) {
	g := start(t, stackFor(siteAt(tunnelAddress, "mcp_app /mcp {$WORKSPACE} {\nauth {\n\tmode none\n}\n"+allTools+"}\n")))
	ready, err := g.tunnel(nil).Start(t.Context())
	if problems := ready.Check(false); err != nil || len(problems) != 0 {
		t.Errorf("%+v, %q, %v", ready, problems, err)
	}
	if len(ready.Check(true)) == 0 {
		t.Error("an endpoint without logins is taken for one with them")
	}
}

// talkative is a server that answers a call on a stream which it keeps open, after
// a notification and with headers of its own.
func talkative(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	for _, name := range []string{"Set-Cookie", "X-Server", "Mcp-Server-Version"} {
		w.Header().Set(name, "1")
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", rawjson.Value(body).Get("id"))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// Through the gateway the tunnel client gets its answer from a stream that does
// not end, no header beyond those it lets through, and a JSON-RPC error where a
// header of the connector is too large for anybody.
func TestTheTunnelClientGetsItsAnswerFromAnOpenStream(t *testing.T) {
	g := start(t, stackWith(siteAt(tunnelAddress, "mcp_app /mcp {$WORKSPACE} {\nauth {\n\tmode none\n}\n"+allTools+"}\n"), http.HandlerFunc(talkative)))
	c := g.tunnel(nil)
	const call = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"search","arguments":{}}}`
	answer, err := c.Command(t.Context(), []byte(call), http.Header{"Mcp-Protocol-Version": {legacy}})
	if err != nil || answer.Status != http.StatusOK || len(answer.Notifications) != 1 || !bytes.Contains(answer.Body, []byte(`"id":"a"`)) {
		t.Fatalf("%+v, %v", answer, err)
	}
	if len(answer.Header) != 1 || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", answer.Header)
	}
	for size, want := range map[int]int{8 << 10: http.StatusOK, 2 << 20: http.StatusRequestHeaderFieldsTooLarge} {
		answer, err := c.Command(t.Context(), []byte(call), http.Header{"Mcp-Protocol-Version": {legacy}, "Authorization": {"Bearer " + strings.Repeat("a", size)}})
		switch {
		case err != nil && want == http.StatusOK: // Caddy may hang up while a large one is still being sent
			t.Errorf("a header of %d bytes: %v", size, err)
		case err == nil && (answer.Status != want || bytes.Contains(answer.Body, []byte("tunnel_failure")) == (want == http.StatusOK)):
			t.Errorf("a header of %d bytes: %d %s", size, answer.Status, answer.Body)
		}
	}
}

// Pages beside an endpoint for this machine are the site's own business.
func TestPagesBesideAnEndpointWithoutLoginsAreServed(t *testing.T) {
	g := start(t, stackFor(siteAt(tunnelAddress, "mcp_app /mcp {$WORKSPACE} {\nauth {\n\tmode none\n}\n"+allTools+"}\nrespond /page hello\n")))
	c := &caller{g.client, fmt.Sprintf("http://127.0.0.1:%d", g.Port), legacy, http.Header{}}
	from := http.Header{"X-Forwarded-For": {"203.0.113.7"}, "Origin": {"https://elsewhere.example"}, "Sec-Fetch-Site": {"cross-site"}}
	if a := c.send(t, http.MethodGet, c.url+"/page", "", from); a.status != http.StatusOK || string(a.body) != "hello" {
		t.Errorf("the page: %s", a)
	}
	wantStatus(t, "the endpoint", c.send(t, http.MethodPost, c.url+"/mcp", initializeBody, from), http.StatusForbidden)
}
