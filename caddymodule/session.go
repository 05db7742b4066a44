package caddymodule

import (
	"encoding/json"
	"net/http"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// session is what a client's session id stands for. What later answers depend
// on travels in it, so that no replica has to remember.
type session struct {
	ID        string `json:"i"`           // the server's own
	Upstream  string `json:"u,omitempty"` // where it lives
	Profile   string `json:"p,omitempty"` // of the host
	CoreForms bool   `json:"c,omitempty"` // the client shows forms of MCP
	Forms     bool   `json:"f,omitempty"` // and those of OpenAI
}

// capabilities are the client's, as far as they are remembered.
func (s session) capabilities() rawjson.Value {
	capabilities := rawjson.Value("{}")
	// Setting members of an object literal cannot fail.
	if s.CoreForms {
		capabilities, _ = capabilities.Set(rawjson.Value("{}"), "elicitation", "form")
	}
	if s.Forms {
		capabilities, _ = capabilities.Set(rawjson.Value("{}"), "extensions", "openai/elicitation", "form")
	}
	return capabilities
}

// holder identifies the caller at this endpoint in sealed text. Scopes and the
// token itself stay out: a session outlives both.
func (e *exchange) holder() mcp.Holder {
	if !e.isHeld {
		parts := [][]string{{e.Path, e.Resource, e.principal.Issuer, e.principal.Subject, e.principal.Tenant}}
		if e.registered != nil { // another holder than the same caller without
			parts = append(parts, []string{"registration", e.registered.String()})
		}
		e.held, e.isHeld = mcp.Holder(flight.KeyOf(parts...)), true
	}
	return e.held
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
	if err == nil {
		err = json.Unmarshal([]byte(opened), &e.session)
	}
	if err != nil {
		return sessionGone(e)
	}
	h.Set(mcp.HeaderSession, e.session.ID)
	e.affinity.pinned = e.session.Upstream
	e.sealed = sealed
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
	// Many servers name the session in every answer. The client keeps the id it
	// has: go-sdk gives up on another one, the TypeScript SDKs take it, and it
	// would not hold what initialize told.
	if id == e.session.ID {
		h.Set(mcp.HeaderSession, e.sealed)
		return
	}
	s := session{ID: id, Upstream: e.affinity.chosen}
	if e.message != nil && e.message.Method == "initialize" {
		s.CoreForms, s.Forms = openai.ClientForms(e.message.Params.Get("capabilities"))
		name, _ := e.message.Params.Get("clientInfo", "name").Text()
		s.Profile = openai.HostProfile(name)
	}
	text, _ := json.Marshal(s) // strings and booleans only
	h.Set(mcp.HeaderSession, e.sealer.Seal(mcp.PurposeSession, e.holder(), string(text)))
}

func sessionGone(e *exchange) *mcp.Error {
	return &mcp.Error{Status: http.StatusNotFound, Code: mcp.CodeInvalidRequest, Message: "Session not found", ID: e.requestID()}
}
