package caddymodule

import (
	"context"
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
	catalog func() (*mcp.Catalog, error) // asked at most once
}

func newView(e *exchange) *view {
	v := &view{View: e.rules.View(e.principal), e: e}
	v.catalog = sync.OnceValues(func() (*mcp.Catalog, error) {
		catalog, err := e.askCatalog(e.r.Context())
		if err != nil {
			metrics.catalogs.WithLabelValues().Inc()
			e.logger.Warn("catalog could not be had", zap.Error(err))
		}
		return catalog, err
	})
	return v
}

// decide answers for what a message is about, and reports false if it is about
// no name.
func (v *view) decide(msg *mcp.Request) (policy.Decision, bool) {
	switch mcp.Subject(msg.Method) {
	case mcp.SubjectTool:
		return v.Decide(policy.Tool, msg.Name), true
	case mcp.SubjectPrompt:
		return v.Decide(policy.Prompt, msg.Name), true
	case mcp.SubjectResource:
		return v.resource(msg.Name), true
	case mcp.SubjectReference:
		if msg.Params.Get("ref", "uri").Exists() {
			return v.Decide(policy.Template, msg.Name), true
		}
		return v.Decide(policy.Prompt, msg.Name), true
	case mcp.SubjectTask:
		// The id was sealed for this caller, or the request would not be here.
		return policy.Decision{}, false
	default:
		return policy.Decision{}, false
	}
}

// resource decides about a resource. A UI resource belongs to the tools that
// show it: without a rule of its own it is as visible as the most visible of
// them. If the catalog cannot be had, nobody knows, and it stays hidden.
func (v *view) resource(uri string) policy.Decision {
	if !strings.HasPrefix(uri, "ui:") || v.HasRule(policy.Resource, uri) {
		return v.Decide(policy.Resource, uri)
	}
	catalog, err := v.catalog()
	if err != nil {
		return policy.Decision{Reason: "the tools that show this resource are unknown: " + err.Error()}
	}
	tools := catalog.ToolsShowing(uri)
	if len(tools) == 0 {
		return v.Decide(policy.Resource, uri)
	}
	for _, tool := range tools {
		if d := v.Decide(policy.Tool, tool); d.Verdict != policy.Hidden {
			return policy.Decision{Verdict: policy.Allowed, Rule: d.Rule}
		}
	}
	return policy.Decision{Rule: "tool", Reason: "only hidden tools show this resource"}
}

func (v *view) mayCall(tool string) bool {
	return v.Decide(policy.Tool, tool).Verdict == policy.Allowed
}

// ShowsTool implements mcp.Shower, as do the next three.
func (v *view) ShowsTool(name string) bool { return v.Shows(policy.Tool, name) }

// ShowsPrompt reports whether a prompt may be listed.
func (v *view) ShowsPrompt(name string) bool { return v.Shows(policy.Prompt, name) }

// ShowsResource reports whether a resource may be listed.
func (v *view) ShowsResource(uri string) bool { return v.resource(uri).Verdict != policy.Hidden }

// ShowsTemplate reports whether a resource template may be listed.
func (v *view) ShowsTemplate(uriTemplate string) bool { return v.Shows(policy.Template, uriTemplate) }

// prefetch asks for the catalog while the server works on the handshake.
func (e *exchange) prefetch() {
	if e.message != nil && (e.message.Method == "initialize" || e.message.Method == "server/discover") && (e.OpenAI.Settings != nil || e.OpenAI.Mentions != nil) {
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
		return mcp.AskCatalog(ctx, q.exchange, question, q.template.Header, e.limits.tools)
	})
}
