package caddymodule

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// traceMessage puts what was read into the span of the request, where Caddy's
// tracing has begun one. The names are those of OpenTelemetry's semantic
// conventions for MCP. Sessions are left out: whoever has the id of one is
// halfway in.
func (e *exchange) traceMessage() {
	span := trace.SpanFromContext(e.r.Context())
	if !span.IsRecording() {
		return
	}
	msg := e.message
	set := func(key, value string) {
		if value != "" {
			span.SetAttributes(attribute.String(key, loggable(value)))
		}
	}
	set("mcp.method.name", msg.Method)
	version := e.r.Header.Get(mcp.HeaderVersion)
	if version == "" {
		version, _ = msg.Params.Get("protocolVersion").Text()
	}
	set("mcp.protocol.version", version)
	id := string(msg.ID)
	if text, ok := msg.ID.Text(); ok {
		id = text
	}
	set("jsonrpc.request.id", id)
	switch mcp.Subject(msg.Method) {
	case mcp.SubjectTool:
		set("gen_ai.tool.name", msg.Name)
	case mcp.SubjectPrompt:
		set("gen_ai.prompt.name", msg.Name)
	case mcp.SubjectResource:
		set("mcp.resource.uri", msg.Name)
	}
}

// traceError puts the code of a JSON-RPC error into the span of a request.
func traceError(ctx context.Context, code string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(attribute.String("rpc.response.status_code", loggable(code)))
	}
}

// traceAnswer does so for an error of the server's.
func (e *exchange) traceAnswer(message rawjson.Value) {
	if !trace.SpanFromContext(e.r.Context()).IsRecording() {
		return
	}
	if code := message.Get("error", "code"); code.Exists() {
		traceError(e.r.Context(), string(code))
	}
}

// traceRefusal does so for an error of ours.
func (e *exchange) traceRefusal(refused *mcp.Error) {
	traceError(e.r.Context(), strconv.Itoa(refused.Code))
}
