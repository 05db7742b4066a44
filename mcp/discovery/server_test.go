package discovery

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is an MCP server that answers as a test says, over a real socket.
type server struct {
	*httptest.Server
	// answers give the result of a method, or an error object if it begins with
	// "error:", or write the whole answer themselves.
	answers map[string]any
	stream  bool // answers as event streams that stay open

	mu  sync.Mutex
	log []string
	got []http.Header
}

// respond writes an answer by itself.
type respond func(w http.ResponseWriter, r *http.Request, id json.RawMessage)

const oneTool = `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`

func newServer(t testing.TB, answers map[string]any) *server {
	s := &server{answers: map[string]any{
		"server/discover":           `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`,
		"initialize":                `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`,
		"notifications/initialized": respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { w.WriteHeader(http.StatusAccepted) }),
		"tools/list":                oneTool,
	}}
	for method, answer := range answers {
		s.answers[method] = answer
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	var message struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params struct {
			Cursor *string         `json:"cursor"`
			Meta   json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &message)
	if r.Method == http.MethodDelete {
		message.Method = "DELETE"
	}
	name := message.Method
	if message.Params.Cursor != nil {
		name += " " + *message.Params.Cursor
	}
	s.mu.Lock()
	s.log = append(s.log, name)
	s.got = append(s.got, r.Header.Clone())
	s.mu.Unlock()
	answer := s.answers[name]
	switch answer := answer.(type) {
	case respond:
		answer(w, r, message.ID)
	case string:
		member := "result"
		if text, isError := strings.CutPrefix(answer, "error:"); isError {
			member, answer = "error", text
		}
		if name == "initialize" {
			w.Header().Set("Mcp-Session-Id", "session-1")
		}
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, message.ID, member, answer)
		if s.stream {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": hello\n\nevent: message\ndata: "+text+"\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done() // the stream stays open behind the answer
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, message.ID)
	}
}

// asked lists what the server was asked, in order.
func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

// discover asks the server, by an engine with a short deadline unless one is
// given.
func (s *server) discover(t testing.TB, e *Engine, target Target) (*Report, *Error) {
	t.Helper()
	if e == nil {
		e = &Engine{Timeout: 20 * time.Second}
	}
	target.URL = s.URL + "/mcp"
	report, err := e.Discover(t.Context(), target)
	if report == nil {
		t.Fatal(err)
	}
	if (err != nil) != (report.Failure != nil) {
		t.Fatalf("error %v, failure %v", err, report.Failure)
	}
	return report, report.Failure
}
