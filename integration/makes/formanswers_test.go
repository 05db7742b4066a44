package makes

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

// A form with a field of every kind.
const (
	wideSchema = `{"type":"object","properties":{` +
		`"part":{"type":"string","x-openai-input":{"type":"resource","options":[{"uri":"cad://hex","name":"hex"},{"uri":"cad://nut","name":"nut"}]}},` +
		`"note":{"type":"string","maxLength":8,"pattern":"^[a-z]+$"},` +
		`"finish":{"type":"string","oneOf":[{"const":"zinc","title":"Zinc"},{"const":"brass","title":"Brass"}]},` +
		`"count":{"type":"integer","minimum":1,"maximum":5},` +
		`"length":{"type":"number","multipleOf":0.5},` +
		`"rush":{"type":"boolean"},` +
		`"colors":{"type":"array","minItems":1,"maxItems":2,"uniqueItems":true,"items":{"type":"string","enum":["red","blue","green"]}}},` +
		`"required":["count"]}`
	wideForm   = `{"mode":"form","message":"Which part?","requestedSchema":` + wideSchema + `}`
	wideResult = `{"resultType":"input_required","requestState":"a/b+c==","inputRequests":{"pick":{"method":"elicitation/create","params":{"mode":"form","message":"Which part?",` +
		`"requestedSchema":{"type":"object","properties":{}},"_meta":{"openai/elicitation":{"requestedSchema":` + wideSchema + `}}}},` +
		`"name":{"method":"elicitation/create","params":{"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`
)

// answers are answers to it. Those with a reason are refused for it.
var answers = []struct{ name, answer, reason string }{
	{"everything", `{"action":"accept","content":{"part":"cad://nut","note":"soon","finish":"zinc","count":5,"length":2.5,"rush":true,"colors":["red","blue"]}}`, ""},
	{"what is required", `{"action":"accept","content":{"count":1}}`, ""},
	{"an integer with a fraction of nothing", `{"action":"accept","content":{"count":2.0}}`, ""},
	{"declined", `{"action":"decline"}`, ""},
	{"cancelled", `{"action":"cancel","content":{}}`, ""},
	{"with metadata", `{"action":"decline","_meta":{"a":1}}`, ""},

	{"a number as text", `{"action":"accept","content":{"count":"1"}}`, `field \"count\": must be a number`},
	{"a fraction for an integer", `{"action":"accept","content":{"count":1.5}}`, "must be an integer"},
	{"too little", `{"action":"accept","content":{"count":0}}`, "must be at least 1"},
	{"too much", `{"action":"accept","content":{"count":6}}`, "must be at most 5"},
	{"far too much", `{"action":"accept","content":{"count":1e999}}`, "must be a number"},
	{"between two steps", `{"action":"accept","content":{"count":1,"length":0.3}}`, "multiple of 0.5"},
	{"text for a switch", `{"action":"accept","content":{"count":1,"rush":"true"}}`, "must be true or false"},
	{"null for a switch", `{"action":"accept","content":{"count":1,"rush":null}}`, "must be true or false"},
	{"an object for text", `{"action":"accept","content":{"count":1,"note":{"a":1}}}`, "must be a string"},
	{"against the pattern", `{"action":"accept","content":{"count":1,"note":"SOON"}}`, "must match the pattern"},
	{"too long", `{"action":"accept","content":{"count":1,"note":"sooooooon"}}`, "must have at most 8 characters"},
	{"far too long", `{"action":"accept","content":{"count":1,"note":"` + strings.Repeat("a", 1<<20) + `"}}`, "must have at most 8 characters"},
	{"no option", `{"action":"accept","content":{"count":1,"finish":"gold"}}`, "must be one of the offered values"},
	{"the title of an option", `{"action":"accept","content":{"count":1,"finish":"Zinc"}}`, "must be one of the offered values"},
	{"a resource that was not offered", `{"action":"accept","content":{"count":1,"part":"cad://secret"}}`, "must be one of the offered resources"},
	{"no list", `{"action":"accept","content":{"count":1,"colors":"red"}}`, "must be a list of 1 to 2"},
	{"an empty list", `{"action":"accept","content":{"count":1,"colors":[]}}`, "must be a list of 1 to 2"},
	{"a list too long", `{"action":"accept","content":{"count":1,"colors":["red","blue","green"]}}`, "must be a list of 1 to 2"},
	{"one value twice", `{"action":"accept","content":{"count":1,"colors":["red","red"]}}`, "must not hold a value twice"},
	{"a field that was not asked for", `{"action":"accept","content":{"count":1,"admin":true}}`, `unknown field \"admin\"`},
	{"a name of the prototype", `{"action":"accept","content":{"count":1,"__proto__":{"admin":true}}}`, `unknown field \"__proto__\"`},
	{"without what is required", `{"action":"accept","content":{"rush":true}}`, `the required field \"count\" is missing`},
	{"without content", `{"action":"accept"}`, `the required field \"count\" is missing`},
	{"content that is a list", `{"action":"accept","content":[1]}`, "must be an object"},
	{"declined with content", `{"action":"decline","content":{"count":1}}`, "carries no content"},
	{"another action", `{"action":"agree","content":{"count":1}}`, "unknown form action"},
	{"no action", `{"content":{"count":1}}`, "unknown form action"},
	{"an answer that is a list", `[{"action":"accept"}]`, "must be an object"},
	{"an answer that is text", `"accept"`, "must be an object"},
	{"much beside it", `{"action":"decline","_meta":{"a":"` + strings.Repeat("a", 70<<10) + `"}}`, "bytes, at most"},
}

