package caddymodule

import (
	"net/http"
	"strconv"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
)

// writeBody sends a complete answer that nobody may keep.
func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	if status >= 400 {
		countRefused(status)
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A client that has gone away is no error of ours.
	_, _ = w.Write(body)
}

// writeError sends a JSON-RPC error. Modern clients take a 4xx without such a
// body for a server of the legacy era and silently downgrade.
func writeError(w http.ResponseWriter, e *mcp.Error) {
	writeBody(w, e.Status, "application/json", e.Body())
}

// writeRefusal sends an answer of the boundary, before any message was read.
func writeRefusal(w http.ResponseWriter, refused *refusal) {
	if refused.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", "POST, GET, DELETE, OPTIONS")
	}
	writeError(w, &mcp.Error{Status: refused.status, Code: mcp.CodeInvalidRequest, Message: refused.text})
}
