package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// pagedServer answers tools/list in pages of one tool, in either era.
type pagedServer struct {
	mu      sync.Mutex
	tools   []string
	session string // handed out by initialize, and then required
	sse     bool
	log     []string
}

func (s *pagedServer) exchange(_ context.Context, method string, h http.Header, body []byte, id rawjson.Value) (*Answer, error) {
	header := make(http.Header)
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == http.MethodDelete {
		s.log = append(s.log, "DELETE "+h.Get(HeaderSession))
		return &Answer{Status: http.StatusNoContent, Header: header}, nil
	}
	v, err := rawjson.Parse(body, DefaultDepth)
	if err != nil {
		return nil, err
	}
	rpc, _ := v.Get("method").Text()
	s.log = append(s.log, rpc+" "+h.Get(HeaderSession))
	answer := func(result string) (*Answer, error) {
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
		header.Set("Content-Type", "application/json")
		if s.sse {
			header.Set("Content-Type", "text/event-stream")
			message = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: " + message + "\n\n"
		}
		return &Answer{Status: http.StatusOK, Header: header, Body: []byte(message)}, nil
	}
	switch rpc {
	case "initialize":
		if s.session != "" {
			header.Set(HeaderSession, s.session)
		}
		return answer(`{"protocolVersion":"2025-11-25","capabilities":{}}`)
	case "notifications/initialized":
		return &Answer{Status: http.StatusAccepted, Header: header}, nil
	case "tools/list":
		cursor, _ := v.Get("params", "cursor").Text()
		i := max(slices.Index(s.tools, cursor), 0)
		next := ""
		if i+1 < len(s.tools) {
			next = fmt.Sprintf(`,"nextCursor":%q`, s.tools[i+1])
		}
		return answer(fmt.Sprintf(`{"tools":[{"name":%q}]%s}`, s.tools[i], next))
	default:
		return &Answer{Status: http.StatusNotFound, Header: header}, nil
	}
}

func read(t *testing.T, h http.Header, body string) *Request {
	t.Helper()
	r, err := Reader{}.Read(h, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheCatalogIsAskedOnAllPages(t *testing.T) {
	for _, sse := range []bool{false, true} {
		server := &pagedServer{tools: []string{"a", "b", "c"}, sse: sse}
		r := read(t, modern("server/discover", ""), `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`)
		catalog, err := AskCatalog(t.Context(), server.exchange, r, http.Header{}, 10)
		if err != nil || !slices.Equal(catalog.Names(), []string{"a", "b", "c"}) {
			t.Errorf("sse %v: got %v, %v", sse, catalog, err)
		}
	}
}

// A legacy initialize has no session to ask in; the one made for asking must
// not stay behind on the server.
func TestThePrivateSessionIsClosedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &pagedServer{tools: []string{"a"}, session: "private"}
		r := read(t, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		if _, err := AskCatalog(t.Context(), server.exchange, r, header(HeaderSession, "stray"), 10); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it is closed behind the answer
		want := []string{"initialize ", "notifications/initialized private", "tools/list private", "DELETE private"}
		if !slices.Equal(server.log, want) {
			t.Errorf("server saw %q, want %q", server.log, want)
		}
	})
}

