package discovery

import (
	"context"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Ask begins a conversation with a target in one era, for questions beside the
// lists, and ends it after ask has asked them. In the legacy era there is a
// session meanwhile. The deadline and the bounds are those of [Engine.Discover];
// the error is an [*Error], also for what ask returns.
func (e *Engine) Ask(ctx context.Context, t Target, era mcp.Era, ask func(context.Context, *mcp.Conversation) error) error {
	if err := t.Check(); err != nil {
		return err
	}
	ctx, d, end := e.begin(ctx, t)
	defer end()
	d.era = era
	if err := d.ask(ctx, era, ask); err != nil {
		return d.classify(ctx, err)
	}
	return nil
}

func (d *discovery) ask(ctx context.Context, era mcp.Era, ask func(context.Context, *mcp.Conversation) error) error {
	if era == mcp.Modern {
		c := d.conversation(rawjson.Value(modernMeta))
		c.SetHeader(mcp.HeaderVersion, mcp.FirstModernVersion)
		return ask(ctx, c)
	}
	c := d.conversation(nil)
	defer c.End(ctx)
	if _, err := c.Open(ctx, rawjson.Value(initializeParams)); err != nil {
		return err
	}
	return ask(ctx, c)
}

// Modern builds the body and the headers of one modern request, for
// [Engine.Probe]. (MCP 2026-07-28, transports/streamable-http.)
func Modern(method string, params rawjson.Value) (header map[string][]string, body []byte, err error) {
	if params, err = params.Set(rawjson.Value(modernMeta), "_meta"); err != nil {
		return nil, nil, err
	}
	body = []byte(`{"jsonrpc":"2.0","id":"mcp-app-probe","method":` + string(rawjson.Quote(method)) + `,"params":` + string(params) + `}`)
	return map[string][]string{
		"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"},
		mcp.HeaderVersion: {mcp.FirstModernVersion}, mcp.HeaderMethod: {method},
	}, body, nil
}
