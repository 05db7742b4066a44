package caddymodule

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// pageServer is a server with a page, and counts how often it is asked for its
// tools.
type pageServer struct{ asked atomic.Int32 }

func (s *pageServer) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var message struct {
		Method string
		ID     json.RawMessage
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return err
	}
	result := `{"resources":[{"uri":"ui://page","name":"page"}]}`
	if message.Method == "tools/list" {
		s.asked.Add(1)
		result = `{"tools":[{"name":"shown","_meta":{"ui":{"resourceUri":"ui://page"}}}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
	return err
}

// Modern messages of a client with the given capabilities.
func modernMeta(capabilities string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities +
		`,"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}`
}

func modernPost(t testing.TB, method, capabilities string) *http.Request {
	t.Helper()
	return post(t, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+modernMeta(capabilities)+`}}`,
		map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method})
}

func listPages(t testing.TB, capabilities string) *http.Request {
	t.Helper()
	return modernPost(t, "resources/list", capabilities)
}

// A catalog is what the server said to one question. Whatever might have changed
// the answer makes another question.
func TestACatalogIsKeptForTheSameQuestionOnly(t *testing.T) {
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		again  bool
	}{
		{"nothing", func(*http.Request) {}, false},
		{"the trace", header("Traceparent", "00-0-0-00"), false},
		{"the user agent", header("User-Agent", "x"), false},
		{"a mirrored argument", header("Mcp-Param-X", "x"), false},
		{"the language", header("Accept-Language", "de"), true},
		{"a cookie", header("Cookie", "a=b"), true},
		{"any other header", header("X-Feature", "x"), true},
		{"a header of another case", func(r *http.Request) { r.Header["x-feature"] = []string{"x"} }, true},
		{"the query", func(r *http.Request) { r.URL.RawQuery = "tier=gold" }, true},
		{"the host", func(r *http.Request) { r.Host = "globex.example.com" }, true},
		{"the client's capabilities", func(r *http.Request) { r.Body = listPages(t, `{"sampling":{}}`).Body }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, server := mustLoad(t, filtering), &pageServer{}
			changed := listPages(t, "{}")
			tt.change(changed)
			for i, r := range []*http.Request{listPages(t, "{}"), listPages(t, "{}"), changed} {
				w := serve(t, m, r, server.ServeHTTP)
				if !strings.Contains(w.Body.String(), "ui://page") {
					t.Fatalf("request %d: %d %s", i, w.Code, w.Body)
				}
			}
			want := int32(1)
			if tt.again {
				want = 2
			}
			if got := server.asked.Load(); got != want {
				t.Errorf("the server was asked %d times, want %d", got, want)
			}
		})
	}
}

func TestAChangedListIsAskedForAgain(t *testing.T) {
	m, server := mustLoad(t, filtering), &pageServer{}
	serve(t, m, listPages(t, "{}"), server.ServeHTTP)
	serve(t, m, post(t, listRequest, nil), answering(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}},
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\ndata: "+fullList+"\n\n"))
	serve(t, m, listPages(t, "{}"), server.ServeHTTP)
	if got := server.asked.Load(); got != 2 {
		t.Errorf("the server was asked %d times, want 2", got)
	}
}

// The policy is asked on every message: a cached fact permits nothing.
func TestACachedCatalogPermitsNothing(t *testing.T) {
	server := &pageServer{}
	for tool, want := range map[string]bool{"shown": true, "other": false} {
		m := mustLoad(t, "auth {\nmode none\n}\npolicy {\ntool "+tool+"\n}\n")
		for range 2 {
			w := serve(t, m, listPages(t, "{}"), server.ServeHTTP)
			if got := strings.Contains(w.Body.String(), "ui://page"); got != want {
				t.Errorf("policy of %s: the page is listed: %v, want %v", tool, got, want)
			}
		}
	}
}

// Handlers behind us write to the request they get, its variables and
// placeholders. A question of our own runs at the same time and must neither
// see nor suffer that; the race detector watches.
func TestQuestionsShareNothingWithTheCallersRequest(t *testing.T) {
	m := mustLoad(t, filtering+"openai {\nsettings settings.read settings.update\n}\n")
	server := &pageServer{}
	var mine atomic.Int32
	next := func(w http.ResponseWriter, r *http.Request) error {
		if seen := caddyhttp.GetVar(r.Context(), "seen"); seen != nil || r.Header.Get("X-Seen") != "" {
			t.Errorf("%s has the marks of another request", r.Header.Get("Mcp-Method"))
		}
		if value, _ := replacerOf(r).Get("http.test.seen"); value != nil {
			t.Error("the placeholders are those of another request")
		}
		for i := range 100 {
			r.Header.Set("X-Seen", fmt.Sprint(i))
			r.Header.Add("X-Many", fmt.Sprint(i))
			caddyhttp.SetVar(r.Context(), "seen", i)
			replacerOf(r).Set("http.test.seen", i)
			r.URL.RawQuery = fmt.Sprint(i)
		}
		mine.Add(1)
		return server.ServeHTTP(w, r)
	}
	for range 20 {
		serve(t, m, modernPost(t, "server/discover", "{}"), next)
	}
	if mine.Load() < 20 {
		t.Errorf("%d requests went on", mine.Load())
	}
}
