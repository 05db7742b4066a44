package tunnelcheck

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// serve plays a target at /mcp.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &Client{Target: server.URL + "/mcp"}
}

func write(w http.ResponseWriter, status int, kind, body string) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

const (
	inPath = "/.well-known/oauth-protected-resource/mcp"
	inRoot = "/.well-known/oauth-protected-resource"

	call     = `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`
	result   = `{"jsonrpc":"2.0","id":7,"result":{}}`
	document = `{"resource":"https://mcp.example/mcp","authorization_servers":["https://login.example"]}`
)

// The document of the path is asked for first, then that of the root. Nothing at
// both means no logins; a failure means not ready.
func TestDocumentsAreLookedForAsTheClientDoes(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w, 200, "application/json", document) }))
	t.Cleanup(elsewhere.Close)
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	status := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { write(w, status, "application/json", body) }
	}
	for name, tt := range map[string]struct {
		path, root http.HandlerFunc
		found      string // address of the document
		fails      bool
	}{
		"in the path":                 {status(200, document), status(200, `{"resource":"other"}`), inPath, false},
		"in the root":                 {status(404, ""), status(200, document), inRoot, false},
		"in the root after a fault":   {status(503, ""), status(200, document), inRoot, false},
		"nowhere":                     {status(404, ""), status(404, ""), "", false},
		"a fault and nothing":         {status(502, ""), status(404, ""), "", true},
		"nothing and a fault":         {status(404, ""), status(500, ""), "", true},
		"needs a login":               {status(401, ""), status(200, document), "", true},
		"no JSON":                     {status(200, "<html>"), status(200, document), "", true},
		"a list":                      {status(200, "[]"), status(200, document), "", true},
		"null":                        {status(200, "null"), status(200, document), "", true},
		"too large":                   {status(200, `{"a":"`+strings.Repeat("a", maxDocument)+`"}`), status(200, document), "", true},
		"moved within the origin":     {redirect(inRoot), status(200, document), inPath, false},
		"moved to another origin":     {redirect(elsewhere.URL), status(200, document), "", true},
		"moved in circles":            {redirect(inPath), status(200, document), "", true},
		"moved within, then far away": {redirect(inRoot), redirect(elsewhere.URL), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var static []string
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/mcp" && r.Header.Get("X-Static") != "" {
					static = append(static, r.URL.Path)
				}
				switch r.URL.Path {
				case "/mcp":
					write(w, 200, "application/json", `{"jsonrpc":"2.0","id":0,"result":{}}`)
				case inPath:
					tt.path(w, r)
				case inRoot:
					tt.root(w, r)
				}
			})
			c.Header = http.Header{"X-Static": {"1"}}
			ready, err := c.Start(t.Context())
			if (err != nil) != tt.fails || tt.found != "" && ready.Metadata != strings.TrimSuffix(c.Target, "/mcp")+tt.found || tt.found == "" && ready.Metadata != "" {
				t.Errorf("%+v, %v", ready, err)
			}
			if len(static) > 0 {
				t.Errorf("static header lines were sent to %q", static)
			}
		})
	}
}

func TestWhatAnEndpointLacksIsSaid(t *testing.T) {
	good := Ready{401, `Bearer resource_metadata="https://a.example"`, "https://a.example", map[string]any{"authorization_servers": []any{"https://login.example"}}}
	with := func(change func(*Ready)) Ready {
		r := good
		change(&r)
		return r
	}
	for name, tt := range map[string]struct {
		ready  Ready
		logins bool
		want   string // "" for nothing
	}{
		"good":                      {good, true, ""},
		"open to everybody":         {with(func(r *Ready) { r.Initialize, r.Challenge = 200, "" }), true, ""},
		"fails":                     {with(func(r *Ready) { r.Initialize = 500 }), true, "answered 500"},
		"no address in it":          {with(func(r *Ready) { r.Challenge = "Bearer" }), true, "resource_metadata"},
		"no document":               {with(func(r *Ready) { r.Metadata, r.Document = "", nil }), true, "neither address"},
		"no server in it":           {with(func(r *Ready) { r.Document = map[string]any{} }), true, "no authorization server"},
		"the first server is empty": {with(func(r *Ready) { r.Document = map[string]any{"authorization_servers": []any{"", "https://b.example"}} }), true, "no authorization server"},
		"without logins":            {Ready{Initialize: 200}, false, ""},
		"a document without logins": {Ready{Initialize: 200, Metadata: "https://a.example"}, false, "although nobody"},
		"a login without logins":    {Ready{Initialize: 401}, false, "not 200"},
	} {
		problems := tt.ready.Check(tt.logins)
		if tt.want == "" && len(problems) > 0 || tt.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], tt.want)) {
			t.Errorf("%s: %q, want %q", name, problems, tt.want)
		}
	}
}

