package mcp

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// JSON-RPC and MCP error codes (MCP 2026-07-28, basic "Error Codes").
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
	CodeHeaderMismatch = -32020
)

// Error is a refusal of a message that can be sent to the client: an HTTP
// status and a JSON-RPC error. Message must hold nothing an outsider should not
// know.
type Error struct {
	Status  int           // HTTP status
	Code    int           // JSON-RPC error code
	Message string        // for the client
	ID      rawjson.Value // of the refused request, nil if unknown
}

// Error implements error.
func (e *Error) Error() string { return e.Message + " (" + strconv.Itoa(e.Code) + ")" }

// Body returns the JSON-RPC error object, with the id where it was readable and
// null otherwise (JSON-RPC 2.0 §5).
func (e *Error) Body() []byte { return ErrorMessage(e.ID, e.Code, e.Message) }

// ErrorMessage returns a JSON-RPC error response. An absent id becomes null.
func ErrorMessage(id rawjson.Value, code int, message string) []byte {
	if !id.Exists() {
		id = rawjson.Value("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, rawjson.Quote(message))
}

// MethodNotFound is the answer for a method that the era does not know: 404 in
// the modern era, where a body tells it from a missing endpoint; 200 in the
// legacy era, where 404 would mean "session gone" (MCP 2025-11-25,
// basic/transports).
func MethodNotFound(r *Request) *Error {
	e := &Error{Status: http.StatusOK, Code: CodeMethodNotFound, Message: "Method not found", ID: r.ID}
	if r.Era == Modern {
		e.Status = http.StatusNotFound
	}
	return e
}

// InvalidParams is the answer for parameters that a rule of the gateway
// refuses: 400 in the modern era, 200 in the legacy one, where HTTP errors are
// about the transport only.
func InvalidParams(r *Request, reason string) *Error {
	e := &Error{Status: http.StatusOK, Code: CodeInvalidParams, Message: "Invalid params: " + reason, ID: r.ID}
	if r.Era == Modern {
		e.Status = http.StatusBadRequest
	}
	return e
}

func invalid(status, code int, id rawjson.Value, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, ID: id, Message: fmt.Sprintf(format, args...)}
}