func TestACatalogThatCannotBeTrustedIsNone(t *testing.T) {
	answers := map[string]string{
		"tool listed twice":        `{"tools":[{"name":"a"},{"name":"a"}]}`,
		"name read in two ways":    `{"tools":[{"name":"a","NAME":"b"}]}`,
		"no list":                  `{}`,
		"list is an object":        `{"tools":{}}`,
		"more tools than allowed":  `{"tools":[{"name":"a"},{"name":"b"},{"name":"c"}]}`,
		"cursor that never ends":   `{"tools":[],"nextCursor":"same"}`,
		"result is no object":      `7`,
		"error instead of results": `ERROR`,
	}
	r := read(t, modern("tools/list", ""), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`)
	for name, result := range answers {
		ask := func(_ context.Context, _ string, _ http.Header, _ []byte, id rawjson.Value) (*Answer, error) {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
			if result == "ERROR" {
				body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"m"}}`, id)
			}
			return &Answer{Status: http.StatusOK, Header: header("Content-Type", "application/json"), Body: []byte(body)}, nil
		}
		if catalog, err := AskCatalog(t.Context(), ask, r, http.Header{}, 2); !errors.Is(err, ErrCatalog) {
			t.Errorf("%s: got %v, %v", name, catalog, err)
		}
	}
	for name, ask := range map[string]Exchange{
		"server down": func(context.Context, string, http.Header, []byte, rawjson.Value) (*Answer, error) {
			return nil, errors.New("refused")
		},
		"server refuses": func(context.Context, string, http.Header, []byte, rawjson.Value) (*Answer, error) {
			return &Answer{Status: http.StatusUnauthorized, Header: http.Header{}}, nil
		},
	} {
		if _, err := AskCatalog(t.Context(), ask, r, http.Header{}, 2); !errors.Is(err, ErrCatalog) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestUIResourcesAreFoundInEverySpelling(t *testing.T) {
	var c Catalog
	err := c.addPage(rawjson.Value(`{"tools":[
		{"name":"a","_meta":{"ui":{"resourceUri":"ui://x"}}},
		{"name":"b","_meta":{"ui/resourceUri":"ui://x"}},
		{"name":"c","_meta":{"openai/outputTemplate":"ui://x"}},
		{"name":"d","_meta":{"ui":{"resourceUri":"ui://y"}}}]}`), 10)
	if err != nil || !slices.Equal(c.ToolsShowing("ui://x"), []string{"a", "b", "c"}) {
		t.Errorf("got %v, %v", c.ToolsShowing("ui://x"), err)
	}
}

func TestPagesThatBecomeEmptyAreReadOn(t *testing.T) {
	pages := map[string]string{
		"2": `{"tools":[{"name":"hidden-2"}],"nextCursor":"3"}`,
		"3": `{"tools":[{"name":"shown-3"}],"nextCursor":"4"}`,
	}
	w := rewriter(Legacy)
	w.Next = func(cursor string) (rawjson.Value, error) {
		page, ok := pages[cursor]
		if !ok {
			return nil, errors.New("no such page")
		}
		return rawjson.Value(page), nil
	}
	got, err := w.Message([]byte(`{"id":1,"result":{"tools":[{"name":"hidden-1"}],"nextCursor":"2","x":1}}`))
	if want := `{"id":1,"result":{"tools":[{"name":"shown-3"}],"x":1,"nextCursor":"4"}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	got, err = w.Message([]byte(`{"id":1,"result":{"tools":[{"name":"hidden-1"}],"nextCursor":"9"}}`))
	if want := `{"id":1,"result":{"tools":[],"nextCursor":"9"}}`; err != nil || string(got) != want {
		t.Errorf("page that cannot be had: got %s, %v\nwant %s", got, err, want)
	}
}

func TestCursorsAndTasksAreSealedBothWays(t *testing.T) {
	s, holder := sealer(t, 1), Holder{7}
	w := rewriter(Legacy)
	w.Tasks = true
	w.Seal = func(cursor string) string { return s.Seal(PurposeCursor, holder, cursor) }
	w.SealTask = func(id string, _ TaskSaid) (string, bool) { return s.Seal(PurposeTask, holder, id), true }
	out, err := w.Message([]byte(`{"id":1,"result":{"tools":[],"nextCursor":"secret-name","task":{"taskId":"t1"},"tasks":[{"taskId":"t1"}]}}`))
	if err != nil || strings.Contains(string(out), "secret-name") || strings.Contains(string(out), `"t1"`) {
		t.Fatalf("got %s, %v", out, err)
	}
	result := rawjson.Value(out).Get("result")
	cursor, _ := result.Get("nextCursor").Text()
	task, _ := result.Get("task", "taskId").Text()
	open := func(p Purpose, text string) (string, error) { return s.Unseal(p, holder, text) }
	r := read(t, nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"`+cursor+`","_meta":{"x":1}}}`)
	if err := r.Unseal(open); err != nil || string(r.Body) != `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"secret-name","_meta":{"x":1}}}` {
		t.Errorf("cursor: %s, %v", r.Body, err)
	}
	reader := Reader{Known: func(Era, string) bool { return true }}
	r, err = reader.Read(nil, []byte(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"`+task+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Unseal(open); err != nil || r.Name != "t1" {
		t.Errorf("task: %q, %v", r.Name, err)
	}
	r = read(t, nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"secret-name"}}`)
	var refused *Error
	if err := r.Unseal(open); !errors.As(err, &refused) || refused.Code != CodeInvalidParams {
		t.Errorf("a cursor nobody handed out: %v", err)
	}
}

func TestSubscriptionsToHiddenResourcesAreDropped(t *testing.T) {
	r := read(t, modern("subscriptions/listen", ""), `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["ui://shown","ui://hidden"]},`+meta+`}}`)
	if err := r.DropSubscriptions(onlyShown{}.ShowsResource, nil); err != nil {
		t.Fatal(err)
	}
	if got := string(r.Params.Get("notifications")); got != `{"toolsListChanged":true,"resourceSubscriptions":["ui://shown"]}` {
		t.Errorf("got %s", got)
	}
}

func TestLinksToHiddenResourcesAreLeftOut(t *testing.T) {
	w := rewriter(Legacy)
	w.Content = true
	tests := []struct{ in, want string }{
		{
			`{"content":[{"type":"text","text":"t"},{"type":"resource_link","uri":"ui://hidden"},{"type":"resource_link","uri":"ui://shown"},{"type":"resource","resource":{"uri":"hidden","text":"x"}},{"type":"video"}]}`,
			`{"content":[{"type":"text","text":"t"},{"type":"resource_link","uri":"ui://shown"},{"type":"video"}]}`,
		},
		{
			`{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"hidden"}}},{"role":"user","content":[{"type":"resource_link","uri":"hidden"},{"type":"text"}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text"}]}]}`,
		},
		{`{"content":[{"type":"resource_link","uri":"shown","URI":"hidden"}]}`, `{"content":[]}`},
	}
	for _, tt := range tests {
		got, err := w.Message([]byte(`{"id":1,"result":` + tt.in + `}`))
		if want := `{"id":1,"result":` + tt.want + `}`; err != nil || string(got) != want {
			t.Errorf("got %s, %v\nwant %s", got, err, want)
		}
	}
}