// In the older era an answer is a message of its own. A bad one ends the call
// behind the form: the server hears that there is no answer, and not what it was.
func TestAnswersToFormsAreCheckedBeforeTheServerSeesThem(t *testing.T) {
	server := newFormServer(wideForm)
	g := startForms(t, server, "check")
	refused := 0
	for _, tt := range answers {
		t.Run(tt.name, func(t *testing.T) {
			c := g.callerWith(t, legacy, member, formsOnly)
			stream := c.ask(t)
			nextEvent(t, stream)
			response := c.post(t, `{"jsonrpc":"2.0","id":"form\u002d1","result":`+tt.answer+`}`, nil)
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			result := nextEvent(t, stream)
			if tt.reason == "" {
				if response.StatusCode != http.StatusAccepted || !server.saw(`"result":`+tt.answer) || strings.Contains(result, "error") {
					t.Errorf("a good answer: %d %s; the call ends with %s", response.StatusCode, body, result)
				}
				return
			}
			if response.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), tt.reason) || !strings.Contains(string(body), "-32602") {
				t.Errorf("got %d %s, want the reason %s", response.StatusCode, body, tt.reason)
			}
			if saw := server.saw(`"result":` + tt.answer); saw || !strings.Contains(result, "error -32602") {
				t.Errorf("the server saw the answer: %v; the call ends with %s", saw, result)
			}
			if refused++; strings.Count(g.log(t), `"cause":"arguments"`) != refused {
				t.Error("the log says nothing")
			}
		})
	}
}

// In the newer era an answer comes with the call once more.
func TestAnswersInRepeatedCallsAreCheckedBeforeTheServerSeesThem(t *testing.T) {
	server := newFormServer(wideResult)
	g := startForms(t, server, "check")
	// Asked and answered as clients do that write anew what they read.
	const first, again = `{"part":"x","deep":{"a":1,"b":[2.50]}}`, `{"name":"ask","arguments":{ "deep":{"b":[2.50],"a":1}, "part":"\u0078" },"requestState":"a\/b+c==","inputResponses":`
	for _, tt := range answers {
		c := g.callerWith(t, modern, member, clientCapabilities)
		if kind := c.tool(t, "ask", first).message.Get("result", "resultType"); string(kind) != `"input_required"` {
			t.Fatalf("the form: %s", kind)
		}
		a := c.call(t, "tools/call", "ask", again+`{"pick":`+tt.answer+`,"name":{"action":"accept","content":{"name":"core forms are not ours"}}}}`)
		text := string(a.message)
		switch {
		case tt.reason == "" && !strings.Contains(text, "answered"):
			t.Errorf("%s: a good answer: %d %s", tt.name, a.status, text)
		case tt.reason != "" && (a.status != http.StatusBadRequest || !strings.Contains(text, tt.reason) || string(a.message.Get("error", "code")) != "-32602" || string(a.message.Get("id")) != "7"):
			t.Errorf("%s: got %d %s, want the reason %s", tt.name, a.status, text, tt.reason)
		case tt.reason != "" && server.saw(`"pick":`+tt.answer):
			t.Errorf("%s: the server saw it", tt.name)
		}
	}
}

