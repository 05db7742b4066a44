package caddymodule

import (
	"net/http"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// askLogin answers a caller without a token who uses something that needs one
// (mixed mode). For a tool call that is a result, not an HTTP error: ChatGPT
// shows its login beside the tool only if the result carries the challenge. For
// everything else it is the challenge itself.
func (e *exchange) askLogin(w http.ResponseWriter, found route, scopes []string) {
	challenge := token.Challenge{ResourceMetadata: found.metadataURL, Scopes: scopes}
	if e.message.Method != "tools/call" || e.message.Kind != mcp.Call {
		w.Header().Set("WWW-Authenticate", challenge.Header())
		e.writeAuthError(w, e.r, http.StatusUnauthorized, "login_required", "this needs an access token")
		return
	}
	challenge.Error, challenge.Description = token.InsufficientScope, "log in to use this tool"
	result := failedCall(e.emptyResult(), "This tool needs a login.")
	// Setting a member of an object of our own cannot fail.
	result, _ = result.Set(rawjson.ArrayOf(rawjson.Quote(challenge.Header())), "_meta", "mcp/www_authenticate")
	writeBody(w, http.StatusOK, "application/json", e.resultMessage(result))
}
