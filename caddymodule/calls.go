package caddymodule

import (
	"errors"
	"net/http"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// checkCall holds the arguments of tools with a known meaning to their rules,
// and takes out of a request what the server is not to believe. Errors are
// *mcp.Error.
func (e *exchange) checkCall() error {
	msg := e.message
	if msg.Kind == mcp.Response {
		return e.checkFormAnswer()
	}
	if err := e.checkInputResponses(); err != nil {
		return err
	}
	params, err := e.overlay.RequestParams(msg.Params)
	if err != nil {
		return mcp.InvalidParams(msg, err.Error())
	}
	if len(params) != len(msg.Params) {
		if err := msg.ReplaceParams(params); err != nil {
			return err
		}
	}
	switch msg.Method {
	case "tools/call":
		return e.checkToolCall()
	case "resources/read":
		return e.openHandleInURI()
	default:
		return nil
	}
}

func (e *exchange) checkToolCall() error {
	msg := e.message
	arguments := msg.Arguments()
	var err error
	switch {
	case e.Links.Navigate != "" && msg.Name == e.Links.Navigate:
		err = navigateCall{
			tool: msg.Name, arguments: arguments, catalog: callableTools{e.view},
			pages: e.pages, tenant: e.principal.Tenant,
		}.check()
		if errors.Is(err, links.ErrUnknownTool) {
			e.decoy = mcp.NewDecoy(msg)
			return nil
		}
	case e.updatesSettings(msg.Name):
		err = e.overlay.SettingsUpdate(arguments, e.settingsContext(msg.Name))
	case e.searchesMentions(msg.Name):
		tool, _ := callableTools{e.view}.Tool(msg.Name)
		err = e.overlay.MentionsQuery(arguments, tool.Get("inputSchema"))
	default:
		return e.openHandlesInArguments(arguments)
	}
	if err != nil {
		return mcp.InvalidParams(msg, err.Error())
	}
	return nil
}

// settingsContext is what settings of this caller are judged by: the schema the
// caller last read, or what the update tool declares.
func (e *exchange) settingsContext(update string) openai.SettingsContext {
	c := openai.SettingsContext{Catalog: callableTools{e.view}, Modern: e.era() == mcp.Modern}
	if c.Schema, _ = e.schemas.Get(e.holder()); c.Schema == nil {
		if tool, ok := c.Catalog.Tool(update); ok {
			c.Schema = e.overlay.UpdateSchema(tool)
		}
	}
	return c
}

// handles seals the handles of mentions to this caller, nil if none are bound.
func (e *exchange) handles() *openai.Handles {
	if e.OpenAI.Mentions == nil || len(e.OpenAI.Mentions.BindHandles) == 0 {
		return nil
	}
	holder := e.holder()
	return e.overlay.Handles(e.sealer.Key("handles"), holder[:])
}

// openHandlesInArguments gives the server back its own handles. One that was
// not offered to this caller is answered as the server answers unknown ones: it
// gets a handle that cannot exist.
func (e *exchange) openHandlesInArguments(arguments rawjson.Value) error {
	handles := e.handles()
	if handles == nil || !arguments.Exists() {
		return nil
	}
	opened, err := handles.OpenAll(arguments)
	if err != nil {
		return mcp.InvalidParams(e.message, err.Error())
	}
	params, err := e.message.Params.Set(opened, "arguments")
	if err != nil {
		return mcp.InvalidParams(e.message, "unreadable arguments")
	}
	// Headers that mirror an argument have to say the same as the argument.
	mcp.MapParamHeaders(e.r.Header, func(value string) string {
		opened, err := handles.Open(value)
		if err != nil { // the argument itself has been judged above
			return value
		}
		return opened
	})
	return e.message.ReplaceParams(params)
}

func (e *exchange) openHandleInURI() error {
	handles := e.handles()
	if handles == nil {
		return nil
	}
	uri, err := handles.Open(e.message.Name)
	if errors.Is(err, openai.ErrUnknownHandle) {
		return &mcp.Error{Status: mcp.InvalidParams(e.message, "").Status, Code: mcp.CodeInvalidParams, Message: "Resource not found", ID: e.message.ID}
	}
	if err != nil {
		return &mcp.Error{Status: http.StatusBadRequest, Code: mcp.CodeInvalidParams, Message: "Invalid params: uri", ID: e.message.ID}
	}
	params, err := e.message.Params.Set(rawjson.Quote(uri), "uri")
	if err != nil {
		return mcp.InvalidParams(e.message, "unreadable uri")
	}
	e.message.Name = uri
	return e.message.ReplaceParams(params)
}
