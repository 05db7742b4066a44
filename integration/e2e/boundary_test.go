package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// padded is a ping of exactly size bytes.
func padded(size int) string {
	const head, tail = `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"`, `"}}`
	return head + strings.Repeat("a", size-len(head)-len(tail)) + tail
}

func TestABodyOverTheLimitIsTooLarge(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools+"limits {\n\trequest_body 4KiB\n}"))
	c := g.bearer(t, viewer("acme"))
	wantStatus(t, "at the limit", c.post(t, padded(4096), nil), http.StatusOK)
	for _, size := range []int{4097, 100_000} {
		a := c.post(t, padded(size), nil)
		wantStatus(t, "over the limit", a, http.StatusRequestEntityTooLarge)
		if a.code() != "-32600" || !strings.Contains(string(a.body), "4096") {
			t.Errorf("over the limit: %s, want an error that names the limit", a)
		}
	}
	// Without a length nobody knows beforehand.
	body := padded(4097)
	a := g.rawExchange(t, fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: acme.localhost:%d\r\nContent-Type: application/json\r\nAuthorization: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
		g.Port, c.header.Get("Authorization"), len(body), body))
	wantStatus(t, "chunked", a, http.StatusRequestEntityTooLarge)
	if got := len(server.seen()); got != 1 {
		t.Errorf("%d requests reached the server, want the one at the limit", got)
	}
}

func TestOnlyPlainJSONIsRead(t *testing.T) {
	g := start(t, stackFor(quiet(t)))
	c := g.bearer(t, viewer("acme"))
	var compressed bytes.Buffer
	zip := gzip.NewWriter(&compressed)
	if _, err := zip.Write([]byte(pingBody)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		body   string
		header http.Header
	}{
		"form":             {"a=b", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}},
		"text":             {pingBody, http.Header{"Content-Type": {"text/plain"}}},
		"no type":          {pingBody, http.Header{"Content-Type": nil}},
		"JSON by suffix":   {pingBody, http.Header{"Content-Type": {"application/vnd.api+json"}}},
		"batch type":       {pingBody, http.Header{"Content-Type": {"application/json-seq"}}},
		"two types":        {pingBody, http.Header{"Content-Type": {"application/json", "text/plain"}}},
		"gzip":             {compressed.String(), http.Header{"Content-Encoding": {"gzip"}}},
		"claimed gzip":     {pingBody, http.Header{"Content-Encoding": {"gzip"}}},
		"encoded in parts": {pingBody, http.Header{"Content-Encoding": {"identity, br"}}},
	} {
		a := c.post(t, tt.body, tt.header)
		wantStatus(t, name, a, http.StatusUnsupportedMediaType)
		if a.framing != "application/json" || a.code() == "" {
			t.Errorf("%s: %s, want a JSON-RPC error", name, a)
		}
	}
	if got := g.Workspace.Requests(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
	wantStatus(t, "with a charset", c.post(t, pingBody, http.Header{"Content-Type": {"Application/JSON; charset=utf-8"}}), http.StatusBadRequest, http.StatusOK)
	if got := g.Workspace.Requests(); len(got) != 1 {
		t.Errorf("JSON with a charset did not reach the server")
	}
}

// ambiguous are bodies that two readers could understand differently, or that
// carry more than one message.
var ambiguous = []struct{ name, body, code, id string }{
	{"batch", `[` + pingBody + `]`, "-32600", "null"},
	{"empty batch", `[]`, "-32600", "null"},
	{"two messages", pingBody + pingBody, "-32700", "null"},
	{"trailing text", pingBody + ` x`, "-32700", "null"},
	{"nothing", ``, "-32700", "null"},
	{"a number", `7`, "-32600", "null"},
	{"cut short", `{"jsonrpc":"2.0","id":7,"method":"tools/li`, "-32700", "null"},
	{"repeated method", `{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}`, "-32700", "null"},
	{"repeated by escape", `{"jsonrpc":"2.0","id":7,"method":"ping","m\u0065thod":"tools/list"}`, "-32700", "null"},
	{"repeated argument", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"x":2}}}`, "-32700", "null"},
	{"method in another case", `{"jsonrpc":"2.0","id":7,"method":"ping","Method":"tools/list"}`, "-32600", "7"},
	{"name in another case", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list_decks","Name":"admin.purge_deck"}}`, "-32600", "7"},
	{"byte order mark", "\ufeff" + pingBody, "-32700", "null"},
	{"no UTF-8", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + "\xff" + `"}}`, "-32700", "null"},
	{"too deep", `{"jsonrpc":"2.0","id":7,"method":"ping","params":` + strings.Repeat(`{"x":`, 100) + "1" + strings.Repeat("}", 101), "-32600", "null"},
	{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "-32600", "null"},
	{"id fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "-32600", "null"},
	{"version 1", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, "-32600", "7"},
	{"request and response", `{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}`, "-32600", "7"},
}

