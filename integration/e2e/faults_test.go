package e2e

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/freeport"
)

// answers is a server whose answer the test sets before each request.
type answers struct{ next http.HandlerFunc }

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // what was sent does not matter
	a.next(w, r)
}

// withTools is the endpoint of a policy that shows one tool.
var withTools = endpoint("policy {\n\ttool shown\n}\nlimits {\n\tmessage 64KiB\n\tevent 16KiB\n}")

// listing is an answer to tools/list with a visible and a hidden tool.
const listing = `{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"shown","inputSchema":{}},{"name":"secret","inputSchema":{}}]}}`

// wantFailure checks that an answer is the gateway's own error for request 7.
func wantFailure(t *testing.T, what string, a *answer, status int) {
	t.Helper()
	if a.status != status || a.code() != "-32603" || string(a.message.Get("id")) != "7" {
		t.Errorf("%s: %d %s, want %d with error -32603 and id 7", what, a.status, a, status)
	}
}

func TestAServerThatIsDownIsABadGateway(t *testing.T) {
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, stackFor(site(strings.Replace(endpoint(allTools), "{$WORKSPACE}", address, 1))))
	c := g.bearer(t, viewer("acme"))
	a := c.post(t, pingBody, nil)
	wantFailure(t, "legacy", a, http.StatusBadGateway)
	if strings.Contains(string(a.body), address) || strings.Contains(string(a.body), "refused") {
		t.Errorf("the answer gives the inside away: %s", a)
	}
	if !strings.Contains(g.log(t), "connection refused") {
		t.Error("the log does not say why")
	}
	c.era = modern
	c.open(t)
	for _, method := range []string{"server/discover", "tools/list"} {
		wantFailure(t, method, c.call(t, method, "", nil), http.StatusBadGateway)
	}
}

// Nothing has been sent yet when a JSON answer breaks off, so that the client
// can still be told.
func TestAnAnswerThatBreaksOffIsABadGateway(t *testing.T) {
	server := &answers{}
	g := startBefore(t, server, withTools)
	for name, declare := range map[string]string{"with a length": "500", "chunked": ""} {
		server.next = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if declare != "" {
				w.Header().Set("Content-Length", declare)
			}
			_, _ = io.WriteString(w, listing[:40])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		c := g.bearer(t, viewer("acme"))
		response, err := g.client.Do(c.request(t, http.MethodPost, c.url, pingBody, nil))
		if err != nil {
			t.Errorf("%s: the client gets no answer: %v", name, err)
			continue
		}
		wantFailure(t, name, readAnswer(t, response), http.StatusBadGateway)
	}
}

