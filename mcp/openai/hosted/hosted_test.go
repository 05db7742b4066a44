package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
)

// fake is a recorded Responses API.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
	paths   []string
}

func newFake(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, n int)) *fake {
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		f.bodies = append(f.bodies, string(body))
		f.headers = append(f.headers, r.Header.Clone())
		f.paths = append(f.paths, r.Method+" "+r.URL.RequestURI())
		n := len(f.bodies)
		f.mu.Unlock()
		answer(w, r, n)
	}))
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// sends answers with a text.
func sends(status int, contentType, text string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

const (
	apiKey = "sk-test-key-of-the-account"
	token  = "t0ken-of-the-caller"
)

func (f *fake) check() Check {
	return Check{BaseURL: f.URL + "/v1", Key: apiKey, ServerURL: "https://mcp.example.com/mcp", Label: "acme_notes"}
}

func classOf(err error) discovery.Class {
	if e, ok := errors.AsType[*discovery.Error](err); ok {
		return e.Class
	}
	return ""
}

func fixture(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func toolNames(c *Catalog) []string {
	list := []string{}
	for _, tool := range c.Tools {
		name, _ := tool.Get("name").Text()
		list = append(list, name)
	}
	return list
}

func contentType(file string) string {
	if strings.HasSuffix(file, ".sse") {
		return "text/event-stream; charset=utf-8"
	}
	return "application/json"
}

func TestEveryFixtureHasItsOutcome(t *testing.T) {
	notes := []string{"list_notes", "create_note", "ping"}
	outcomes := map[string]struct {
		status int
		tools  []string
		class  discovery.Class
	}{
		"responses-mcp-list.sse":                {200, notes, ""},
		"responses-mcp-list-crlf-multiline.sse": {200, notes, ""},
		"responses-mcp-list.json":               {200, notes, ""},
		"responses-mcp-list-incomplete.json":    {200, notes, ""},
		"responses-mcp-list-empty.json":         {200, []string{}, ""},
		"responses-mcp-list-lifecycle-only.sse": {200, nil, discovery.NoResult},
		"responses-mcp-list-failed.sse":         {200, nil, discovery.Connector},
		"responses-mcp-list-error-event.sse":    {200, nil, discovery.RateLimited},
		"responses-424.json":                    {424, nil, discovery.Connector},
	}
	files, err := filepath.Glob("testdata/responses-*")
	if err != nil || len(files) != len(outcomes) {
		t.Fatalf("%d fixtures, %d outcomes, %v", len(files), len(outcomes), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			want, known := outcomes[name]
			if !known {
				t.Fatal("no outcome is written down")
			}
			f := newFake(t, sends(want.status, contentType(name), fixture(t, name)))
			catalog, err := f.check().List(t.Context())
			if classOf(err) != want.class || (err == nil) != (want.class == "") {
				t.Fatalf("%v, want %q", err, want.class)
			}
			if err != nil {
				return
			}
			if got := toolNames(catalog); !slices.Equal(got, want.tools) || catalog.InputTokens != 210 {
				t.Errorf("tools %q, %d tokens", got, catalog.InputTokens)
			}
			if len(want.tools) == 0 {
				return
			}
			if got := string(catalog.Tools[2]); got != `{"name":"ping","inputSchema":`+string(catalog.Tools[2].Get("inputSchema"))+`}` {
				t.Errorf("without description and annotations: %s", got)
			}
			if readOnly, ok := catalog.Tools[0].Get("annotations", "readOnlyHint").Bool(); !ok || !readOnly {
				t.Errorf("read only: %v, %v", readOnly, ok)
			}
		})
	}
}

// The request is spelled out: whatever is added to it must be added here.
func TestTheRequestAllowsNothingButListing(t *testing.T) {
	const frame = `{"model":%q,"input":"Reply with the single word: ok","tools":[{"type":"mcp","server_label":"acme_notes",%s"require_approval":"always"}],"tool_choice":"none","store":false,"stream":true,"max_output_tokens":32}`
	const address = `"server_url":"https://mcp.example.com/mcp",`
	for name, tt := range map[string]struct {
		change func(*Check)
		model  string
		tool   string
	}{
		"nothing":     {func(*Check) {}, DefaultModel, address},
		"model":       {func(c *Check) { c.Model = "other" }, "other", address},
		"token":       {func(c *Check) { c.Token = token }, DefaultModel, address + `"authorization":"` + token + `",`},
		"header only": {func(c *Check) { c.Token, c.HeaderOnly = token, true }, DefaultModel, address + `"headers":{"Authorization":"Bearer ` + token + `"},`},
		"API key":     {func(c *Check) { c.Header = http.Header{"X-Api-Key": {"Bearer raw=="}} }, DefaultModel, address + `"headers":{"X-Api-Key":"Bearer raw=="},`},
		"both": {
			func(c *Check) { c.Token, c.Header = token, http.Header{"X-Api-Key": {"k"}} }, DefaultModel,
			address + `"authorization":"` + token + `","headers":{"X-Api-Key":"k"},`,
		},
		"raw authorization": {func(c *Check) { c.Header = http.Header{"Authorization": {"Basic abc"}} }, DefaultModel, address + `"headers":{"Authorization":"Basic abc"},`},
		"some tools":        {func(c *Check) { c.AllowedTools = []string{"a", "b"} }, DefaultModel, address + `"allowed_tools":["a","b"],`},
		"tunnel": {
			func(c *Check) { c.ServerURL, c.TunnelID = "", "tunnel_0123456789abcdef0123456789abcdef" }, DefaultModel,
			`"tunnel_id":"tunnel_0123456789abcdef0123456789abcdef",`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, sends(200, "application/json", fixture(t, "responses-mcp-list-empty.json")))
			check := f.check()
			tt.change(&check)
			if _, err := check.List(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf(frame, tt.model, tt.tool); len(f.bodies) != 1 || f.bodies[0] != want {
				t.Errorf("sent\n%s\nwant\n%s", f.bodies, want)
			}
			if f.paths[0] != "POST /v1/responses" || f.headers[0].Get("Authorization") != "Bearer "+apiKey || f.headers[0].Get("Cookie") != "" {
				t.Errorf("%s with %v", f.paths[0], f.headers[0])
			}
		})
	}
	if DefaultModel != "gpt-5.6-luna" {
		t.Errorf("default model %q", DefaultModel)
	}
}

