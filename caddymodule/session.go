package caddymodule

import (
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
)

// holder identifies the caller at this endpoint in sealed text. Scopes and the
// token itself stay out: a session outlives both.
func (e *exchange) holder() mcp.Holder {
	h := sha256.New()
	hashStrings(h, e.Path, e.Resource, e.principal.Issuer, e.principal.Subject, e.principal.Tenant)
	return mcp.Holder(h.Sum(nil))
}

// era is the era of the message, or of a request without one.
func (e *exchange) era() mcp.Era {
	if e.message != nil {
		return e.message.Era
	}
	return mcp.EraOf(e.r.Header.Get(mcp.HeaderVersion))
}

// openSession puts the server's own session id into the request. Sessions of
// somebody else and invented ones get the one answer that makes clients begin
// anew, and nobody learns which it was (MCP 2025-11-25, basic/transports
// "Session Management").
func (e *exchange) openSession() error {
	h := e.r.Header
	sealed := h.Get(mcp.HeaderSession)
	switch {
	case e.era() == mcp.Modern: // has no sessions; a stray header means nothing
		h.Del(mcp.HeaderSession)
		return nil
	case sealed == "" && e.message != nil && e.message.Kind == mcp.Response:
		// Servers ask their clients within sessions only.
		return &mcp.Error{Status: http.StatusBadRequest, Code: mcp.CodeInvalidRequest, Message: "a response needs the session it belongs to"}
	case sealed == "":
		return nil
	}
	opened, err := e.sealer.Unseal(mcp.PurposeSession, e.holder(), sealed)
	upstream, id, ok := strings.Cut(opened, "\n")
	if err != nil || !ok {
		return sessionGone(e)
	}
	h.Set(mcp.HeaderSession, id)
	e.affinity.pinned = upstream
	return nil
}

// sealSession replaces the session id in an answer.
func (e *exchange) sealSession(h http.Header) {
	id := h.Get(mcp.HeaderSession)
	if id == "" {
		return
	}
	if e.era() == mcp.Modern {
		h.Del(mcp.HeaderSession)
		return
	}
	h.Set(mcp.HeaderSession, e.sealer.Seal(mcp.PurposeSession, e.holder(), e.affinity.chosen+"\n"+id))
}

func sessionGone(e *exchange) *mcp.Error {
	return &mcp.Error{Status: http.StatusNotFound, Code: mcp.CodeInvalidRequest, Message: "Session not found", ID: e.requestID()}
}
