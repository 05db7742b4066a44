package caddymodule

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// codeAuthorization is the JSON-RPC code of answers about tokens and rights. It
// lies outside the ranges of JSON-RPC and MCP, which define none for that.
const codeAuthorization = 4010

// maxRefusedBody bounds what is read of a request that is refused before its
// caller is known, only to find its id.
const maxRefusedBody = 64 << 10

// writeAuthError sends an answer about the token: in the shape of RFC 6749 §5.2,
// and to modern clients, which need a JSON-RPC error with their id to recognise
// the era, in that shape with the same words as its data.
func (m *Handler) writeAuthError(w http.ResponseWriter, r *http.Request, status int, code, description string) {
	if mcp.EraOf(r.Header.Get(mcp.HeaderVersion)) == mcp.Legacy || r.Method != http.MethodPost {
		writeOAuthError(w, status, code, description)
		return
	}
	oauth, _ := json.Marshal(oauthError{code, description})
	body := mcp.ErrorMessage(peekID(r), codeAuthorization, description)
	// The message is ours, so that setting a member cannot fail.
	withData, _ := rawjson.Value(body).Set(oauth, "error", "data")
	writeBody(w, status, "application/json", withData)
}

// oauthError is an error in the shape of RFC 6749 §5.2.
type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

func writeOAuthError(w http.ResponseWriter, status int, code, description string) {
	body, _ := json.Marshal(oauthError{code, description})
	writeBody(w, status, "application/json", body)
}

// peekID finds the id of a request whose body has not been read.
func peekID(r *http.Request) rawjson.Value {
	if r.Body == nil {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRefusedBody))
	if err != nil {
		return nil
	}
	message, err := rawjson.Parse(body, mcp.DefaultDepth)
	if err != nil {
		return nil
	}
	if id := message.Get("id"); mcp.ValidID(id) {
		return id
	}
	return nil
}
