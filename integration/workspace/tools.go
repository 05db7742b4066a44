package workspace

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// refusal is an error whose text is meant for the caller. Every other error is
// logged and shown as an internal error.
type refusal string

func (r refusal) Error() string { return string(r) }

// addTool registers a tool whose handler gets the caller of each request.
// Arguments are checked against the input schema before the handler runs and the
// result against the output schema after it; a refusal becomes a tool error.
func addTool[In, Out any](s *Server, tool *mcp.Tool, handle func(context.Context, caller, In) (Out, error)) {
	mcp.AddTool(s.mcp, tool, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var none Out

		who, err := callerOf(headerOf(req.Extra))
		if err != nil {
			return nil, none, err
		}

		out, err := handle(ctx, who, in)
		if err != nil {
			return nil, none, s.public(ctx, err)
		}

		return nil, out, nil
	})
}

// public returns what a caller may read of an error.
func (s *Server) public(ctx context.Context, err error) error {
	if r, ok := errors.AsType[refusal](err); ok {
		return r
	}

	s.log.ErrorContext(ctx, "workspace failed", "error", err)

	return errors.New("internal error")
}

// invalidParams is the protocol error of prompts and resources, which have no
// error results of their own.
func invalidParams(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
}

// nothing is the input of tools that take no arguments.
type nothing struct{}

// schemaNothing accepts {} and nothing else.
var schemaNothing = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// All hints are set in both directions: reviewers of apps refuse absent ones.

func readOnly() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		ReadOnlyHint:    true,
		IdempotentHint:  true,
		DestructiveHint: new(false),
		OpenWorldHint:   new(false),
	}
}

func writing() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)}
}

func destructive() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(false)}
}
