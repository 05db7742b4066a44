package caddymodule

import (
	"bytes"
	"cmp"
	"sync"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// openaiView applies the OpenAI declarations to what one caller sees. It
// implements mcp.Decorator.
type openaiView struct {
	view     *view
	pageOnce sync.Once
	pageMade *openai.Page
}

// page is made at the first tool: it may need the catalog.
func (o *openaiView) page(first string) *openai.Page {
	o.pageOnce.Do(func() { o.pageMade = o.newPage(first) })
	return o.pageMade
}

// newPage begins the page on which a tool stands first. A later page of a list
// is to know what the caller saw on the earlier ones.
func (o *openaiView) newPage(first string) *openai.Page {
	v := o.view
	page := v.e.overlay.Page(openai.PageOptions{Visible: v.mayCall, Modern: v.e.era() == mcp.Modern, Mentions: o.mentionsState()})
	if v.e.message == nil || !v.e.message.Params.Get("cursor").Exists() || !v.e.overlay.ComparesTools() {
		return page
	}
	catalog, err := v.catalog()
	if err != nil {
		return page // without the others, a title counts as one of its own
	}
	for _, name := range catalog.Names() {
		if name == first {
			break
		}
		if tool, ok := catalog.Tool(name); ok && v.ShowsTool(name) {
			page.Pass(tool)
		}
	}
	return page
}

// mentionsState is what the caller was told about mentions in the handshake. It
// is worked out only where the operator or the server named a search tool.
func (o *openaiView) mentionsState() openai.MentionsState {
	e := o.view.e
	said := e.advertised.mentions()
	if e.OpenAI.Mentions == nil && said.Len() == 0 {
		return openai.MentionsUnknown
	}
	told, _ := e.overlay.Capabilities(e.era() == mcp.Modern, said, callableTools{o.view})
	return e.overlay.MentionsState(said, told)
}

// Tool decorates one element of a tools/list result.
func (o *openaiView) Tool(tool rawjson.Value) rawjson.Value {
	name, _ := tool.Get("name").Text()
	e := o.view.e
	// In mixed mode what a tool needs depends on the server's annotations. Whoever
	// wants the findings wants them each time.
	if e.Auth.Mode == modeMixed || e.found != nil || !e.overlay.StandsAlone(name, tool) {
		return o.decorate(name, tool)
	}
	known, ok := e.tools.get(tool)
	if countMemo("tool", ok); ok {
		return known
	}
	decorated := o.decorate(name, tool)
	e.tools.put(tool, bytes.Clone(decorated))
	return decorated
}

func (o *openaiView) decorate(name string, tool rawjson.Value) rawjson.Value {
	decorated, findings := o.page(name).Tool(tool)
	o.view.e.warnFindings(findings)
	if !o.view.e.authenticates() {
		// Nobody guards the tool, so nothing may claim a login.
		return decorated.Delete("securitySchemes").Delete("_meta", "securitySchemes")
	}
	secured, err := openai.SecuritySchemes(decorated, o.view.security(name))
	if err != nil {
		o.view.e.warnFindings([]openai.Finding{{
			Code: "tool-bad-meta", Subject: name, Detail: "its _meta is not an object", Fix: "correct the server",
		}})
		return decorated
	}
	return secured
}

// Entry decorates one element of a resources/list result.
func (o *openaiView) Entry(entry rawjson.Value) rawjson.Value {
	decorated, findings := o.view.e.overlay.ResourceEntry(entry)
	o.view.e.warnFindings(findings)
	return decorated
}

// Content decorates one content item of a resources/read result. The client comes
// last: a media type that had to be repaired makes a page of it.
func (o *openaiView) Content(item rawjson.Value) rawjson.Value {
	decorated, findings := o.view.e.overlay.ResourceContentFor(o.view.e.hostProfile(), item)
	o.view.e.warnFindings(findings)
	return o.view.e.withClient(decorated)
}

// Capabilities advertises what the caller's own catalog carries. If the catalog
// cannot be had, the answer goes out without the capabilities.
func (o *openaiView) Capabilities(era mcp.Era, capabilities rawjson.Value) rawjson.Value {
	if said, news := o.view.e.advertised.learn(capabilities); news && o.view.e.found == nil {
		o.view.e.tellAdvertised(said)
	}
	decorated, findings := o.view.e.overlay.Capabilities(era == mcp.Modern, capabilities, callableTools{o.view})
	o.view.e.warnFindings(findings)
	return decorated
}

// security says what a tool needs of this caller's kind.
func (v *view) security(tool string) openai.Security {
	scopes := policy.Union(v.e.Auth.Scopes, v.ScopesOf(policy.Tool, tool))
	if v.e.Auth.Mode != modeMixed {
		return openai.Security{OAuth: true, Scopes: scopes}
	}
	anonymous := v.As(&policy.Principal{Anonymous: true}).Decide(policy.Tool, tool).Verdict == policy.Allowed
	return openai.Security{Anonymous: anonymous, OAuth: true, Scopes: scopes}
}

// hostProfile tells hosts apart whose values for the same metadata differ.
func (e *exchange) hostProfile() string {
	profile := e.session.Profile
	if e.message != nil {
		if name, ok := e.message.Params.Get("_meta", "io.modelcontextprotocol/clientInfo", "name").Text(); ok {
			profile = openai.HostProfile(name)
		}
	}
	return cmp.Or(profile, openai.ProfileChatGPT)
}

// callableTools is the part of the catalog that the caller may call right now.
// The catalog is asked for only when something depends on it.
type callableTools struct{ view *view }

// Tool implements openai.Catalog.
func (c callableTools) Tool(name string) (rawjson.Value, bool) {
	if !c.view.mayCall(name) {
		return nil, false
	}
	catalog, err := c.view.catalog()
	if err != nil {
		return nil, false
	}
	return catalog.Tool(name)
}
