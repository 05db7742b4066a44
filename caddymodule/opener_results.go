package caddymodule

import (
	"errors"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/links/results"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// What links { results } can say.
const (
	linksPass  = "pass"
	linksCheck = "check"
	linksDrop  = "drop"
)

// resultLinks checks links to this plugin in what one caller gets. The zero
// value checks nothing.
type resultLinks struct {
	checker results.Checker
	mode    string
}

// newResultLinks asks the caller's catalog about the tools that links name.
// declared says which tools the operator made global entrypoints.
func newResultLinks(mode, plugin, marketplace string, catalog openai.Catalog, declared func(tool string) bool) resultLinks {
	if plugin == "" || mode != linksCheck && mode != linksDrop {
		return resultLinks{}
	}
	return resultLinks{mode: mode, checker: results.Checker{
		PluginID: plugin, Marketplace: marketplace, Drop: mode == linksDrop,
		Target: func(name string) (links.Target, bool) {
			tool, ok := catalog.Tool(name)
			if !ok {
				return links.Target{}, false
			}
			target := linkTarget(tool)
			target.Global = target.Global || declared(name)
			return target, true
		},
	}}
}

// apply treats the result of a call to a tool.
func (l resultLinks) apply(tool string, result rawjson.Value) (rawjson.Value, []openai.Finding) {
	if l.mode == "" {
		return result, nil
	}
	result, found := l.checker.Result(result)
	findings := make([]openai.Finding, 0, len(found))
	for _, f := range found {
		finding := openai.Finding{
			Code: "result-link", Subject: tool,
			Detail: "the link at " + f.Pointer + " of its result does not open: " + f.Err.Error(),
			Fix:    "correct the server; caddy mcp-app link builds links and checks them",
		}
		if errors.Is(f.Err, links.ErrUnknownTool) {
			finding.Code = "result-link-hidden"
			finding.Fix = "if the caller may use that tool, add a rule for it; otherwise the server should not link to it"
		}
		findings = append(findings, finding)
	}
	return result, findings
}

// shows answers for a resource_link that is a link into this plugin, which is no
// resource of the server and under no rule of resources; own is false for any
// other address.
func (l resultLinks) shows(uri string) (own, shown bool) {
	if l.mode == "" {
		return false, false
	}
	own, err := l.checker.Link(uri)
	return own, err == nil || l.mode == linksCheck
}