func TestNothingIsSentThatCannotWork(t *testing.T) {
	for name, change := range map[string]func(*Check){
		"no server":        func(c *Check) { c.ServerURL = "" },
		"two servers":      func(c *Check) { c.TunnelID = "tunnel_0123456789abcdef0123456789abcdef" },
		"a bad tunnel":     func(c *Check) { c.ServerURL, c.TunnelID = "", "tunnel_1" },
		"no key":           func(c *Check) { c.Key = "" },
		"a key of lines":   func(c *Check) { c.Key = "sk\nx" },
		"plain http":       func(c *Check) { c.ServerURL = "http://mcp.example.com/mcp" },
		"this machine":     func(c *Check) { c.ServerURL = "https://localhost/mcp" },
		"loopback":         func(c *Check) { c.ServerURL = "https://127.0.0.1/mcp" },
		"loopback of IPv6": func(c *Check) { c.ServerURL = "https://[::1]:8443/mcp" },
		"mapped loopback":  func(c *Check) { c.ServerURL = "https://[::ffff:10.0.0.1]/mcp" },
		"a private net":    func(c *Check) { c.ServerURL = "https://192.168.1.1/mcp" },
		"a short name":     func(c *Check) { c.ServerURL = "https://mcp/mcp" },
		"a local name":     func(c *Check) { c.ServerURL = "https://mcp.internal/mcp" },
		"a password":       func(c *Check) { c.ServerURL = "https://u:p@mcp.example.com/mcp" },
		"two credentials":  func(c *Check) { c.Token, c.Header = token, http.Header{"Authorization": {"x"}} },
		"a cookie":         func(c *Check) { c.Header = http.Header{"Cookie": {"x"}} },
		"key in the clear": func(c *Check) { c.BaseURL = "http://api.example.com/v1" },
		"no base URL":      func(c *Check) { c.BaseURL = "api" },
	} {
		f := newFake(t, sends(200, "application/json", fixture(t, "responses-mcp-list.json")))
		check := f.check()
		change(&check)
		if _, err := check.List(t.Context()); classOf(err) != discovery.BadTarget {
			t.Errorf("%s: %v", name, err)
		}
		if len(f.bodies) > 0 {
			t.Errorf("%s: something was sent", name)
		}
	}
}

func sse(events ...string) string {
	var b strings.Builder
	for _, event := range events {
		b.WriteString("data: " + event + "\n\n")
	}
	return b.String()
}

// done is a finished listing item with tools.
func done(tools string) string {
	return `{"type":"response.output_item.done","item":` + item(tools) + `}`
}

