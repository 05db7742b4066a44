package caddymodule

import (
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// navigateCall is a call to the navigate tool, with all that decides about it.
type navigateCall struct {
	tool      string
	arguments rawjson.Value
	catalog   openai.Catalog   // what the caller may call
	pages     links.TenantPath // pages of a tenant; zero for all
	tenant    string           // the caller's own
}

// check refuses a call that does more than follow a link: whose arguments are
// not exactly one app-relative URL, inside the tenant's part of the application,
// or whose tool could change something. Errors are [*links.Error], or
// [links.ErrUnknownTool] where the caller's catalog does not hold the tool or
// cannot be had; such a tool is to be treated as one that does not exist.
//
// The arguments come first: a bad one costs no question to the server.
func (c navigateCall) check() error {
	page, err := links.NavigateArguments(c.arguments)
	if err != nil {
		return err
	}
	if !c.pages.Allows(page, c.tenant) {
		return &links.Error{Part: "url", Reason: "is outside the part of the application that belongs to the caller's tenant"}
	}
	var catalog []links.Target
	if tool, ok := c.catalog.Tool(c.tool); ok {
		catalog = []links.Target{linkTarget(tool)}
	}
	_, err = links.CheckNavigate(c.tool, catalog, c.arguments)
	return err
}

// linkTarget takes what links need to know out of one element of a tools/list
// result. Global counts only what the server itself declares.
func linkTarget(tool rawjson.Value) links.Target {
	name, _ := tool.Get("name").Text()
	readOnly, _ := tool.Get("annotations", "readOnlyHint").Bool()
	global := slices.ContainsFunc(slices.Collect(tool.Get("_meta", "openai/ui", "entrypoints").Elements()), func(e rawjson.Value) bool {
		kind, _ := e.Get("type").Text()
		return kind == "global"
	})
	return links.Target{Name: name, ReadOnly: readOnly, Global: global}
}
