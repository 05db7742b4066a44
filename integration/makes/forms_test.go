package makes

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// A form as hosts show it, with a preview of a page that the caller may open
// and one of a page that only others may.
const (
	hiddenPreview = `{"openai/preview":{"target":{"type":"mcp_app_tool","name":"secret.open"}}}`
	formSchema    = `{"type":"object","properties":{"part":{"type":"string","title":"Part","x-openai-input":{"type":"resource","options":[` +
		`{"uri":"cad://hex","name":"hex","_meta":{"openai/preview":{"target":{"type":"mcp_app_tool","name":"ask"}}}},` +
		`{"uri":"cad://nut","name":"nut","_meta":` + hiddenPreview + `}]}},` +
		`"finish":{"type":"string","oneOf":[{"const":"zinc","title":"Zinc","description":"Bright","x-openai-thumbnail":{"src":"https://cdn.example/zinc.png"}}]},` +
		`"note":{"type":"string","pattern":"^[a-z]+$","x-openai-suggestions":[{"const":"soon","title":"Soon"}]}},"required":["part"]}`
	goodForm = `{"mode":"form","message":"Which part?","requestedSchema":` + formSchema + `}`
	badForm  = `{"mode":"form","message":"Which part?","requestedSchema":{"type":"object","properties":{"part":{"type":"object"}}}}`

	modernForm = `{"resultType":"input_required","requestState":"opaque==","inputRequests":{"pick":{"method":"elicitation/create","params":{"mode":"form","message":"Which part?",` +
		`"requestedSchema":{"type":"object","properties":{}},"_meta":{"openai/elicitation":{"requestedSchema":` + formSchema + `}}}}}}`

	withoutForms = `{"elicitation":{"form":{}}}`
	formsOnly    = `{"extensions":{"openai/elicitation":{"form":{}}}}`
)

// formPolicy hides secret.open from everybody.
const formPolicy = `policy {
	tool ask {
		scopes mcp.use
	}
}
`

func startForms(t *testing.T, s *formServer, option string) *gateway {
	t.Helper()
	return start(t, formPolicy+"openai {\n\tforms "+option+"\n}\n", stack.Config{Upstream: s})
}

func (g *gateway) log(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(g.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// nextEvent reads one event of a stream.
func nextEvent(t *testing.T, stream *bufio.Reader) string {
	t.Helper()
	event := ""
	for !strings.HasSuffix(event, "\n\n") {
		line, err := stream.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", event, err)
		}
		event += line
	}
	return event
}

// ask calls the tool that asks, and returns the stream of its answer.
func (c *caller) ask(t *testing.T) *bufio.Reader {
	t.Helper()
	response := c.post(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask","arguments":{}}}`, nil)
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	return bufio.NewReader(response.Body)
}

var member = callers[1]

// A form goes out at once, without the preview of a hidden page, and the
// client's answer reaches the server.
func TestAFormReachesTheClientThatShowsIt(t *testing.T) {
	g := startForms(t, newFormServer(goodForm), "check")
	c := g.callerWith(t, legacy, member, formsOnly)
	stream := c.ask(t)
	form := nextEvent(t, stream)
	want := "id: 41\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"form-1\",\"method\":\"openai/elicitation/create\",\"params\":" + strings.Replace(goodForm, hiddenPreview, "{}", 1) + "}\n\n"
	if form != want {
		t.Errorf("the client got\n%s\nwant\n%s", form, want)
	}
	answer := `{"action":"accept","content":{"part":"cad://hex"}}`
	response := c.post(t, `{"jsonrpc":"2.0","id":"form-1","result":`+answer+`}`, nil)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		t.Errorf("the answer: status %d", response.StatusCode)
	}
	if result := nextEvent(t, stream); !strings.Contains(result, `cad://hex`) {
		t.Errorf("the result of the call is %q", result)
	}
	if log := g.log(t); !strings.Contains(log, `"code":"form-preview-hidden"`) {
		t.Error("the preview was taken out without a word")
	}
}

// The call behind a refused form comes to an end: the server learns that
// nobody will answer. Nothing of the form reaches the client.
func TestAFormThatIsRefusedIsAnsweredToTheServer(t *testing.T) {
	for name, tt := range map[string]struct{ form, capabilities, want string }{
		"the client shows core forms only": {goodForm, withoutForms, "error -32601"},
		"the client shows no forms":        {goodForm, `{}`, "error -32601"},
		"the form has a bad field":         {badForm, clientCapabilities, "error -32602"},
		"the form has no message":          {strings.Replace(goodForm, "Which part?", " ", 1), clientCapabilities, "error -32602"},
		"a thumbnail is no https":          {strings.Replace(goodForm, "https://cdn.example/zinc.png", "http://cdn.example/zinc.png", 1), clientCapabilities, "error -32602"},
		"a suggestion does not fit":        {strings.Replace(goodForm, `"const":"soon"`, `"const":"SOON"`, 1), clientCapabilities, "error -32602"},
		"a resource field has a selection": {strings.Replace(goodForm, `"type":"resource",`, `"type":"resource","selection":"explicit",`, 1), clientCapabilities, "error -32602"},
	} {
		t.Run(name, func(t *testing.T) {
			g := startForms(t, newFormServer(tt.form), "check")
			stream := g.callerWith(t, legacy, member, tt.capabilities).ask(t)
			first, second := nextEvent(t, stream), nextEvent(t, stream)
			if strings.Contains(first, "form-1") || strings.Contains(first, "part") || !strings.Contains(first, "id: 41\n") {
				t.Errorf("in place of the form the client got %q", first)
			}
			if !strings.Contains(second, tt.want) {
				t.Errorf("the server was told %q, want %s", second, tt.want)
			}
			if log := g.log(t); strings.Count(log, `"msg":"form withheld"`) != 1 || !strings.Contains(log, `"code":"form-refused"`) {
				t.Error("the log does not say once what was refused")
			}
		})
	}
}

// The server may ask on the stream on which it talks first.
func TestFormsAreCheckedOnGetStreamsToo(t *testing.T) {
	for capabilities, want := range map[string]string{withoutForms: "error -32601", clientCapabilities: "accept"} {
		server := newFormServer(goodForm)
		server.onGet = true
		g := startForms(t, server, "check")
		c := g.callerWith(t, legacy, member, capabilities)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = c.header.Clone()
		r.Header.Set("Accept", "text/event-stream")
		get, err := g.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = get.Body.Close() }()
		stream := c.ask(t)
		form := nextEvent(t, bufio.NewReader(get.Body))
		if shown := strings.Contains(form, "openai/elicitation/create"); shown != (want == "accept") {
			t.Errorf("on the GET stream the client got %q", form)
		}
		if want == "accept" {
			response := c.post(t, `{"jsonrpc":"2.0","id":"form-1","result":{"action":"accept","content":{"part":"cad://nut"}}}`, nil)
			_ = response.Body.Close()
		}
		if result := nextEvent(t, stream); !strings.Contains(result, want) {
			t.Errorf("the server was told %q, want %s", result, want)
		}
	}
}