func item(tools string) string {
	return `{"type":"mcp_list_tools","server_label":"acme_notes","tools":` + tools + `}`
}

func completed(items ...string) string {
	return `{"type":"response.completed","response":{"status":"completed","output":[` + strings.Join(items, ",") + `]}}`
}

const tool = `{"name":"a","input_schema":{"type":"object"}}`

func TestOnlyAListingIsAResult(t *testing.T) {
	many := make([]string, 2001)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"t%d","input_schema":{}}`, i)
	}
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for name, tt := range map[string]struct {
		stream string
		tools  int
		class  discovery.Class
	}{
		"item, then end":                      {sse(done("[" + tool + "]")), 1, ""},
		"item, then DONE":                     {sse(done("["+tool+"]"), "[DONE]"), 1, ""},
		"item, then failure of the answer":    {sse(done("["+tool+"]"), `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"},"output":[]}}`), 1, ""},
		"terminal only":                       {sse(completed(item("[" + tool + "]"))), 1, ""},
		"incomplete terminal":                 {sse(`{"type":"response.incomplete","response":{"status":"incomplete","output":[` + item("["+tool+"]") + `]}}`), 1, ""},
		"both, the same":                      {sse(done("["+tool+"]"), completed(item(`[{"input_schema": {"type":"object"}, "name":"a"}]`))), 1, ""},
		"empty":                               {sse(done("[]"), completed(item("[]"))), 0, ""},
		"reasoning and message":               {sse(`{"type":"response.output_item.added","item":{"type":"reasoning"}}`, done("[]"), completed(item("[]"), `{"type":"message"}`, `{"type":"reasoning"}`)), 0, ""},
		"behind the end nothing is read":      {sse(completed(item("[]")), `{"type":"response.output_item.done","item":{"type":"mcp_call"}}`), 0, ""},
		"nothing":                             {"", 0, discovery.NoResult},
		"DONE only":                           {sse("[DONE]"), 0, discovery.NoResult},
		"an item that has only begun":         {sse(`{"type":"response.output_item.added","item":` + item("["+tool+"]") + `}`), 0, discovery.NoResult},
		"a message only":                      {sse(completed(`{"type":"message"}`)), 0, discovery.NoResult},
		"both, different":                     {sse(done("["+tool+"]"), completed(item("[]"))), 0, discovery.Protocol},
		"listed twice":                        {sse(done("["+tool+"]"), done("["+tool+"]")), 0, discovery.Protocol},
		"another server":                      {sse(`{"type":"response.output_item.done","item":{"type":"mcp_list_tools","server_label":"other","tools":[]}}`), 0, discovery.Protocol},
		"no JSON":                             {sse("{"), 0, discovery.Protocol},
		"members twice":                       {sse(`{"type":"x","type":"y"}`), 0, discovery.Protocol},
		"an unknown status":                   {sse(`{"type":"response.completed","response":{"status":"queued","output":[` + item("[]") + `]}}`), 0, discovery.Protocol},
		"a call":                              {sse(done("[]"), `{"type":"response.output_item.added","item":{"type":"mcp_call"}}`), 0, discovery.UnexpectedCall},
		"an approval":                         {sse(done("[]"), `{"type":"response.output_item.done","item":{"type":"mcp_approval_request"}}`), 0, discovery.UnexpectedCall},
		"a function":                          {sse(done("[]"), completed(item("[]"), `{"type":"function_call"}`)), 0, discovery.UnexpectedCall},
		"another tool":                        {sse(done("[]"), completed(item("[]"), `{"type":"web_search_call"}`)), 0, discovery.UnexpectedCall},
		"progress of a call":                  {sse(done("[]"), `{"type":"response.mcp_call.in_progress"}`), 0, discovery.UnexpectedCall},
		"a text as error":                     {sse(`{"type":"response.output_item.done","item":{"type":"mcp_list_tools","server_label":"acme_notes","tools":[],"error":"unreachable"}}`), 0, discovery.Connector},
		"no error":                            {sse(`{"type":"response.output_item.done","item":{"type":"mcp_list_tools","server_label":"acme_notes","tools":[],"error":null}}`), 0, ""},
		"refused by the server":               {sse(`{"type":"response.output_item.done","item":{"type":"mcp_list_tools","server_label":"acme_notes","error":{"type":"http_error","code":401,"message":"401"}}}`), 0, discovery.Authentication},
		"forbidden by the server":             {sse(`{"type":"response.output_item.done","item":{"type":"mcp_list_tools","server_label":"acme_notes","error":{"type":"http_error","code":403,"message":"x"}}}`), 0, discovery.Forbidden},
		"no tools at all":                     {sse(`{"type":"response.output_item.done","item":{"type":"mcp_list_tools","server_label":"acme_notes"}}`), 0, discovery.Malformed},
		"a tool twice":                        {sse(done("[" + tool + "," + tool + "]")), 0, discovery.Malformed},
		"a tool without a schema":             {sse(done(`[{"name":"a"}]`)), 0, discovery.Malformed},
		"a schema that is none":               {sse(done(`[{"name":"a","input_schema":"x"}]`)), 0, discovery.Malformed},
		"a tool without a name":               {sse(done(`[{"input_schema":{}}]`)), 0, discovery.Malformed},
		"2,000 tools":                         {sse(done("[" + strings.Join(many[1:], ",") + "]")), 2000, ""},
		"2,001 tools":                         {sse(done("[" + strings.Join(many, ",") + "]")), 0, discovery.TooLarge},
		"a deep schema":                       {sse(done(`[{"name":"a","input_schema":` + deep + `}]`)), 0, discovery.TooLarge},
		"an event of 5 MiB":                   {"data: " + strings.Repeat(" ", 5<<20), 0, discovery.TooLarge},
		"a stream of 13 MiB":                  {strings.Repeat(": "+strings.Repeat("x", 1<<20)+"\n\n", 13), 0, discovery.TooLarge},
		"65 items":                            {sse(slices.Repeat([]string{`{"type":"response.output_item.done","item":{"type":"reasoning"}}`}, 65)...), 0, discovery.TooLarge},
		"an error spread over the event":      {sse(`{"type":"error","code":"invalid_api_key","message":"x"}`), 0, discovery.OpenAIKey},
		"an error inside of the event":        {sse(`{"type":"error","error":{"code":"model_not_found","message":"x"}}`), 0, discovery.OpenAIRequest},
		"an error of nothing in particular":   {sse(`{"type":"error","code":"server_error","message":"x"}`), 0, discovery.ServerFault},
		"a byte order mark and a lone return": {"\ufeff" + strings.ReplaceAll(sse(done("[]")), "\n", "\r"), 0, ""},
		"no blank line at the end":            {strings.TrimRight(sse(completed(item("[]"))), "\n"), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, sends(200, "text/event-stream", tt.stream))
			catalog, err := f.check().List(t.Context())
			if classOf(err) != tt.class || (err == nil) != (tt.class == "") {
				t.Fatalf("%v, want %q", err, tt.class)
			}
			if err == nil && len(catalog.Tools) != tt.tools {
				t.Errorf("%d tools, want %d", len(catalog.Tools), tt.tools)
			}
			if len(f.bodies) != 1 {
				t.Errorf("asked %d times", len(f.bodies))
			}
		})
	}
}