// The connector's lines win over those of the profile however they are written,
// and the target is called by its own name.
func TestTheConnectorsHeadersReplaceThoseOfTheProfile(t *testing.T) {
	var got *http.Request
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		write(w, 200, "application/json", result)
	})
	c.Header = http.Header{"authorization": {"Bearer static"}, "mcp-session-id": {"old"}, "X-Static": {"1"}}
	if _, err := c.Command(t.Context(), []byte(call), http.Header{"AUTHORIZATION": {"Bearer given"}, "Mcp-Session-Id": {"new"}}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer given", "Mcp-Session-Id": "new", "X-Static": "1", "Accept": "application/json, text/event-stream",
	} {
		if values := got.Header.Values(name); len(values) != 1 || values[0] != want {
			t.Errorf("%s: %q, want %q", name, values, want)
		}
	}
	if want := strings.TrimSuffix(strings.TrimPrefix(c.Target, "http://"), "/mcp"); got.Host != want {
		t.Errorf("Host %q, want %q", got.Host, want)
	}
}

func TestFewHeadersOfTheTargetArrive(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range append([]string{"Set-Cookie", "Cache-Control", "X-Anything", "Location", "Link"}, kept...) {
			w.Header().Add(name, "application/json")
		}
		_, _ = io.WriteString(w, result)
	})
	answer, err := c.Command(t.Context(), []byte(call), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name := range answer.Header {
		if !slices.Contains(kept, name) {
			t.Errorf("%s arrives", name)
		}
	}
	if len(answer.Header) != len(kept) {
		t.Errorf("of %q arrive %v", kept, answer.Header)
	}
}

// A stream is read up to the answer. What the target keeps open behind it, or
// never answers, holds nobody up.
func TestStreamsAreUnpackedUpToTheAnswer(t *testing.T) {
	gone := make(chan struct{}, 1)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, ": hello\n\nid: 1\ndata: \n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"+
			"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\ndata: \"result\":{}}\n\ndata: {\"late\":1}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	answer, err := c.Command(t.Context(), []byte(call), nil)
	if err != nil || answer.Header.Get("Content-Type") != "application/json" || strings.ReplaceAll(string(answer.Body), "\n", "") != result || len(answer.Notifications) != 2 {
		t.Errorf("%+v, %v", answer, err)
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the connection to the target stays open")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	endless := func(w http.ResponseWriter, kind, piece string) {
		w.Header().Set("Content-Type", kind)
		for range maxAnswer/len(piece) + 1 {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}
	piece := strings.Repeat("a", 1<<16)
	for name, tt := range map[string]struct {
		target http.HandlerFunc
		want   string
	}{
		"an endless body":  {func(w http.ResponseWriter, _ *http.Request) { endless(w, "application/json", piece) }, ErrTooLarge.Error()},
		"an endless event": {func(w http.ResponseWriter, _ *http.Request) { endless(w, "text/event-stream", "data: "+piece) }, ErrTooLarge.Error()},
		"endless events": {func(w http.ResponseWriter, _ *http.Request) {
			endless(w, "text/event-stream", `data: {"a":"`+piece+"\"}\n\n")
		}, ErrTooLarge.Error()},
		"no answer":           {func(w http.ResponseWriter, _ *http.Request) { write(w, 200, "text/event-stream", "data: {}\n\n") }, "without the answer"},
		"no JSON in a stream": {func(w http.ResponseWriter, _ *http.Request) { write(w, 200, "text/event-stream", "data: <html>\n\n") }, "no JSON"},
		"a huge header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Www-Authenticate", strings.Repeat("a", 2<<20))
		}, "server response headers exceeded"},
		"a broken connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"a stream that breaks": {func(w http.ResponseWriter, _ *http.Request) {
			write(w, 200, "text/event-stream", ": x\n\n")
			panic(http.ErrAbortHandler)
		}, "EOF"},
		"more than it announced": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			write(w, 200, "application/json", "{}")
		}, "EOF"},
	} {
		answer, err := serve(t, tt.target).Command(t.Context(), []byte(call), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || answer != nil {
			t.Errorf("%s: %+v, %v, want %s", name, answer, err, tt.want)
		}
	}
}

// An answer other than 2xx keeps its status and its JSON-RPC error; anything
// else in it becomes one, in at most 100 KiB.
func TestFailuresArriveAsErrors(t *testing.T) {
	own := `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}`
	for name, tt := range map[string]struct {
		body, id string
		want     string
	}{
		"an error":         {own, "7", own},
		"a page":           {"<html>", "7", `"code":-32603`},
		"an endless page":  {strings.Repeat("a", 2*maxFailure), "7", `"source":"target_http"`},
		"half of an error": {own[:20], "7", `"status":502`},
		"nothing asked":    {"", "", `"id":null`},
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { write(w, 502, "application/json", tt.body) })
		command := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		if tt.id != "" {
			command = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call"}`, tt.id)
		}
		answer, err := c.Command(t.Context(), []byte(command), nil)
		if err != nil || answer.Status != 502 || !strings.Contains(string(answer.Body), tt.want) || len(answer.Body) > maxFailure {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
	}
}