func TestAmbiguousMessagesAreRefused(t *testing.T) {
	g := start(t, stackFor(quiet(t)))
	for _, era := range eras {
		c := g.caller(t, era, editor("acme"))
		g.Workspace.ForgetCalls()
		for _, tt := range ambiguous {
			a := c.post(t, tt.body, nil)
			wantStatus(t, era+" "+tt.name, a, http.StatusBadRequest)
			if a.code() != tt.code || string(a.message.Get("id")) != tt.id {
				t.Errorf("%s %s: %s, want code %s and id %s", era, tt.name, a, tt.code, tt.id)
			}
		}
		if got := g.Workspace.Requests(); len(got) != 0 {
			t.Errorf("%s: %d requests reached the server", era, len(got))
		}
	}
}

func TestMirroredHeadersMustAgreeWithTheBody(t *testing.T) {
	g := start(t, stackFor(quiet(t)))
	c := g.caller(t, modern, editor("acme"))
	body, header := c.message(t, "tools/call", "list_decks", map[string]any{"name": "list_decks", "arguments": map[string]any{}})
	wantStatus(t, "as they should be", c.post(t, body, header), http.StatusOK)
	g.Workspace.ForgetCalls()
	for name, wrong := range map[string]http.Header{
		"no method":                {"Mcp-Method": nil},
		"other method":             {"Mcp-Method": {"tools/list"}},
		"method in another case":   {"Mcp-Method": {"Tools/Call"}},
		"two methods":              {"Mcp-Method": {"tools/call", "tools/call"}},
		"no name":                  {"Mcp-Name": nil},
		"other name":               {"Mcp-Name": {"create_deck"}},
		"two names":                {"Mcp-Name": {"list_decks", "create_deck"}},
		"name badly encoded":       {"Mcp-Name": {"=?base64?bGlzdF9kZWNrcw?="}},
		"other name encoded":       {"Mcp-Name": {"=?base64?Y3JlYXRlX2RlY2s=?="}},
		"no version":               {"Mcp-Protocol-Version": nil},
		"other version":            {"Mcp-Protocol-Version": {"2025-11-25"}},
		"two versions":             {"Mcp-Protocol-Version": {modern, modern}},
		"two versions in one line": {"Mcp-Protocol-Version": {modern + ", 2025-11-25"}},
	} {
		h := header.Clone()
		for key, values := range wrong {
			h[key] = values
		}
		a := c.post(t, body, h)
		wantStatus(t, name, a, http.StatusBadRequest)
		if a.code() != "-32020" {
			t.Errorf("%s: %s, want -32020", name, a)
		}
	}
	if got := g.Workspace.Requests(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
	for name, right := range map[string]http.Header{
		"encoded": {"Mcp-Name": {"=?base64?bGlzdF9kZWNrcw==?="}}, "blanks around": {"Mcp-Name": {"\t list_decks "}, "Mcp-Method": {" tools/call\t"}},
		"a stray session": {"Mcp-Session-Id": {"whatever"}}, "a stray event id": {"Last-Event-Id": {"1"}},
	} {
		h := header.Clone()
		for key, values := range right {
			h[key] = values
		}
		wantStatus(t, name, c.post(t, body, h), http.StatusOK)
	}
}

// A request that is of one era for one reader and of the other for the next
// would be filtered by rules that do not fit it.
func TestARequestIsOfOneEra(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools))
	c := g.bearer(t, editor("acme"))
	const meta = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":` + modernMeta + `}}`
	for name, tt := range map[string]struct {
		body     string
		versions []string
	}{
		"an old body under a new header":    {pingBody, []string{modern}},
		"a new body without a header":       {meta, nil},
		"a new body under an old header":    {meta, []string{legacy}},
		"both, the old one first":           {pingBody, []string{legacy, modern}},
		"both, the new one first":           {pingBody, []string{modern, legacy}},
		"both in one line":                  {pingBody, []string{legacy + ", " + modern}},
		"an old one twice":                  {pingBody, []string{legacy, legacy}},
		"one that is no revision":           {pingBody, []string{"2099-01-01"}},
		"one that sorts behind all":         {pingBody, []string{"~"}},
		"another revision in _meta":         {strings.Replace(meta, modern, legacy, 1), []string{modern}},
		"a revision in _meta and none else": {`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `"}}}`, nil},
	} {
		server.forget()
		header := http.Header{}
		if tt.versions != nil {
			header["Mcp-Protocol-Version"] = tt.versions
		}
		a := c.post(t, tt.body, header)
		seen := server.seen()
		if a.status == http.StatusBadRequest && len(seen) == 0 {
			continue
		}
		t.Errorf("%s: %s; the server saw %v", name, a, seen)
	}
}
