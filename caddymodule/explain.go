package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// explanation is what one principal sees at an endpoint and why, for the command
// and the admin API. The names in its JSON are stable.
type explanation struct {
	Endpoint string `json:"endpoint"`
	Resource string `json:"resource,omitempty"`
	Host     string `json:"host,omitempty"`
	// Address is where the principal's client would call.
	Address   string             `json:"address"`
	Principal explainedPrincipal `json:"principal"`
	// Refused is set where the principal is not let in at all. Nothing but notes
	// follows then.
	Refused *explainedRefusal `json:"refused,omitempty"`
	// CatalogError says why the server's lists could not be had. What is then
	// explained are the names that were asked for.
	CatalogError string `json:"catalog_error,omitempty"`
	// CatalogAdvice says what to do about it, where that is known.
	CatalogAdvice string           `json:"catalog_advice,omitempty"`
	Server        *explainedServer `json:"server,omitempty"`

	Tools        []explainedName       `json:"tools"`
	Prompts      []explainedName       `json:"prompts"`
	Resources    []explainedName       `json:"resources"`
	Templates    []explainedName       `json:"templates"`
	Methods      []explainedName       `json:"methods"` // those that have a rule
	Capabilities []explainedCapability `json:"capabilities"`
	Findings     []explainedFinding    `json:"findings"`
	UnusedRules  []explainedRule       `json:"unused_rules"`
	Notes        []string              `json:"notes"`
}

type explainedPrincipal struct {
	// By is token, claims, anonymous or none (an endpoint without tokens).
	By       string     `json:"by"`
	Issuer   string     `json:"issuer,omitempty"`
	Subject  string     `json:"subject,omitempty"`
	ClientID string     `json:"client_id,omitempty"`
	Tenant   string     `json:"tenant,omitempty"`
	Scopes   []string   `json:"scopes"`
	Roles    []string   `json:"roles"`
	Expires  *time.Time `json:"expires,omitempty"`
}

type explainedRefusal struct {
	Status   int    `json:"status"` // that a client would get
	Decision string `json:"decision"`
	Cause    string `json:"cause"`
	Reason   string `json:"reason"`
}

type explainedServer struct {
	Name            string    `json:"name,omitempty"`
	Version         string    `json:"version,omitempty"`
	Era             string    `json:"era"`
	ProtocolVersion string    `json:"protocol_version"`
	CheckedAt       time.Time `json:"checked_at"`
}

