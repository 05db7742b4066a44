package workspace

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxRecorded bounds each record; older entries make room for newer ones.
	maxRecorded = 1024

	// maxRecordedArguments bounds the arguments kept with one call, in bytes.
	maxRecordedArguments = 64 << 10
)

// Call is one tools/call that reached the server, whether or not it succeeded
// and whether or not the tool exists.
type Call struct {
	Tool      string
	Tenant    string // of the identity header, empty if there was none
	Subject   string
	Arguments json.RawMessage // nil if absent or over 64 KiB
	Header    http.Header     // all headers of the HTTP request
}

// Request is one HTTP request that reached the server, whatever its path.
type Request struct {
	Method string // of HTTP
	Path   string // with the query
	Host   string
	RPC    string // JSON-RPC method, empty for a response or an unreadable body
	Header http.Header
}

// Calls returns the newest 1,024 tool calls, oldest first.
func (s *Server) Calls() []Call { return s.calls.all() }

// Requests returns the newest 1,024 HTTP requests, oldest first.
func (s *Server) Requests() []Request { return s.requests.all() }

// ForgetCalls empties both records.
func (s *Server) ForgetCalls() {
	s.calls.clear()
	s.requests.clear()
}

func (s *Server) recordCalls(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
			s.recordCall(call)
		}

		return next(ctx, method, req)
	}
}

func (s *Server) recordCall(req *mcp.CallToolRequest) {
	header := headerOf(req.Extra)
	call := Call{
		Tool:    req.Params.Name,
		Tenant:  header.Get(TenantHeader),
		Subject: header.Get(SubjectHeader),
		Header:  header.Clone(),
	}
	if len(req.Params.Arguments) <= maxRecordedArguments {
		call.Arguments = append(json.RawMessage(nil), req.Params.Arguments...)
	}

	s.calls.add(call)
}

func (s *Server) recordRequest(r *http.Request) {
	s.requests.add(Request{
		Method: r.Method,
		Path:   r.URL.RequestURI(),
		Host:   r.Host,
		RPC:    envelopeOf(r).Method,
		Header: r.Header.Clone(),
	})
}

// headerOf returns the headers of the HTTP request that carried a message, none
// if it came another way.
func headerOf(extra *mcp.RequestExtra) http.Header {
	if extra == nil {
		return nil
	}

	return extra.Header
}

// ring keeps the newest maxRecorded entries. The zero value is empty and ready.
type ring[T any] struct {
	mu      sync.Mutex
	entries []T
	oldest  int // index of the oldest entry once the ring is full
}

func (r *ring[T]) add(entry T) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if len(r.entries) < maxRecorded {
		r.entries = append(r.entries, entry)
		return
	}

	r.entries[r.oldest] = entry
	r.oldest = (r.oldest + 1) % maxRecorded
}

func (r *ring[T]) all() []T {
	r.mu.Lock()
	defer r.mu.Unlock()

	all := make([]T, 0, len(r.entries))
	all = append(all, r.entries[r.oldest:]...)

	return append(all, r.entries[:r.oldest]...)
}

func (r *ring[T]) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.entries, r.oldest = nil, 0
}
