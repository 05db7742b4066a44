package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

// operation is one thing that the workspace does. It has two doors, a tool and a
// route of the web API, and behind both the same checks and the same code.
type operation struct {
	tool    *mcp.Tool
	input   *jsonschema.Resolved
	output  *jsonschema.Resolved
	perform func(context.Context, store.Caller, json.RawMessage) (any, error)
}

// add registers an operation, under a route such as "GET /api/decks/{deckId}" if
// it has one. Arguments are checked against the input schema before the handler
// runs and the result against the output schema after it.
func add[In, Out any](s *Server, route string, tool *mcp.Tool, handle func(context.Context, store.Caller, In) (Out, error)) {
	op := &operation{tool, resolve(tool.InputSchema), resolve(tool.OutputSchema), func(ctx context.Context, who store.Caller, arguments json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, store.Refuse(store.Invalid, "the arguments do not fit the schema")
		}

		return handle(ctx, who, in)
	}}
	s.mcp.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return s.callTool(ctx, op, req)
	})
	if route != "" {
		s.web.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) { s.serveOperation(w, r, op) })
	}
}

// do runs an operation for whoever the headers name. Its errors are refusals.
func (s *Server) do(ctx context.Context, op *operation, header http.Header, arguments json.RawMessage) (json.RawMessage, *store.Error) {
	result, err := op.run(ctx, header, arguments)
	if err != nil {
		return nil, s.public(ctx, err)
	}

	return result, nil
}

func (op *operation) run(ctx context.Context, header http.Header, arguments json.RawMessage) (json.RawMessage, error) {
	who, err := callerOf(header)
	if err != nil {
		return nil, err
	}

	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	if err := validate(op.input, arguments); err != nil {
		return nil, store.Refuse(store.Invalid, err.Error())
	}
	out, err := op.perform(ctx, who, arguments)
	if err != nil {
		return nil, err
	}

	result, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encoding the result of %s: %w", op.tool.Name, err)
	}
	if err := validate(op.output, result); err != nil {
		return nil, fmt.Errorf("the result of %s: %w", op.tool.Name, err)
	}

	return result, nil
}

// callTool is the door for MCP. A refusal is a result with isError, whose text is
// the refusal as JSON.
func (s *Server) callTool(ctx context.Context, op *operation, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	result, refusal := s.do(ctx, op, headerOf(req.Extra), req.Params.Arguments)
	if refusal != nil {
		text, err := json.Marshal(refusal)
		if err != nil {
			return nil, fmt.Errorf("encoding a refusal: %w", err)
		}

		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil
	}

	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(result)}},
		StructuredContent: result,
	}, nil
}

// public returns what a caller may read of an error.
func (s *Server) public(ctx context.Context, err error) *store.Error {
	if refusal, ok := errors.AsType[*store.Error](err); ok {
		return refusal
	}

	if ctx.Err() == nil {
		s.log.ErrorContext(ctx, "workspace failed", "error", err)
	}

	return store.Refuse(store.InternalFailure, "internal error")
}

// invalidParams is the protocol error of prompts and resources, which have no
// error results of their own.
func invalidParams(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
}

// All hints are set in both directions: reviewers of apps refuse absent ones.

func readOnly() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		ReadOnlyHint:    true,
		IdempotentHint:  true,
		DestructiveHint: new(false),
		OpenWorldHint:   new(false),
	}
}

// readOnlyElsewhere is for tools that read what strangers wrote.
func readOnlyElsewhere() *mcp.ToolAnnotations {
	hints := readOnly()
	hints.OpenWorldHint = new(true)

	return hints
}

func writing() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)}
}

func destructive() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(false)}
}
