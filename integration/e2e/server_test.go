package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// recorder notes every request that reaches a server.
type recorder struct {
	next http.Handler

	mu       sync.Mutex
	requests []seenRequest
}

// seenRequest is what a server sees of a request.
type seenRequest struct {
	method, path, host string
	header, trailer    http.Header
	body               string
	rpc                string // JSON-RPC method
	session            string // of the request, or of the answer that opened it
}

func (s seenRequest) String() string { return s.method + " " + s.path + " " + s.body }

func record(next http.Handler) *recorder { return &recorder{next: next} }

func (rec *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a body that breaks off is seen as far as it came
	r.Body = io.NopCloser(bytes.NewReader(body))
	var envelope struct{ Method string }
	_ = json.Unmarshal(body, &envelope) // no JSON, no method
	seen := seenRequest{
		r.Method, r.URL.RequestURI(), r.Host, r.Header.Clone(), r.Trailer.Clone(),
		string(body), envelope.Method, r.Header.Get("Mcp-Session-Id"),
	}
	if seen.session == "" {
		w = &sessionSpy{w, rec, rec.add(seen)}
	} else {
		rec.add(seen)
	}
	rec.next.ServeHTTP(w, r)
}

func (rec *recorder) add(seen seenRequest) (index int) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.requests = append(rec.requests, seen)
	return len(rec.requests) - 1
}

func (rec *recorder) seen() []seenRequest {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return append([]seenRequest(nil), rec.requests...)
}

// private lists the sessions that the gateway has opened for itself, and those
// it has closed.
func (rec *recorder) private() (opened, closed []string) {
	for _, seen := range rec.seen() {
		switch {
		case seen.rpc == "initialize" && strings.Contains(seen.body, `"mcp-app-`):
			opened = append(opened, seen.session)
		case seen.method == http.MethodDelete:
			closed = append(closed, seen.session)
		}
	}
	return opened, closed
}

func (rec *recorder) forget() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.requests = nil
}

// sessionSpy notes the session that an answer opens.
type sessionSpy struct {
	http.ResponseWriter
	rec   *recorder
	index int
}

func (s *sessionSpy) WriteHeader(status int) {
	s.rec.mu.Lock()
	if s.index < len(s.rec.requests) {
		s.rec.requests[s.index].session = s.Header().Get("Mcp-Session-Id")
	}
	s.rec.mu.Unlock()
	s.ResponseWriter.WriteHeader(status)
}

func (s *sessionSpy) Write(p []byte) (int, error) {
	s.rec.mu.Lock()
	if s.index < len(s.rec.requests) {
		s.rec.requests[s.index].session = s.Header().Get("Mcp-Session-Id")
	}
	s.rec.mu.Unlock()
	return s.ResponseWriter.Write(p)
}

func (s *sessionSpy) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func schema(text string) json.RawMessage { return json.RawMessage(text) }

// serveTools is an MCP server of both eras that lists other tools for each
// HTTP request. Every tool answers with an empty object.
func serveTools(toolsFor func(*http.Request) []*mcp.Tool) http.Handler {
	serverFor := func(r *http.Request) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "picky", Version: "1"}, nil)
		for _, tool := range toolsFor(r) {
			mcp.AddTool(server, tool, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, map[string]any, error) {
				return nil, map[string]any{}, nil
			})
		}
		return server
	}
	return bothEras(serverFor)
}

// bothEras serves the modern era without sessions and the legacy one with them,
// as the protocol library needs it.
func bothEras(serverFor func(*http.Request) *mcp.Server) http.Handler {
	stateful := mcp.NewStreamableHTTPHandler(serverFor, nil)
	stateless := mcp.NewStreamableHTTPHandler(serverFor, &mcp.StreamableHTTPOptions{Stateless: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= modern {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})
}

// answerWith is a server that gives every request the same answer.
func answerWith(status int, header map[string]string, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range maps.All(header) {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}