func TestErrorsOfTheAPIAreToldApart(t *testing.T) {
	connector := func(inner string) string {
		return `{"error":{"message":"Error retrieving tool list from MCP server: 'x'. Http status code: ` + inner + `","type":"external_connector_error","param":"tools","code":"http_error"}}`
	}
	for name, tt := range map[string]struct {
		status int
		body   string
		class  discovery.Class
		asked  int
	}{
		"server away":          {424, connector("424 (Failed Dependency)"), discovery.Connector, 2},
		"server refuses":       {401, connector("401 (Unauthorized)"), discovery.Authentication, 1},
		"server refuses, 424":  {424, connector("401 (Unauthorized)"), discovery.Authentication, 1},
		"server forbids":       {424, connector("403 (Forbidden)"), discovery.Forbidden, 1},
		"server limits":        {424, connector("429"), discovery.RateLimited, 1},
		"bad key":              {401, `{"error":{"message":"Incorrect API key provided: ` + apiKey + `","type":"invalid_request_error","code":"invalid_api_key","param":null}}`, discovery.OpenAIKey, 1},
		"bad key, no JSON":     {401, `<html>`, discovery.OpenAIKey, 1},
		"bad schema":           {400, `{"error":{"message":"Invalid schema for function 'x'","type":"invalid_request_error","param":"tools[0].parameters","code":null}}`, discovery.OpenAIRequest, 1},
		"unknown model":        {404, `{"error":{"message":"no","type":"invalid_request_error","code":"model_not_found"}}`, discovery.OpenAIRequest, 1},
		"not allowed":          {403, `{"error":{"message":"no"}}`, discovery.OpenAIRequest, 1},
		"limit":                {429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, discovery.RateLimited, 1},
		"OpenAI away":          {503, ``, discovery.Unavailable, 2},
		"OpenAI broken":        {500, `{"error":{"message":"x","type":"server_error"}}`, discovery.Unavailable, 2},
		"a redirect":           {307, ``, discovery.Redirect, 1},
		"a page instead of it": {200, `<html>`, discovery.Protocol, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, func(w http.ResponseWriter, r *http.Request, n int) {
				w.Header().Set("Location", "/elsewhere")
				sends(tt.status, "application/json", tt.body)(w, r, n)
			})
			check := f.check()
			check.Token = token
			_, err := check.List(t.Context())
			if classOf(err) != tt.class || len(f.bodies) != tt.asked {
				t.Errorf("%v after %d questions, want %s after %d", err, len(f.bodies), tt.class, tt.asked)
			}
			if strings.Contains(err.Error(), apiKey) || strings.Contains(err.Error(), token) {
				t.Errorf("a secret is repeated: %v", err)
			}
		})
	}
}