// Whoever answers what was not asked of them is refused, and told how to be asked.
func TestOnlyWhatWasAskedCanBeAnswered(t *testing.T) {
	server := newFormServer(wideResult)
	g := startForms(t, server, "check")
	c := g.callerWith(t, modern, member, clientCapabilities)
	c.tool(t, "ask", `{}`)
	const good = `{"pick":{"action":"accept","content":{"count":1}}}`
	for name, params := range map[string]string{
		"another question":    `{"name":"ask","arguments":{},"requestState":"a/b+c==","inputResponses":{"pack":{"action":"accept"}}}`,
		"another state":       `{"name":"ask","arguments":{},"requestState":"a/b+c=","inputResponses":` + good + `}`,
		"no state":            `{"name":"ask","arguments":{},"inputResponses":` + good + `}`,
		"other arguments":     `{"name":"ask","arguments":{"a":1},"requestState":"a/b+c==","inputResponses":` + good + `}`,
		"no object":           `{"name":"ask","arguments":{},"requestState":"a/b+c==","inputResponses":[` + good + `]}`,
		"null":                `{"name":"ask","arguments":{},"requestState":"a/b+c==","inputResponses":null}`,
		"an answer too many":  `{"name":"ask","arguments":{},"requestState":"a/b+c==","inputResponses":{"pick":{"action":"accept","content":{"count":1}},"more":{}}}`,
		"nothing that it was": `{"name":"ask","arguments":{},"requestState":"a/b+c==","inputResponses":{"pick":null}}`,
	} {
		if a := c.call(t, "tools/call", "ask", params); a.status != http.StatusBadRequest || string(a.message.Get("error", "code")) != "-32602" {
			t.Errorf("%s: %d %s", name, a.status, a.message)
		}
	}
	other := g.callerWith(t, modern, callers[0], clientCapabilities)
	good1 := `{"name":"ask","arguments":{},"requestState":"a/b+c==","inputResponses":` + good + `}`
	if a := other.call(t, "tools/call", "ask", good1); a.status != http.StatusBadRequest || !strings.Contains(string(a.message), "send the request without them") {
		t.Errorf("somebody else: %d %s", a.status, a.message)
	}
	if server.saw("inputResponses") {
		t.Error("the server saw an answer")
	}
	if !strings.Contains(g.log(t), "answers refused whose questions are not known") {
		t.Error("the log says nothing")
	}
	for range 2 { // a lost answer is sent again
		if a := c.call(t, "tools/call", "ask", good1); !strings.Contains(string(a.message), "answered") {
			t.Errorf("the good answer: %s", a.message)
		}
	}
}

// The server sees handles opened, in the call and in the one that answers; what
// was asked is found under what the client wrote.
func TestFormsOfCallsWithHandlesCanBeAnswered(t *testing.T) {
	s := newSeenServer()
	server := s.serve(true)
	g := start(t, strings.Replace(meaningLines, "openai {", "openai {\n\tforms check", 1), stack.Config{Upstream: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		switch about := rawjson.Value(body).Get("params"); {
		case string(about.Get("name")) != `"use"` && !about.Get("uri").Exists():
			server.ServeHTTP(w, r)
		case strings.Contains(string(body), "mcp-app-seal"):
			t.Errorf("the server sees a sealed handle: %s", body)
		case about.Get("inputResponses").Exists():
			reply(w, []byte("7"), `{"resultType":"complete","answered":true,"content":[],"contents":[]}`)
		default:
			reply(w, []byte("7"), wideResult)
		}
	})})
	c := g.caller(t, modern, member)
	var handle string
	for item := range c.tool(t, "search_mentions", `{"query":"hex"}`).message.Get("result", "structuredContent", "items").Elements() {
		handle, _ = item.Get("uri").Text()
	}
	for method, tt := range map[string]struct{ name, params string }{
		"tools/call":     {"use", `{"name":"use","arguments":{"part":"` + handle + `"}}`},
		"resources/read": {handle, `{"uri":"` + handle + `"}`},
	} {
		if a := c.call(t, method, tt.name, tt.params); string(a.message.Get("result", "resultType")) != `"input_required"` {
			t.Fatalf("%s: %s", method, a.message)
		}
		again := strings.TrimSuffix(tt.params, "}") + `,"requestState":"a/b+c==","inputResponses":{"pick":{"action":"accept","content":{"count":`
		if a := c.call(t, method, tt.name, again+`9}}}}`); a.status != http.StatusBadRequest || !strings.Contains(string(a.message), "must be at most 5") {
			t.Errorf("%s: a bad answer: %d %s", method, a.status, a.message)
		}
		if a := c.call(t, method, tt.name, again+`5}}}}`); !a.message.Get("result", "answered").Exists() {
			t.Errorf("%s: a good answer: %d %s", method, a.status, a.message)
		}
	}
}