type explainedName struct {
	Name string `json:"name"`
	// Listed says whether the server lists the name to this principal.
	Listed bool `json:"listed"`
	// Decision is allow, hide, challenge or login; Visible whether the name is in
	// the principal's lists.
	Decision string `json:"decision"`
	Visible  bool   `json:"visible"`
	// DecidedBy is rule, default or tools (which show a UI resource).
	DecidedBy string         `json:"decided_by"`
	Rule      *explainedRule `json:"rule,omitempty"`
	Cause     string         `json:"cause,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Missing   []string       `json:"missing"`
	// AtCall are conditions on the arguments that an allowed tool is held to.
	AtCall []string `json:"at_call"`
}

type explainedRule struct {
	Kind    policy.Kind `json:"kind"`
	Pattern string      `json:"pattern"`
	// Index counts the rules of the policy from 0.
	Index int `json:"index"`
	// Caddyfile is the rule in the words of a Caddyfile.
	Caddyfile string `json:"caddyfile,omitempty"`
	// Source is file and line, where the configuration still knows them.
	Source string `json:"source,omitempty"`
}

type explainedCapability struct {
	Name       string `json:"name"`
	Advertised bool   `json:"advertised"`
	Reason     string `json:"reason,omitempty"`
}

type explainedFinding struct {
	Code string `json:"code"`
	// Severity is error, warning or note.
	Severity openai.Severity `json:"severity"`
	Subject  string          `json:"subject"`
	Detail   string          `json:"detail"`
	Fix      string          `json:"fix"`
}

// explain looks at the endpoint as one principal. tool, if not empty, is
// explained also if the server does not list it. Errors are those of inspect.
func (m *Handler) explain(ctx context.Context, app *caddyhttp.App, input inspectionInput, tool string) (*explanation, error) {
	x := &explanation{Endpoint: m.Path, Address: m.publicURL(app, input)}
	input.build = func(in *inspection) { x.fill(in, tool) }
	in, err := m.inspect(ctx, app, input)
	if err != nil {
		return nil, err
	}
	if in.e == nil {
		x.refuse(in)
	}
	x.complete()
	return x, nil
}

// refuse tells about a principal that is not let in.
func (x *explanation) refuse(in *inspection) {
	x.Principal.By = in.by()
	x.Refused = &explainedRefusal{Status: in.status, Decision: decisionRefuse}
	if rec := in.refused; rec != nil {
		x.Refused.Decision, x.Refused.Cause, x.Refused.Reason = rec.Decision, rec.Cause, rec.Reason
		x.Principal.Issuer, x.Principal.Subject, x.Principal.Tenant, x.Principal.ClientID = rec.Issuer, rec.Subject, rec.Tenant, rec.ClientID
	}
}

// fill tells about a principal that is let in.
func (x *explanation) fill(in *inspection, tool string) {
	e := in.e
	x.Resource, x.Host = e.route.resource, e.r.Host
	x.fillPrincipal(in)
	x.Notes = in.notes()
	names := func(kind policy.Kind, names []string) []explainedName {
		explained := make([]explainedName, 0, len(names))
		for _, name := range names {
			explained = append(explained, e.explainName(kind, name, true))
		}
		return explained
	}
	if in.failure != nil {
		x.CatalogError = loggable(in.failure.Error())
		if failure, ok := errors.AsType[*discovery.Error](in.failure); ok {
			x.CatalogAdvice = failure.Class.Advice()
		}
	} else {
		lists := in.lists
		x.Server = &explainedServer{Era: lists.Era.String(), ProtocolVersion: lists.Version, CheckedAt: lists.asked}
		x.Server.Name, x.Server.Version = lists.Server()
		x.Tools = names(policy.Tool, lists.tools.Names())
		x.Prompts = names(policy.Prompt, lists.prompts)
		x.Resources = names(policy.Resource, lists.resources)
		x.Templates = names(policy.Template, lists.templates)
		x.Capabilities = in.capabilities()
		x.Findings = in.findings()
		x.UnusedRules = in.unused()
	}
	for _, method := range mcp.Methods(e.message.Era) {
		if e.view.HasRule(policy.Method, method) {
			x.Methods = append(x.Methods, e.explainName(policy.Method, method, true))
		}
	}
	if tool != "" && !slices.ContainsFunc(x.Tools, func(t explainedName) bool { return t.Name == tool }) {
		x.Tools = append(x.Tools, e.explainName(policy.Tool, tool, false))
	}
}

func (x *explanation) fillPrincipal(in *inspection) {
	p := in.e.principal
	x.Principal = explainedPrincipal{
		By: in.by(), Issuer: p.Issuer, Subject: p.Subject, ClientID: p.ClientID, Tenant: p.Tenant, Scopes: p.Scopes,
	}
	if !p.Expiry.IsZero() && len(in.Claims) == 0 {
		x.Principal.Expires = &p.Expiry
	}
	var err error
	if x.Principal.Roles, err = in.e.view.Roles(); err != nil {
		x.Notes = append(x.Notes, err.Error())
	}
}

// complete makes empty lists of missing ones, so that programs need not ask.
func (x *explanation) complete() {
	for _, list := range []*[]explainedName{&x.Tools, &x.Prompts, &x.Resources, &x.Templates, &x.Methods} {
		if *list == nil {
			*list = []explainedName{}
		}
	}
	orEmpty(&x.Capabilities)
	orEmpty(&x.Findings)
	orEmpty(&x.UnusedRules)
	orEmpty(&x.Notes)
	orEmpty(&x.Principal.Scopes)
	orEmpty(&x.Principal.Roles)
}

func orEmpty[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}

// explainName decides about one name as a message would.
func (e *exchange) explainName(kind policy.Kind, name string, listed bool) explainedName {
	found := e.view.Explain(kind, name)
	explained := explainedName{
		Name: name, Listed: listed, Decision: found.Verdict.String(), Visible: found.Verdict != policy.Hidden && listed,
		Cause: string(found.Cause), Reason: found.Reason, Missing: found.Missing, AtCall: found.AtCall,
	}
	switch {
	case found.Deciding != nil:
		explained.DecidedBy, explained.Rule = "rule", e.explainRule(*found.Deciding, found.Index)
	case found.Rule == "default":
		explained.DecidedBy = "default"
	default:
		explained.DecidedBy = "tools"
	}
	orEmpty(&explained.Missing)
	orEmpty(&explained.AtCall)
	return explained
}

func (m *Handler) explainRule(rule policy.Rule, index int) *explainedRule {
	explained := &explainedRule{Kind: rule.Kind, Pattern: rule.Pattern, Index: index, Caddyfile: rule.Caddyfile()}
	if index < len(m.sources) {
		explained.Source = m.sources[index]
	}
	return explained
}

// by says what the principal stands on.
func (in *inspection) by() string {
	switch {
	case len(in.Claims) > 0:
		return "claims"
	case in.Token != "":
		return "token"
	case in.e != nil && !in.e.authenticates():
		return "none"
	default:
		return "anonymous"
	}
}

// notes tell what an explanation cannot know.
func (in *inspection) notes() []string {
	e := in.e
	var notes []string
	reads := e.rules.Reads()
	if reads.Headers || reads.ClientIP {
		notes = append(notes, "Conditions that read headers or the client's address were asked without a client: no headers, address 127.0.0.1.")
	}
	if reads.Arguments {
		notes = append(notes, "Conditions that read arguments are asked at each call; they hide nothing.")
	}
	if len(in.Claims) > 0 {
		note := "Nobody has signed these claims. The server was asked with the identity headers of this principal and without a token."
		if e.forwardsToken() || e.exchanger != nil {
			note += " It expects a token (forward_token or exchange), so that it may have listed less than it would to the real principal."
		}
		notes = append(notes, note)
	}
	return notes
}

// capabilities tells which capabilities that name tools the principal gets.
func (in *inspection) capabilities() []explainedCapability {
	e := in.e
	before := in.lists.capabilities()
	after, found := e.overlay.Capabilities(e.era() == mcp.Modern, before, callableTools{e.view})
	var explained []explainedCapability
	for _, name := range []string{"openai/settings", "openai/mentions"} {
		c := explainedCapability{Name: name, Advertised: hasExtension(after, name)}
		for _, f := range found {
			if f.Subject == name {
				c.Reason = f.Detail
			}
		}
		if c.Advertised || c.Reason != "" || hasExtension(before, name) {
			explained = append(explained, c)
		}
	}
	return explained
}

func hasExtension(capabilities rawjson.Value, name string) bool {
	return capabilities.Get("extensions", name).Exists() || capabilities.Get("experimental", name).Exists()
}

// findings tells what the declarations have to say about the tools that the
// principal sees.
func (in *inspection) findings() []explainedFinding {
	_, found := in.decorated()
	explained := make([]explainedFinding, 0, len(found))
	for _, f := range found {
		rule, _ := openai.RuleOf(f.Code)
		explained = append(explained, explainedFinding{f.Code, rule.Severity, f.Subject, f.Detail, f.Fix})
	}
	return explained
}

// decorated returns the visible tools as the principal's client gets them, and
// what there is to say about them.
func (in *inspection) decorated() ([]rawjson.Value, []openai.Finding) {
	var found []openai.Finding
	in.e.found = func(more []openai.Finding) { found = append(found, more...) }
	defer func() { in.e.found = nil }()
	decorator := &openaiView{view: in.e.view}
	var tools []rawjson.Value
	for _, name := range in.lists.tools.Names() {
		if tool, _ := in.lists.tools.Tool(name); in.e.view.ShowsTool(name) {
			tools = append(tools, decorator.Tool(tool))
		}
	}
	return tools, found
}

// unused lists the rules that decide about nothing the server lists.
func (in *inspection) unused() []explainedRule {
	var rules []explainedRule
	for _, list := range []struct {
		kind  policy.Kind
		names []string
	}{
		{policy.Tool, in.lists.tools.Names()},
		{policy.Prompt, in.lists.prompts},
		{policy.Resource, in.lists.resources},
		{policy.Template, in.lists.templates},
	} {
		for _, pattern := range in.e.unusedRules(list.kind, list.names) {
			index := slices.IndexFunc(in.e.Policy.Rules, func(r policy.Rule) bool { return r.Kind == list.kind && r.Pattern == pattern })
			rules = append(rules, *in.e.explainRule(in.e.Policy.Rules[index], index))
		}
	}
	return rules
}

// summary counts names for a heading.
func summary(names []explainedName) string {
	visible := 0
	for _, name := range names {
		if name.Visible {
			visible++
		}
	}
	return fmt.Sprintf("%d of %d visible", visible, len(names))
}
