package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// An answer over a limit is an error with the request's id that names the limit,
// and the session goes on (codebase-memory-mcp 1375, agentgateway 3578).
func TestEveryLimitOfAnswersIsNamedInItsError(t *testing.T) {
	server := &answers{}
	g := startBefore(t, server, endpoint("policy {\n\ttool *\n}\nlimits {\n\tmessage 64KiB\n\tevent 16KiB\n\tdepth 20\n}"))
	c := g.bearer(t, viewer("acme"))
	deep := `{"jsonrpc":"2.0","id":7,"result":{"x":` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `}}`
	large := `{"jsonrpc":"2.0","id":7,"result":{"x":"` + strings.Repeat("a", 70<<10) + `"}}`
	for _, tt := range []struct {
		limit, contentType, body string
		status                   int
	}{
		{"limits.message, 65536 bytes", "application/json", large, http.StatusBadGateway},
		{"limits.event, 16384 bytes", "text/event-stream", "data: " + large + "\n\n", http.StatusOK},
		{"limits.depth, 20 levels", "application/json", deep, http.StatusBadGateway},
		{"limits.depth, 20 levels", "text/event-stream", "data: " + deep + "\n\n", http.StatusOK},
	} {
		server.next = answerWith(http.StatusOK, map[string]string{"Content-Type": tt.contentType}, tt.body).ServeHTTP
		a := c.post(t, pingBody, nil)
		wantFailure(t, tt.limit, a, tt.status)
		if !strings.Contains(string(a.body), tt.limit) {
			t.Errorf("%s, %s: the error does not name the limit: %s", tt.contentType, tt.limit, a)
		}
		server.next = answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json"}, listing).ServeHTTP
		wantStatus(t, "afterwards", c.post(t, pingBody, nil), http.StatusOK)
	}
	tooDeep := `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `}}`
	a := c.post(t, tooDeep, nil)
	wantStatus(t, "a deep request", a, http.StatusBadRequest)
	if a.code() != "-32600" || !strings.Contains(string(a.body), "20 levels") {
		t.Errorf("a deep request: %s", a)
	}
}

// A call of 1 MB and a reply of 5 MB go through as they are (Kuadrant 1278), on
// both framings.
func TestLargeCallsAndRepliesKeepTheirBytes(t *testing.T) {
	server := &answers{}
	recorded := record(server)
	g := startBefore(t, recorded, endpoint("policy {\n\ttool shown\n}\nlimits {\n\tevent 8MiB\n}"))
	c := g.bearer(t, viewer("acme"))
	reply := `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"` + strings.Repeat("é{\\u00e9", 5<<20/10) + `"}]}}`
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"shown","arguments":{"x":"` + strings.Repeat("a", 1<<20) + `"}}}`
	for contentType, body := range map[string]string{"application/json": reply, "text/event-stream": "data: " + reply + "\n\n"} {
		recorded.forget()
		server.next = answerWith(http.StatusOK, map[string]string{"Content-Type": contentType}, body).ServeHTTP
		a := c.post(t, call, nil)
		if a.status != http.StatusOK || string(a.body) != body {
			t.Errorf("%s: status %d, %d bytes, want the %d of the server", contentType, a.status, len(a.body), len(body))
		}
		if seen := recorded.seen(); len(seen) != 1 || seen[0].body != call {
			t.Errorf("%s: the server saw another call", contentType)
		}
	}
}

// A catalog over its limit is none: what depends on it is withheld, the log says
// why, and everything else goes on.
func TestACatalogOverTheLimitWithholdsWhatDependsOnIt(t *testing.T) {
	g := start(t, stackFor(example(t, "links {", "limits {\n\t\t\ttools 2\n\t\t}\n\t\tlinks {")))
	for _, era := range eras {
		a := g.caller(t, era, editor("acme")).handshake(t)
		if a.status != http.StatusOK || !a.message.Get("result", "capabilities").Exists() {
			t.Errorf("%s: %s", era, a)
		}
		if strings.Contains(string(a.body), "openai/settings") {
			t.Errorf("%s: settings are advertised without a catalog: %s", era, a)
		}
	}
	if log := g.log(t); !strings.Contains(log, "catalog could not be had") || !strings.Contains(log, "2 tools") {
		t.Errorf("the log does not name the limit: %s", log)
	}
}

// Clients may keep a list for as long as the operator says, and no longer.
func TestListsAreKeptNoLongerThanTheOperatorSays(t *testing.T) {
	server := &answers{}
	g := startBefore(t, server, endpoint(allTools+"limits {\n\tlist_ttl 5s\n}"))
	c := g.caller(t, modern, viewer("acme"))
	for ttl, want := range map[string]string{`,"ttlMs":3600000`: "5000", `,"ttlMs":1000`: "1000", ``: "0", `,"ttlMs":-1`: "0"} {
		server.next = answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json"}, `{"jsonrpc":"2.0","id":7,"result":{"tools":[]`+ttl+`}}`).ServeHTTP
		if a := c.call(t, "tools/list", "", nil); string(a.message.Get("result", "ttlMs")) != want {
			t.Errorf("%q: %s, want ttlMs %s", ttl, a, want)
		}
	}
}
