package caddymodule

import (
	"errors"
	"net/http"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/arguments"
)

// parseValidateArguments reads:
//
//	validate_arguments {
//		on_invalid     result | error
//		on_unsupported refuse | pass
//	}
func (m *Handler) parseValidateArguments(d *caddyfile.Dispenser) error {
	if err := opens(d, m.Policy.ValidateArguments != nil); err != nil {
		return err
	}
	m.Policy.ValidateArguments = &arguments.Config{}
	return block(d, map[string]subdirective{
		"on_invalid":     oneOf(&m.Policy.ValidateArguments.OnInvalid, arguments.Result, arguments.Error),
		"on_unsupported": oneOf(&m.Policy.ValidateArguments.OnUnsupported, arguments.Refuse, arguments.Pass),
	})
}

// validateArguments holds a tool call against the schema that the server
// advertises to this caller, and reports whether the answer has been written.
// A tool whose schema nobody knows is not called.
func (e *exchange) validateArguments(w http.ResponseWriter) (done bool) {
	if e.Policy.ValidateArguments == nil || e.message.Method != "tools/call" || e.decoy != nil {
		return false
	}
	tool, ok := callableTools{e.view}.Tool(e.message.Name)
	if !ok {
		// Allowed by the rules and not listed: the server knows no such tool, or
		// its list cannot be had, and then nothing can be checked.
		if _, err := e.view.catalog(); err != nil {
			e.refuse(w, &mcp.Error{Status: http.StatusServiceUnavailable, Code: mcp.CodeInternalError, Message: "temporarily unavailable", ID: e.message.ID})
			return true
		}
		return false
	}
	err := e.argumentChecker.Check(tool.Get("inputSchema"), e.message.Params.Get("arguments"))
	if e.Policy.ValidateArguments.Passes(err) {
		return false
	}
	text := "the arguments of this tool cannot be checked"
	if invalid, ok := errors.AsType[*arguments.InvalidError](err); ok {
		text = invalid.Error()
	}
	e.deny(e.r, causeArguments, err.Error())
	if e.Policy.ValidateArguments.OnInvalid == arguments.Error {
		writeError(w, mcp.InvalidParams(e.message, text))
		return true
	}
	writeBody(w, http.StatusOK, "application/json", e.resultMessage(failedCall(e.emptyResult(), text)))
	return true
}