// With forms pass nothing is judged, and other answers of older clients pass in
// any case.
func TestAnswersPassWhereNothingWasChecked(t *testing.T) {
	server := newFormServer(wideResult)
	g := startForms(t, server, "pass")
	c := g.callerWith(t, modern, member, clientCapabilities)
	if a := c.call(t, "tools/call", "ask", `{"name":"ask","arguments":{},"inputResponses":{"x":7}}`); !strings.Contains(string(a.message), "answered") {
		t.Errorf("with forms pass: %s", a.message)
	}
	server = newFormServer(wideForm)
	g = startForms(t, server, "check")
	c = g.callerWith(t, legacy, member, formsOnly)
	response := c.post(t, `{"jsonrpc":"2.0","id":"roots-1","result":{"roots":[]}}`, nil)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusAccepted || !server.saw(`"roots":[]`) {
		t.Errorf("an answer to something else: %d", response.StatusCode)
	}
}

// A form whose answer could not be checked is not shown, and an answer that
// cannot be checked does not pass.
func TestFormsNeedTheStateThatKeepsThem(t *testing.T) {
	redis := statetest.StartRedis(t)
	server := newFormServer(wideResult)
	g := start(t, formPolicy+"openai {\n\tforms check\n}\nstate redis "+redis.URL+" {\n\tmax_stale 1h\n}\n", stack.Config{Upstream: server})
	c := g.callerWith(t, modern, member, clientCapabilities)
	c.tool(t, "ask", `{}`)
	redis.Stop()
	a := c.call(t, "tools/call", "ask", `{"name":"ask","arguments":{},"requestState":"a/b+c==","inputResponses":{"pick":{"action":"decline"}}}`)
	if a.status != http.StatusServiceUnavailable || server.saw("inputResponses") {
		t.Errorf("an answer without the state: %d %s", a.status, a.message)
	}
	result := c.tool(t, "ask", `{}`).message.Get("result")
	if failed, _ := result.Get("isError").Bool(); !failed || strings.Contains(string(result), "Which part?") {
		t.Errorf("a form without the state: %s", result)
	}
}

// In the older era the server hears at once that a form cannot be shown, and a
// client whose answer cannot be judged yet may send it again.
func TestFormsOfOlderClientsNeedTheStateToo(t *testing.T) {
	redis := statetest.StartRedis(t)
	server := newFormServer(wideForm)
	g := start(t, formPolicy+"openai {\n\tforms check\n}\nstate redis "+redis.URL+" {\n\tmax_stale 1h\n}\n", stack.Config{Upstream: server})
	c := g.callerWith(t, legacy, member, formsOnly)
	stream := c.ask(t)
	if form := nextEvent(t, stream); !strings.Contains(form, "Which part?") {
		t.Fatalf("the form: %s", form)
	}
	redis.Stop()
	response := c.post(t, `{"jsonrpc":"2.0","id":"form-1","result":{"action":"decline"}}`, nil)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || server.saw("decline") {
		t.Errorf("an answer without the state: %d", response.StatusCode)
	}
	other := c.ask(t)
	if first := nextEvent(t, other); strings.Contains(first, "Which part?") {
		t.Errorf("a form without the state: %s", first)
	}
	// Both calls wait for the one answer that this server takes at a time.
	answers := make(chan string, 2)
	for _, s := range []*bufio.Reader{stream, other} {
		go func() {
			line, _ := s.ReadString('}')
			answers <- line
		}()
	}
	if told := <-answers; !strings.Contains(told, "error -32603") {
		t.Errorf("the server was told %s", told)
	}
}
