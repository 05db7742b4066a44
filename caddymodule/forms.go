package caddymodule

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// How many refusals of one exchange may be on their way to the server at a
// time, and for how long.
const (
	maxRefusals    = 8
	refusalTimeout = 5 * time.Second
)

// formContext is what forms for this caller are judged by: what its client said
// it can show, in this request or, in the legacy era, when the session began.
func (e *exchange) formContext() openai.FormContext {
	c := openai.FormContext{Modern: e.era() == mcp.Modern, Visible: e.view.mayCall, Client: e.session.capabilities()}
	if e.message != nil && e.message.Era == mcp.Modern {
		c.Client = e.message.Params.Get("_meta", "io.modelcontextprotocol/clientCapabilities")
	}
	if e.filtersContent() {
		c.Readable = func(uri string) bool { return e.view.Shows(policy.Resource, uri) }
	}
	return c
}

// checkServerRequest looks at what the server asks its client, and returns what
// the client may get of it. A form that the client cannot or must not show is
// kept from it, and answered as the client would answer what it does not know:
// otherwise the call behind the form would never end.
func (e *exchange) checkServerRequest(request rawjson.Value) rawjson.Value {
	checked, findings, err := e.overlay.ServerRequest(request, e.formContext())
	e.warnFindings(findings)
	if err == nil {
		err = e.keepForm(request)
	}
	if err == nil {
		return checked
	}
	metrics.withheld.with([1]string{"form"}).Inc()
	countFindings([]openai.Finding{{Code: openai.FormRefused}})
	e.logger.Error("form withheld", zap.String("code", openai.FormRefused), zap.String("tool", e.toolName()),
		zap.String("subject", loggable(e.principal.Subject)), zap.Error(err))
	refusal := &mcp.Error{Code: mcp.CodeInvalidParams, Message: "Invalid params: " + err.Error(), ID: slices.Clone(request.Get("id"))}
	switch {
	case errors.Is(err, openai.ErrNoForms):
		refusal.Code, refusal.Message = mcp.CodeMethodNotFound, err.Error()
	case errors.Is(err, errFormUnkept):
		refusal.Code, refusal.Message = mcp.CodeInternalError, "temporarily unavailable"
	}
	e.answerServer(refusal)
	return nil
}

// answerServer sends a refusal in the caller's session, beside the stream that
// the request came on: that must not wait for the server.
func (e *exchange) answerServer(refusal *mcp.Error) {
	if e.session.ID == "" || !refusal.ID.Exists() {
		return // nowhere to answer: servers ask within sessions only
	}
	if e.refusals.Add(1) > maxRefusals {
		e.refusals.Add(-1)
		e.logger.Warn("form left unanswered: too many were refused at once", zap.String("code", openai.FormRefused))
		return
	}
	q := e.questions()
	// The server waits for its answer also where the client has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.r.Context()), refusalTimeout)
	go func() {
		defer e.refusals.Add(-1)
		defer cancel()
		if err := mcp.Refuse(ctx, q.exchange, q.template().Header, refusal); err != nil {
			e.logger.Warn("form left unanswered", zap.String("code", openai.FormRefused), zap.Error(err))
		}
	}()
}