// A stream that breaks off must look broken, not complete, and no half event
// may come through.
func TestAStreamThatBreaksOffIsCutBetweenEvents(t *testing.T) {
	server := &answers{}
	g := startBefore(t, server, withTools)
	server.next = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\ndata: "+listing[:60])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	c := g.bearer(t, viewer("acme"))
	response, err := g.client.Do(c.request(t, http.MethodPost, c.url, pingBody, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil {
		t.Errorf("the stream ends as if it were complete: %q", body)
	}
	if !strings.HasSuffix(string(body), "\n\n") || !strings.Contains(string(body), "notifications/progress") || strings.Contains(string(body), `"tools"`) {
		t.Errorf("the client got %q, want the whole event and nothing of the broken one", body)
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWhatAClientCouldTakeForAListIsFilteredOrWithheld(t *testing.T) {
	server := &answers{}
	g := startBefore(t, server, withTools)
	c := g.bearer(t, viewer("acme"))
	event := "data: " + listing + "\n\n"
	for _, tt := range []struct {
		name, contentType, encoding string
		status                      int
		body                        string
		filtered                    bool // otherwise withheld
	}{
		{"JSON", "application/json", "", 200, listing, true},
		{"JSON with a charset", "application/json; charset=utf-8", "", 200, listing, true},
		{"JSON as text", "text/plain", "", 200, listing, true},
		{"JSON as HTML", "text/html", "", 200, listing, true},
		{"JSON of no type", "", "", 200, listing, true},
		{"JSON as bytes", "application/octet-stream", "", 200, listing, true},
		{"JSON, created", "application/json", "", 201, listing, true},
		{"JSON, accepted", "application/json", "", 202, listing, true},
		{"JSON, refused", "application/json", "", 400, listing, true},
		{"JSON, failed", "application/json", "", 500, listing, true},
		{"JSON with blanks", "application/json", "", 200, "\r\n \t" + listing + "\n", true},
		{"another id", "application/json", "", 200, strings.Replace(listing, `"id":7`, `"id":8`, 1), true},
		{"identity", "application/json", "identity", 200, listing, true},
		{"stream", "text/event-stream", "", 200, event, true},
		{"stream with parameters", "Text/Event-Stream; charset=utf-8", "", 200, event, true},
		{"stream, accepted", "text/event-stream", "", 202, event, true},
		{"stream with CRLF", "text/event-stream", "", 200, strings.ReplaceAll(event, "\n", "\r\n"), true},
		{"stream with CR", "text/event-stream", "", 200, strings.ReplaceAll(event, "\n", "\r"), true},
		{"stream with a byte order mark", "text/event-stream", "", 200, "\ufeff" + event, true},
		{"stream in two data lines", "text/event-stream", "", 200, strings.Replace(event, `"result"`, "\ndata: \"result\"", 1), true},
		{"stream behind a notification", "text/event-stream", "", 200, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n: comment\n\n" + event, true},
		{"stream of another event type", "text/event-stream", "", 200, "event: result\n" + event, true},
		{"stream without its blank line", "text/event-stream", "", 200, strings.TrimSuffix(event, "\n\n"), true},
		{"the transport of 2024-11-05", "text/event-stream", "", 200, "event: endpoint\ndata: /messages?session=secret\n\n" + event, false},
		{"gzip", "application/json", "gzip", 200, gzipped(t, listing), false},
		{"claimed gzip", "application/json", "gzip", 200, listing, false},
		{"gzip stream", "text/event-stream", "gzip", 200, gzipped(t, event), false},
		{"batch", "application/json", "", 200, "[" + listing + "]", false},
		{"batch in a stream", "text/event-stream", "", 200, "data: [" + listing + "]\n\n", false},
		{"two messages", "application/json", "", 200, listing + listing, false},
		{"trailing text", "application/json", "", 200, listing + "x", false},
		{"cut short", "application/json", "", 200, listing[:len(listing)-1], false},
		{"byte order mark", "application/json", "", 200, "\ufeff" + listing, false},
		{"stream as JSON", "application/json", "", 200, event, false},
		{"stream as text", "text/plain", "", 200, event, false},
		{"HTML around it", "text/html", "", 200, "<html><pre>" + listing + "</pre></html>", false},
		{"JSON behind a guard", "application/json", "", 200, ")]}'\n" + listing, false},
		{"result in another case", "application/json", "", 200, strings.Replace(listing, `"result"`, `"Result"`, 1), false},
		{"tools in another case", "application/json", "", 200, strings.Replace(listing, `"tools"`, `"Tools"`, 1), false},
		{"tools as an object", "application/json", "", 200, `{"jsonrpc":"2.0","id":7,"result":{"tools":{"0":{"name":"secret"}}}}`, false},
		{"repeated tools", "application/json", "", 200, `{"jsonrpc":"2.0","id":7,"result":{"tools":[],"tools":[{"name":"secret"}]}}`, false},
		{"too large", "application/json", "", 200, strings.Replace(listing, `"inputSchema":{}`, `"description":"`+strings.Repeat("a", 70<<10)+`"`, 1), false},
		{"too large an event", "text/event-stream", "", 200, "data: " + strings.Repeat("a", 20<<10) + "\ndata: secret\n\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server.next = func(w http.ResponseWriter, _ *http.Request) {
				if w.Header()["Content-Type"] = []string{tt.contentType}; tt.contentType == "" {
					w.Header()["Content-Type"] = nil
				}
				if tt.encoding != "" {
					w.Header().Set("Content-Encoding", tt.encoding)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}
			a := c.post(t, pingBody, http.Header{"Accept-Encoding": {"identity"}})
			if strings.Contains(string(a.body), "secret") {
				t.Errorf("the hidden tool came through: %s", a)
			}
			if tt.filtered {
				if a.status != tt.status || !strings.Contains(string(a.body), `"shown"`) {
					t.Errorf("%d %s, want status %d and the visible tool", a.status, a, tt.status)
				}
				return
			}
			status := http.StatusBadGateway
			if tt.encoding == "" && strings.Contains(tt.contentType, "event-stream") {
				status = http.StatusOK // its headers have left
			}
			wantFailure(t, tt.name, a, status)
		})
	}
}

func TestOtherAnswersPassAsTheyAre(t *testing.T) {
	server := &answers{}
	g := startBefore(t, server, withTools)
	c := g.bearer(t, viewer("acme"))
	for _, tt := range []struct {
		name, contentType string
		status            int
		body              string
	}{
		{"method not allowed", "text/plain; charset=utf-8", 405, "Method not allowed\n"},
		{"session gone", "text/plain; charset=utf-8", 404, "session not found\n"},
		{"error page", "text/html", 500, "<html><script>{}</script></html>"},
		{"accepted", "", 202, ""},
		{"no content", "", 204, ""},
		{"error with odd numbers", "application/json", 400, `{"error":{"message":"x","code":-32600},"id":7.0 , "jsonrpc":"2.0","x":9007199254740993}`},
		{"a future result", "application/json", 200, `{"jsonrpc":"2.0","id":7,"result":{"resultType":"task","x":[1.0,2e3],"y":"<&>\u003c"}}`},
	} {
		server.next = answerWith(tt.status, map[string]string{"Content-Type": tt.contentType, "X-Server": "1"}, tt.body).ServeHTTP
		a := c.post(t, pingBody, nil)
		if a.status != tt.status || string(a.body) != tt.body || a.header.Get("X-Server") != "1" || a.header.Get("Content-Type") != tt.contentType {
			t.Errorf("%s: %d %v %s", tt.name, a.status, a.header, a)
		}
	}
}