func TestOpenAIIsAskedOnceMoreAfterAPassingFailure(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			sends(424, "application/json", fixture(t, "responses-424.json"))(w, r, n)
			return
		}
		sends(200, "text/event-stream", fixture(t, "responses-mcp-list.sse"))(w, r, n)
	})
	catalog, err := f.check().List(t.Context())
	if err != nil || len(catalog.Tools) != 3 || f.bodies[0] != f.bodies[1] {
		t.Errorf("%v, %q", err, f.bodies)
	}
}

func TestASilentOrBrokenAPIComesToAnEnd(t *testing.T) {
	silent := newFake(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse(done("["+tool+"]"))) // what may follow is not known
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	check := silent.check()
	check.Timeout = 300 * time.Millisecond
	if _, err := check.List(t.Context()); classOf(err) != discovery.Timeout {
		t.Errorf("silent: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	check.Timeout, check.Progress = time.Minute, func(string) { time.AfterFunc(20*time.Millisecond, cancel) }
	if _, err := check.List(ctx); classOf(err) != discovery.Canceled {
		t.Errorf("given up: %v", err)
	}
	broken := newFake(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse(done("["+tool+"]")))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	if _, err := broken.check().List(t.Context()); classOf(err) != discovery.Protocol {
		t.Errorf("broken off: %v", err)
	}
}

// A stream may be cut into packets anywhere, with any line ends.
func TestTheStreamMayBeCutAnywhere(t *testing.T) {
	text := strings.ReplaceAll("\ufeff: c\nevent: x\ndata: {\"type\":\ndata:\"response.output_item.done\",\ndata: \"item\":"+item("["+tool+"]")+"}\n\n", "\n\n\n", "\n\n")
	for _, end := range []string{"\n", "\r", "\r\n"} {
		stream := strings.ReplaceAll(text, "\n", end)
		for cut := range len(stream) {
			body := io.MultiReader(strings.NewReader(stream[:cut]), strings.NewReader(stream[cut:]))
			catalog, err := Check{Label: "acme_notes"}.read(body, "text/event-stream")
			if err != nil || len(catalog.Tools) != 1 {
				t.Fatalf("%q cut at %d: %v", end, cut, err)
			}
		}
	}
}

// FuzzRead: no answer makes the reader fail in another way than by a class, and
// what it takes for a catalog is one.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/responses-*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add([]byte(fixture(f, filepath.Base(file))), strings.HasSuffix(file, ".sse"))
	}
	f.Fuzz(func(t *testing.T, body []byte, stream bool) {
		kind := "application/json"
		if stream {
			kind = "text/event-stream"
		}
		catalog, err := Check{Label: "acme_notes"}.read(strings.NewReader(string(body)), kind)
		if err != nil {
			if classOf(err) == "" || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
				t.Fatalf("%T: %q", err, err)
			}
			return
		}
		if !strings.Contains(string(body), "mcp_list_tools") && !strings.Contains(string(body), `\u`) && !strings.Contains(string(body), "\ndata") {
			t.Error("a catalog without a listing")
		}
		seen := make(map[string]bool)
		for _, tool := range catalog.Tools {
			var parsed struct {
				Name   string         `json:"name"`
				Schema map[string]any `json:"inputSchema"`
			}
			if err := json.Unmarshal(tool, &parsed); err != nil || parsed.Name == "" || parsed.Schema == nil || seen[string(tool.Get("name"))] {
				t.Errorf("tool %s: %v", tool, err)
			}
			seen[string(tool.Get("name"))] = true
		}
	})
}
