package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// What the server is told of the revision follows each request, and is nothing
// where the client said nothing (agentgateway 2948, toolhive 1568).
func TestTheServerHearsTheRevisionOfEachRequest(t *testing.T) {
	server := record(answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json"}, listing))
	g := startBefore(t, server, endpoint(allTools))
	c := g.bearer(t, viewer("acme"))
	for _, version := range []string{"", "2025-03-26", "2025-06-18", legacy} {
		server.forget()
		header := http.Header{"Mcp-Protocol-Version": {version}}
		if version == "" {
			header = nil
		}
		wantStatus(t, version, c.post(t, pingBody, header), http.StatusOK)
		for _, seen := range server.seen() {
			if got := strings.Join(seen.header["Mcp-Protocol-Version"], "|"); got != version || version == "" && len(seen.header["Mcp-Protocol-Version"]) > 0 {
				t.Errorf("%q: the server saw %q", version, got)
			}
		}
	}
	server.forget()
	m := g.caller(t, modern, viewer("acme"))
	wantStatus(t, modern, m.call(t, "tools/list", "", nil), http.StatusOK)
	for _, seen := range server.seen() {
		if got := seen.header.Get("Mcp-Protocol-Version"); got != modern {
			t.Errorf("%s: the server saw %q", modern, got)
		}
	}
}

// Mirrored headers mean nothing before the revision that has them: they are
// neither compared nor trusted (agentgateway 3439, OWASP AISVS 823).
func TestMirroredHeadersMeanNothingInOldRevisions(t *testing.T) {
	server := record(answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json"}, listing))
	g := startBefore(t, server, endpoint("policy {\n\ttool shown\n}"))
	c := g.bearer(t, viewer("acme"))
	wantStatus(t, "odd headers", c.post(t, pingBody, http.Header{"Mcp-Method": {"server/discover"}, "Mcp-Name": {"=?base64?x"}}), http.StatusOK)
	server.forget()
	c.post(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"secret","arguments":{}}}`, http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"shown"}})
	for _, seen := range server.seen() {
		if strings.Contains(seen.body, "secret") {
			t.Errorf("a header opened a hidden tool: %s", seen)
		}
	}
	a := c.call(t, "server/discover", "", nil)
	if a.code() != "-32601" {
		t.Errorf("server/discover in an old revision: %s", a)
	}
}

// A server without a stream says 405, and clients go on without; anything else
// in its place would break them (nutrition-mcp 31, prompts.chat 1117).
func TestAServerWithoutAStreamSaysSo(t *testing.T) {
	server := answerWith(http.StatusMethodNotAllowed, map[string]string{"Content-Type": "text/plain", "Allow": "POST"}, "Method Not Allowed\n")
	g := startBefore(t, server, endpoint(allTools))
	c := g.bearer(t, viewer("acme"))
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		a := c.send(t, method, c.url, "", nil)
		if a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "POST" || string(a.body) != "Method Not Allowed\n" {
			t.Errorf("%s: %d, %v, %s", method, a.status, a.header, a)
		}
	}
}

// Handlers around and behind the gateway must not hold a stream back, whatever
// they wrap its writer in (durable-streams 252, caddy 7159, 677, 7905).
func TestStreamsLeaveAtOnceAmongOtherHandlers(t *testing.T) {
	const proxy = "reverse_proxy {$WORKSPACE}\n"
	middleware := "mcp_app /mcp {\n" + secured + allTools + "}\n"
	for name, body := range map[string]string{
		"behind forward_auth": "forward_auth {$WORKSPACE} {\n\turi /check\n}\n" + endpoint(allTools),
		"encode behind it":    "route {\n" + middleware + "encode gzip zstd\n" + proxy + "}\n",
		"encode around it":    "route {\nencode gzip zstd\n" + middleware + proxy + "}\n",
		"headers around it":   "log\nheader >X-Site yes\nroute {\n" + middleware + proxy + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			gone := make(chan struct{})
			stream := silentStream(nil, gone)
			server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/check" {
					w.WriteHeader(http.StatusOK)
					return
				}
				stream.ServeHTTP(w, r)
			})
			g := startBefore(t, server, body)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			response := g.bearer(t, viewer("acme")).get(ctx, t, http.Header{"Accept-Encoding": {"gzip"}})
			if response.StatusCode != http.StatusOK {
				t.Errorf("status %d", response.StatusCode)
			}
			cancel()
			happens(t, "the server learns that the client has gone", gone)
		})
	}
}

// Trailers of a client end at the gateway in front of the site's own proxy too,
// which would pass them on.
func TestClientTrailersEndAtTheMiddleware(t *testing.T) {
	server := pong()
	g := startBefore(t, server, "mcp_app /mcp {\n"+secured+allTools+"}\nreverse_proxy {$WORKSPACE}\n")
	c := g.bearer(t, viewer("acme"))
	r := c.request(t, http.MethodPost, c.url, pingBody, nil)
	r.ContentLength = -1 // chunked
	r.Trailer = http.Header{"X-Mcp-App-Tenant": {"globex"}, "X-Other": {"1"}}
	response, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, "with trailers", readAnswer(t, response), http.StatusOK)
	for _, seen := range server.seen() {
		if len(seen.trailer) != 0 || seen.header.Get("Trailer") != "" {
			t.Errorf("the server saw the trailers %v, %v", seen.trailer, seen.header["Trailer"])
		}
	}
}

// Replicas keep nothing of a session in memory: what one handed out, the other
// takes, since they share the sealing keys (agentgateway 754, 573,
// mcp-gateway-registry 960).
func TestReplicasTakeEachOthersSessions(t *testing.T) {
	server := record(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Mcp-Session-Id", "theirs")
		answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json"}, `{"jsonrpc":"2.0","id":7,"result":{}}`).ServeHTTP(w, r)
	}))
	const key = "seal_keys AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	caddyfile := site(endpoint(allTools + key))
	g := start(t, stackWith(caddyfile, server))
	c := g.bearer(t, viewer("acme"))
	id := c.post(t, initializeBody, nil).header.Get("Mcp-Session-Id")
	if id == "" || id == "theirs" {
		t.Fatalf("session %q", id)
	}
	// Another process would start as a configuration does: with nothing.
	if err := g.reload(t, site(endpoint(allTools+key+"limits {\n\ttools 10\n}"))); err != nil {
		t.Fatal(err)
	}
	server.forget()
	wantStatus(t, "at the other replica", c.post(t, pingBody, http.Header{"Mcp-Session-Id": {id}, "Mcp-Protocol-Version": {legacy}}), http.StatusOK)
	for _, seen := range server.seen() {
		if got := seen.header.Get("Mcp-Session-Id"); got != "theirs" {
			t.Errorf("the server saw the session %q", got)
		}
	}
	// Who shares no keys shares no sessions.
	if err := g.reload(t, site(endpoint(allTools+strings.Replace(key, "AAAA", "BBBB", 1)))); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, "at a stranger", c.post(t, pingBody, http.Header{"Mcp-Session-Id": {id}, "Mcp-Protocol-Version": {legacy}}), http.StatusNotFound)
}
