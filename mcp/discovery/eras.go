package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// legacyVersion is what the legacy era is asked in; servers answer with an
// older one if they must.
const legacyVersion = "2025-11-25"

// What we say about ourselves. Servers that hide pages from clients without
// them must not hide them from us.
const (
	clientInfo         = `{"name":"caddy-mcp-app","version":"1"}`
	clientCapabilities = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
	modernMeta         = `{"io.modelcontextprotocol/protocolVersion":"` + mcp.FirstModernVersion + `","io.modelcontextprotocol/clientInfo":` + clientInfo + `,"io.modelcontextprotocol/clientCapabilities":` + clientCapabilities + `}`
	initializeParams   = `{"protocolVersion":"` + legacyVersion + `","capabilities":` + clientCapabilities + `,"clientInfo":` + clientInfo + `}`
)

// JSON-RPC errors by which a modern server refuses a modern request (MCP
// 2026-07-28, basic "Error Codes"); all others may come from an older server.
var modernErrors = []int{mcp.CodeHeaderMismatch, -32021}

// errLegacyOnly says that a server answered in the modern way that it serves
// older versions only.
var errLegacyOnly = errors.New("the server offers older versions only")

func (d *discovery) run(ctx context.Context) error {
	eras := d.engine.Eras
	if len(eras) == 0 {
		eras = []mcp.Era{mcp.Modern, mcp.Legacy}
	}
	var err error
	for i, era := range eras {
		d.era = era
		if era == mcp.Legacy {
			return d.legacy(ctx)
		}
		var stays bool
		if stays, err = d.modern(ctx, i+1 < len(eras)); stays {
			return err
		}
		d.report.NotModern = d.classify(ctx, err)
		if errors.Is(err, errLegacyOnly) {
			d.report.NotModern.Class, d.report.NotModern.Detail = Protocol, err.Error()
		}
	}
	return err
}

// modern asks in the modern era. It reports whether the outcome stays; if not,
// the server seems to be an older one.
func (d *discovery) modern(ctx context.Context, another bool) (stays bool, err error) {
	c := d.conversation(rawjson.Value(modernMeta))
	c.Retried = d.retried
	c.SetHeader(mcp.HeaderVersion, mcp.FirstModernVersion)
	probe := ctx
	if another {
		var cancel context.CancelFunc
		probe, cancel = context.WithTimeout(ctx, d.probe)
		defer cancel()
	}
	result, err := c.Call(probe, "server/discover", nil)
	d.retried = c.Retried
	if err != nil {
		return !another || ctx.Err() != nil || !mayBeOlder(err), err
	}
	for version := range result.Get("supportedVersions").Elements() {
		if text, ok := version.Text(); ok {
			d.report.Versions = append(d.report.Versions, text)
		}
	}
	if another && !slices.Contains(d.report.Versions, mcp.FirstModernVersion) {
		return false, errLegacyOnly
	}
	d.report.Era, d.report.Version, d.report.Handshake = mcp.Modern, mcp.FirstModernVersion, result
	return true, d.lists(ctx, c)
}

// mayBeOlder reports whether a failure of server/discover is how a server of the
// legacy era could answer (MCP 2026-07-28, transports/streamable-http "Backward
// Compatibility"), which includes hanging and breaking off.
func mayBeOlder(err error) bool {
	if refusal, ok := errors.AsType[*mcp.RefusalError](err); ok {
		code, _ := refusal.Code()
		return StatusClass(refusal.Status) == "" && !slices.Contains(modernErrors, code)
	}
	operation, ok := errors.AsType[*net.OpError](err)
	if ok && operation.Op == "dial" {
		return false
	}
	class := &Error{}
	ClassifyConnection(class, err)
	return !errors.Is(err, mcp.ErrTooLarge) && class.Class == Protocol
}

// legacy asks inside a session, which is ended afterwards.
func (d *discovery) legacy(ctx context.Context) error {
	c := d.conversation(nil)
	c.Retried = d.retried
	defer c.End(ctx)
	result, err := c.Open(ctx, rawjson.Value(initializeParams))
	if result.Exists() {
		d.report.Era, d.report.Handshake = mcp.Legacy, result
		d.report.Version, _ = result.Get("protocolVersion").Text()
	}
	if err != nil {
		return err
	}
	return d.lists(ctx, c)
}

func (d *discovery) conversation(meta rawjson.Value) *mcp.Conversation {
	return mcp.NewConversation(d.exchange, d.target.header(), meta)
}

// lists reads everything the server lists.
func (d *discovery) lists(ctx context.Context, c *mcp.Conversation) error {
	capabilities := d.report.Handshake.Get("capabilities")
	for _, list := range []struct {
		method, capability, member, id string
		into                           *[]rawjson.Value
		check                          func(name string, tool rawjson.Value) error
	}{
		{"tools/list", "tools", "tools", "name", &d.report.Tools, CheckSchema},
		{"prompts/list", "prompts", "prompts", "name", &d.report.Prompts, nil},
		{"resources/list", "resources", "resources", "uri", &d.report.Resources, nil},
		{"resources/templates/list", "resources", "resourceTemplates", "uriTemplate", &d.report.Templates, nil},
	} {
		advertised := capabilities.Get(list.capability).Exists()
		tools := list.member == "tools"
		if !tools && (!advertised || d.engine.ToolsOnly) {
			continue
		}
		seen := make(map[string]bool)
		err := c.Pages(ctx, list.method, func(result rawjson.Value) error {
			return mcp.Entries(result, list.member, list.id, func(id string, entry rawjson.Value) error {
				switch {
				case seen[id]:
					return fmt.Errorf("%w: %q is listed twice by %s", mcp.ErrMalformed, id, list.method)
				case len(seen) == d.maxTools:
					return fmt.Errorf("%w: more than %d entries in %s", mcp.ErrTooLarge, d.maxTools, list.method)
				}
				seen[id] = true
				*list.into = append(*list.into, entry)
				if list.check != nil {
					return list.check(id, entry)
				}
				return nil
			})
		})
		if err != nil && !(isUnknownMethod(err) && (!tools || !advertised)) {
			return err
		}
		d.report.ToolsComplete = true // they are the first list
	}
	return nil
}

// isUnknownMethod reports whether a server says that it has no such list.
func isUnknownMethod(err error) bool {
	refusal, ok := errors.AsType[*mcp.RefusalError](err)
	if !ok {
		return false
	}
	code, _ := refusal.Code()
	return code == mcp.CodeMethodNotFound
}

// CheckSchema refuses a tool without an input schema, which hosts drop, alone or
// with the whole list.
func CheckSchema(name string, tool rawjson.Value) error {
	switch schema := tool.Get("inputSchema"); schema.Kind() {
	case rawjson.Object:
		return nil
	case rawjson.Absent:
		return fmt.Errorf("%w: tool %q has no inputSchema", mcp.ErrMalformed, name)
	default:
		return fmt.Errorf("%w: the inputSchema of tool %q is no object", mcp.ErrMalformed, name)
	}
}
