package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// many is from how many tools on models are known to choose worse.
const many = 40

// maxPages bounds how many pages are read.
const maxPages = 32

// bare is the overlay that declares nothing and checks what servers declare.
var bare = func() *openai.Overlay {
	overlay, err := openai.Compile(openai.Declarations{})
	if err != nil {
		panic(err)
	}
	return overlay
}()

// tools answers for all that the server lists.
type tools map[string]rawjson.Value

// Tool implements [openai.Catalog].
func (t tools) Tool(name string) (rawjson.Value, bool) {
	raw, ok := t[name]
	return raw, ok
}

// catalog judges the tools and what the server says about them.
func (c *check) catalog() {
	c.say("tools")
	listed := c.offers.Tools
	c.report.AddOpenAI(judgeTools(listed)...)
	all := make(tools)
	for _, tool := range listed {
		name, _ := tool.Get("name").Text()
		all[name] = tool
		c.judgeTool(c.clean(name), tool)
	}
	switch {
	case len(listed) == 0:
		c.add("tools-none", "", "the list of tools is empty")
	case len(listed) > many:
		c.add("tools-many", "", fmt.Sprintf("there are %d tools", len(listed)))
	}
	_, found := bare.Capabilities(c.offers.Era == mcp.Modern, c.offers.Handshake.Get("capabilities"), all)
	for _, f := range found {
		c.add("capability-unfit", f.Subject, f.Detail)
	}
	c.cacheScope()
}

// judgeTools judges a list of tools as hosts do.
func judgeTools(listed []rawjson.Value) []openai.Finding {
	found := openai.LintCatalog(listed)
	page := bare.Page(openai.PageOptions{})
	for _, tool := range listed {
		found = append(found, openai.LintTool(tool)...)
		_, more := page.Tool(tool)
		found = append(found, more...)
	}
	return found
}

func (c *check) judgeTool(name string, tool rawjson.Value) {
	oauth := false
	for _, schemes := range []rawjson.Value{tool.Get("securitySchemes"), tool.Get("_meta", "securitySchemes")} {
		for scheme := range schemes.Elements() {
			kind, _ := scheme.Get("type").Text()
			oauth = oauth || kind == "oauth2"
		}
	}
	if oauth && c.report.Login == "none" {
		c.add("oauth-without-login", name, "it says oauth2, and the endpoint knows no login")
	}
	if !oauth && c.report.Login == "mixed" && !tool.Get("securitySchemes").Exists() {
		c.add("security-schemes-missing", name, "it does not say whether it needs a login")
	}
}

// cacheScope asks whether answers that are made for one caller say so.
func (c *check) cacheScope() {
	if c.offers.Era != mcp.Modern || c.report.Login == "none" || c.report.Login == "" {
		return
	}
	judge := func(method string, result rawjson.Value) {
		if scope, ok := result.Get("cacheScope").Text(); ok && scope != "private" {
			c.add("cache-scope", method, fmt.Sprintf("cacheScope is %q", c.clean(scope)))
		}
	}
	judge("server/discover", c.offers.Handshake)
	// Whatever fails here has been told by the catalog itself.
	_ = c.engine().Ask(c.ctx, c.Target, mcp.Modern, func(ctx context.Context, conversation *mcp.Conversation) error {
		result, err := conversation.Call(ctx, "tools/list", nil)
		judge("tools/list", result)
		return err
	})
}

// pages reads the pages that tools open and judges them.
func (c *check) pages() {
	var uris []string
	for _, tool := range c.offers.Tools {
		for _, uri := range mcp.UIResources(tool) {
			if !slices.Contains(uris, uri) {
				uris = append(uris, uri)
			}
		}
	}
	if len(uris) == 0 {
		return
	}
	if len(uris) > maxPages {
		c.report.Skip("pages", fmt.Sprintf("only %d of %d pages were read", maxPages, len(uris)))
		uris = uris[:maxPages]
	}
	c.say("pages")
	err := c.engine().Ask(c.ctx, c.Target, c.offers.Era, func(ctx context.Context, conversation *mcp.Conversation) error {
		for _, uri := range uris {
			params, err := rawjson.Value("{}").Set(rawjson.Quote(uri), "uri")
			if err != nil {
				return err
			}
			if c.offers.Era == mcp.Modern {
				conversation.SetHeader(mcp.HeaderName, mcp.EncodeHeaderValue(uri))
			}
			result, err := conversation.Call(ctx, "resources/read", params)
			if _, refused := errors.AsType[*mcp.RefusalError](err); refused {
				c.add("page-missing", c.clean(uri), "resources/read is refused")
				continue
			}
			if err != nil {
				return err
			}
			c.judgePage(uri, result.Get("contents"))
		}
		return nil
	})
	if failure, ok := errors.AsType[*discovery.Error](err); ok {
		c.report.Skip("pages", failure.Error())
	}
}

func (c *check) judgePage(uri string, contents rawjson.Value) {
	shown := c.clean(uri)
	found := false
	for item := range contents.Elements() {
		if own, _ := item.Get("uri").Text(); own != uri {
			continue
		}
		found = true
		_, declared := bare.ResourceContent(item)
		c.report.AddOpenAI(declared...)
		if c.Review != nil {
			c.report.AddOpenAI(c.Review(item)...)
		}
		if !item.Get("text").Exists() && !item.Get("blob").Exists() {
			c.add("page-empty", shown, "the content has neither text nor blob")
		}
		c.bothSpellings(shown, item)
	}
	if !found {
		c.add("page-uri", shown, "no content of the answer has the address that was asked for")
	}
}

// bothSpellings compares the two places of a page's content security policy.
func (c *check) bothSpellings(uri string, item rawjson.Value) {
	standard, own := item.Get("_meta", "ui", "csp"), item.Get("_meta", "openai/widgetCSP")
	switch {
	case standard.Exists() && !own.Exists():
		c.add("csp-one-spelling", uri, "there is _meta.ui.csp and no openai/widgetCSP")
		return
	case own.Exists() && !standard.Exists():
		c.add("csp-one-spelling", uri, "there is openai/widgetCSP and no _meta.ui.csp")
		return
	}
	for _, names := range [][2]string{{"connectDomains", "connect_domains"}, {"resourceDomains", "resource_domains"}, {"frameDomains", "frame_domains"}} {
		if !slices.Equal(sorted(standard.Get(names[0])), sorted(own.Get(names[1]))) {
			c.add("csp-one-spelling", uri, names[0]+" and "+names[1]+" differ")
		}
	}
}

func sorted(list rawjson.Value) []string {
	var texts []string
	for element := range list.Elements() {
		text, _ := element.Text()
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}
