package makes

import (
	"cmp"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// What a host that can do everything says of itself.
const (
	clientInfo         = `{"name":"openai-mcp","version":"1.0.0"}`
	clientCapabilities = `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]},"openai/elicitation":{"form":{}}}}`
)

// caller speaks one era as one person, and keeps a record of all it gets.
type caller struct {
	g            *gateway
	era          string
	capabilities string // of the client
	client       string // who it is; empty for clientInfo
	meta         string // more members of _meta, in the newer era
	header       http.Header
	record       strings.Builder
}

// caller begins with the handshake of the era, as a client that can do
// everything.
func (g *gateway) caller(t *testing.T, era string, p person) *caller {
	t.Helper()
	return g.callerWith(t, era, p, clientCapabilities)
}

// callerWith is caller as a client of other capabilities.
func (g *gateway) callerWith(t *testing.T, era string, p person, capabilities string) *caller {
	t.Helper()
	c := &caller{g: g, era: era, capabilities: capabilities, header: g.authorization(t, p, era)}
	if era == modern {
		c.header.Set("Mcp-Protocol-Version", modern)
		c.call(t, "server/discover", "", `{}`)
		return c
	}
	a := c.call(t, "initialize", "", `{"protocolVersion":"`+legacy+`","capabilities":`+c.capabilities+`,"clientInfo":`+clientInfo+`}`)
	c.header.Set("Mcp-Protocol-Version", legacy)
	if id := a.header.Get("Mcp-Session-Id"); id != "" {
		c.header.Set("Mcp-Session-Id", id)
	}
	response := c.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
	_ = response.Body.Close()
	return c
}

// answer is what came back: the message, out of an event stream or not.
type answer struct {
	status  int
	header  http.Header
	message rawjson.Value
}

// tool calls a tool.
func (c *caller) tool(t *testing.T, name, arguments string) answer {
	t.Helper()
	return c.call(t, "tools/call", name, `{"name":"`+name+`","arguments":`+arguments+`}`)
}

// call sends a request and records the answer.
func (c *caller) call(t *testing.T, method, name, params string) answer {
	t.Helper()
	header := http.Header{}
	shown := params
	if c.era == modern {
		meta := `{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientInfo":` + cmp.Or(c.client, clientInfo) +
			`,"io.modelcontextprotocol/clientCapabilities":` + c.capabilities + `}`
		for name, value := range rawjson.Value(c.meta).Members() {
			with, err := rawjson.Value(meta).Set(value, name)
			if err != nil {
				t.Fatal(err)
			}
			meta = string(with)
		}
		with, err := rawjson.Value(params).Set(rawjson.Value(meta), "_meta")
		if err != nil {
			t.Fatal(err)
		}
		params = string(with)
		header.Set("Mcp-Method", method)
		if name != "" {
			header.Set("Mcp-Name", name)
		}
	}
	response := c.post(t, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`, header)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&c.record, "> %s %s\n< %d\n", method, shown, response.StatusCode)
	for _, name := range []string{"Content-Type", "Cache-Control", "Mcp-Session-Id", "Www-Authenticate"} {
		if value := response.Header.Get(name); value != "" {
			fmt.Fprintf(&c.record, "< %s: %s\n", name, value)
		}
	}
	fmt.Fprintf(&c.record, "%s\n\n", body)
	return answer{response.StatusCode, response.Header, c.message(t, response, body)}
}

// message finds the answer to request 7.
func (c *caller) message(t *testing.T, response *http.Response, body []byte) rawjson.Value {
	t.Helper()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind != "text/event-stream" {
		message, err := rawjson.Parse(body, 64)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return message
	}
	for line := range strings.Lines(string(body)) {
		data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		if message, err := rawjson.Parse([]byte(data), 64); ok && err == nil && string(message.Get("id")) == "7" {
			return message
		}
	}
	t.Fatalf("no answer in %s", body)
	return nil
}

func (c *caller) post(t *testing.T, body string, header http.Header) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.g.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range []http.Header{c.header, header} {
		for name, values := range h {
			r.Header[name] = values
		}
	}
	response, err := c.g.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// all walks a list to its end, page by page.
func (c *caller) all(t *testing.T, method, list string) []rawjson.Value {
	t.Helper()
	var elements []rawjson.Value
	params := `{}`
	for range 50 {
		result := c.call(t, method, "", params).message.Get("result")
		for element := range result.Get(list).Elements() {
			elements = append(elements, element)
		}
		cursor := result.Get("nextCursor")
		if !cursor.Exists() {
			return elements
		}
		params = `{"cursor":` + string(cursor) + `}`
	}
	t.Fatalf("%s has no end", method)
	return nil
}

// volatile is what differs between two runs, and only that.
var volatile = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`localhost:\d+`), "localhost:PORT"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`(Mcp-Session-Id: )\S+`), "${1}SESSION"},
	{regexp.MustCompile(`("(?:nextCursor|cursor)":")[^"]+`), "${1}CURSOR"},
	{regexp.MustCompile(`(#mcp-app-seal=)[A-Za-z0-9_-]+`), "${1}SEAL"},
	{regexp.MustCompile(`("text":")\\u003c!doctype(?:[^"\\]|\\.)*"`), `${1}PAGE"`}, // its bytes are compared elsewhere
	{regexp.MustCompile(`[ \t]+\n`), "\n"},
}

// wire is the record without what is volatile.
func (c *caller) wire() string {
	text := c.record.String()
	for _, v := range volatile {
		text = v.what.ReplaceAllString(text, v.with)
	}
	return text
}