func TestFormsPassWhereTheOperatorSaysSo(t *testing.T) {
	g := startForms(t, newFormServer(badForm), "pass")
	if form := nextEvent(t, g.callerWith(t, legacy, member, `{}`).ask(t)); !strings.Contains(form, badForm) {
		t.Errorf("the client got %q", form)
	}
}

// In the newer era a form is a result, and a refused one a failed call that
// says nothing of the form.
func TestFormsInResults(t *testing.T) {
	good := strings.Replace(modernForm, hiddenPreview, "{}", 1)
	for name, tt := range map[string]struct {
		form, capabilities string
		want               string // "" for a failed call
	}{
		"a good form":                       {modernForm, clientCapabilities, good},
		"the client shows core forms only":  {modernForm, withoutForms, ""},
		"the client shows extensions only":  {modernForm, formsOnly, ""},
		"the core form is not empty":        {strings.Replace(modernForm, `"properties":{}}`, `"properties":{"a":{"type":"string"}}}`, 1), clientCapabilities, ""},
		"the method is that of older ones":  {strings.Replace(modernForm, `"elicitation/create"`, `"openai/elicitation/create"`, 1), clientCapabilities, ""},
		"the real form has a bad field":     {strings.Replace(modernForm, `"title":"Part"`, `"minItems":1`, 1), clientCapabilities, ""},
		"a core form only, for all clients": {`{"resultType":"input_required","inputRequests":{"n":{"method":"elicitation/create","params":{"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`, `{"elicitation":{"form":{}}}`, "Name?"},
	} {
		t.Run(name, func(t *testing.T) {
			g := startForms(t, newFormServer(tt.form), "check")
			result := g.callerWith(t, modern, member, tt.capabilities).tool(t, "ask", `{}`).message.Get("result")
			failed, _ := result.Get("isError").Bool()
			switch {
			case tt.want != "" && !strings.Contains(string(result), tt.want):
				t.Errorf("got %s\nwant %s", result, tt.want)
			case tt.want == "" && (!failed || strings.Contains(string(result), "cad://") || string(result.Get("resultType")) != `"complete"`):
				t.Errorf("the refused form became %s", result)
			case tt.want == "" && !strings.Contains(g.log(t), `"code":"form-refused"`):
				t.Error("the log does not say what was refused")
			}
		})
	}
}
