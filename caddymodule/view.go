package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// view is everything one caller may see during one exchange: the policy's
// answers, and the caller's catalog for what follows from other tools. Every
// place that shows or uses a name asks it.
type view struct {
	*policy.View
	e       *exchange
	request policy.Request
	facts   policy.Facts
	links   resultLinks

	catalogOnce sync.Once
	catalogSeen *mcp.Catalog
	catalogErr  error
}

func newView(e *exchange) *view {
	v := &e.viewOfCaller
	v.e = e
	v.facts = viewFacts{v}
	v.request = policy.Request{Header: e.r.Header, ClientIP: clientIP(e.r)}
	v.View = e.rules.View(e.principal).With(&v.request, v.facts)
	if l := e.Links; l.Plugin != "" {
		v.links = newResultLinks(l.Results, l.Plugin, l.Marketplace, visibleTools{v}, e.declaredGlobal)
	}
	return v
}

// catalog is what the server lists for the caller. It is asked at most once.
func (v *view) catalog() (*mcp.Catalog, error) {
	v.catalogOnce.Do(func() {
		v.catalogSeen, v.catalogErr = v.e.askCatalog(v.e.r.Context())
		if err := v.catalogErr; err != nil && !errors.Is(err, context.Canceled) { // nobody waits any more
			metrics.catalogs.with([0]string{}).Inc()
			v.e.logger.Warn("catalog could not be had", zap.Error(err))
		}
	})
	return v.catalogSeen, v.catalogErr
}

// know says what the server lists, so that it is not asked.
func (v *view) know(catalog *mcp.Catalog, err error) {
	v.catalogOnce.Do(func() { v.catalogSeen, v.catalogErr = catalog, err })
}

// decide answers for what a message is about, and reports false if it is about
// no name. What is asked of the server on the way is the same for every name
// that is not shown, hidden by a rule or unknown: otherwise the time of the
// answer would tell them apart.
func (v *view) decide(msg *mcp.Request) (policy.Decision, bool) {
	d, about := v.decideName(msg)
	if about && d.Verdict == policy.Hidden && v.mayAskFor(msg) {
		_, _ = v.catalog()
	}
	return d, about
}

// mayAskFor reports whether some name like that of the message is decided by
// what the server says about its tools.
func (v *view) mayAskFor(msg *mcp.Request) bool {
	switch mcp.Subject(msg.Method) {
	case mcp.SubjectTool:
		return v.e.rules.Reads().Annotations
	case mcp.SubjectResource:
		return strings.HasPrefix(msg.Name, "ui:")
	default:
		return false
	}
}

func (v *view) decideName(msg *mcp.Request) (policy.Decision, bool) {
	switch mcp.Subject(msg.Method) {
	case mcp.SubjectTool:
		return v.DecideCall(msg.Name, msg.Arguments()), true
	case mcp.SubjectPrompt:
		return v.Decide(policy.Prompt, msg.Name), true
	case mcp.SubjectResource:
		return v.Decide(policy.Resource, msg.Name), true
	case mcp.SubjectReference:
		if msg.Params.Get("ref", "uri").Exists() {
			return v.Decide(policy.Template, msg.Name), true
		}
		return v.Decide(policy.Prompt, msg.Name), true
	case mcp.SubjectTask:
		// The id was sealed for this caller and its tool may be called, or the
		// request would not be here: see exchange.unsealTask.
		return policy.Decision{}, false
	default:
		return policy.Decision{}, false
	}
}

func (v *view) mayCall(tool string) bool {
	return v.Decide(policy.Tool, tool).Verdict == policy.Allowed
}

// ShowsTool implements mcp.Shower, as do the next three.
func (v *view) ShowsTool(name string) bool { return v.Shows(policy.Tool, name) }

// ShowsPrompt reports whether a prompt may be listed.
func (v *view) ShowsPrompt(name string) bool { return v.Shows(policy.Prompt, name) }

// ShowsResource reports whether a resource may be listed or linked to.
func (v *view) ShowsResource(uri string) bool {
	if own, shown := v.links.shows(uri); own {
		return shown
	}
	return v.Shows(policy.Resource, uri)
}

// ShowsTemplate reports whether a resource template may be listed.
func (v *view) ShowsTemplate(uriTemplate string) bool { return v.Shows(policy.Template, uriTemplate) }

// viewFacts is what the caller's catalog says about tools, before anything was
// hidden.
type viewFacts struct{ view *view }

// Annotations implements policy.Facts.
func (f viewFacts) Annotations(tool string) ([]byte, error) {
	catalog, err := f.view.catalog()
	if err != nil {
		return nil, err
	}
	declaration, ok := catalog.Tool(tool)
	if !ok {
		return nil, fmt.Errorf("the server does not list the tool %q", tool)
	}
	return declaration.Get("annotations"), nil
}

// ToolsShowing implements policy.Facts.
func (f viewFacts) ToolsShowing(uri string) ([]string, error) {
	catalog, err := f.view.catalog()
	if err != nil {
		return nil, err
	}
	return catalog.ToolsShowing(uri), nil
}

// prefetch asks for the catalog while the server works on the handshake, if a
// capability may come of it for this caller.
func (e *exchange) prefetch() {
	if e.message == nil || e.message.Method != "initialize" && e.message.Method != "server/discover" {
		return
	}
	settings, mentions := e.OpenAI.Settings, e.OpenAI.Mentions
	if settings != nil && e.view.mayCall(settings.ReadTool) && e.view.mayCall(settings.UpdateTool) ||
		mentions != nil && e.view.mayCall(mentions.SearchTool) {
		go func() { _, _ = e.view.catalog() }()
	}
}

// askCatalog asks the server for the caller's tools, or the cache for what it
// said to the same question.
func (e *exchange) askCatalog(ctx context.Context) (*mcp.Catalog, error) {
	question := e.message
	if question == nil { // a stream: legacy, inside its session
		question = &mcp.Request{Era: mcp.Legacy}
	}
	q := e.questions()
	return e.catalogs.Get(ctx, q.catalogKey(e.principal, question), func(ctx context.Context) (*mcp.Catalog, error) {
		return mcp.AskCatalog(ctx, q.exchange, question, q.template().Header, e.limits.tools)
	})
}
