package workspace

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

// maxBody bounds a request body of the web API, in bytes.
const maxBody = 256 << 10

// serveOperation is the door for the web. The arguments are the members of a JSON
// body, then those of the query, then those in the path.
func (s *Server) serveOperation(w http.ResponseWriter, r *http.Request, op *operation) {
	arguments, refusal := op.argumentsOf(r)
	if refusal != nil {
		answer(w, statusOf(refusal.Code), map[string]any{"error": refusal})
		return
	}
	result, refusal := s.do(r.Context(), op, r.Header, arguments)
	if refusal != nil {
		answer(w, statusOf(refusal.Code), map[string]any{"error": refusal})
		return
	}

	answer(w, http.StatusOK, result)
}

// statusOf is the HTTP status of a refusal.
func statusOf(code store.Code) int {
	switch code {
	case store.Invalid, store.BadCursor:
		return http.StatusBadRequest
	case store.NoTenant, store.NoSubject:
		return http.StatusForbidden
	case store.Unknown:
		return http.StatusNotFound
	case store.Stale, store.Conflict, store.ConnectionDown:
		return http.StatusConflict
	case store.Full:
		return http.StatusInsufficientStorage
	case store.RelayDown:
		return http.StatusBadGateway
	case store.InternalFailure:
		return http.StatusInternalServerError
	}

	return http.StatusInternalServerError
}

// argumentsOf puts the arguments of a web request together.
func (op *operation) argumentsOf(r *http.Request) (json.RawMessage, *store.Error) {
	arguments := make(map[string]json.RawMessage)
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		// A form of another site cannot send this type without asking first.
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
			return nil, store.Refuse(store.Invalid, "the body must be application/json")
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
		if err != nil || len(body) > maxBody || json.Unmarshal(body, &arguments) != nil || arguments == nil {
			return nil, store.Refuse(store.Invalid, fmt.Sprintf("the body must be a JSON object of at most %d bytes", maxBody))
		}
	}

	for name, values := range r.URL.Query() {
		arguments[name] = op.argument(name, values)
	}
	for name := range op.input.Schema().Properties {
		if value := r.PathValue(name); value != "" {
			arguments[name] = quote(value)
		}
	}

	all, err := json.Marshal(arguments)
	if err != nil {
		return nil, store.Refuse(store.Invalid, "the arguments are not readable")
	}

	return all, nil
}

// argument reads values of a query as the schema has them: a list, a number, an
// object as JSON, or text.
func (op *operation) argument(name string, values []string) json.RawMessage {
	schema := op.input.Schema().Properties[name]
	value := values[len(values)-1]
	switch {
	case schema == nil:
	case schema.Type == "array":
		quoted := make([]string, len(values))
		for i, v := range values {
			quoted[i] = string(quote(v))
		}

		return json.RawMessage("[" + strings.Join(quoted, ",") + "]")
	case schema.Type == "integer":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return json.RawMessage(strconv.FormatInt(n, 10))
		}
	case schema.Type == "object" && json.Valid([]byte(value)):
		return json.RawMessage(value)
	}

	return quote(value)
}

func quote(text string) json.RawMessage {
	quoted, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`)
	}

	return quoted
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":{"code":"internal_error","message":"internal error"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "private, no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text) // fails if the client is gone
}
