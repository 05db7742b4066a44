package policy

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/celrule"
)

// View is what one principal may see and use. It is cheap to make and asked
// for each message; it must not be kept longer than that. Safe for concurrent
// use.
type View struct {
	policy    *Policy
	principal *Principal
	request   *Request
	facts     Facts
	within    []string // the only tools, nil for no such bound

	rolesOnce sync.Once
	rolesSeen []string
	rolesErr  error
	// cost is what conditions have cost so far.
	cost atomic.Uint64

	mu   sync.Mutex
	kept map[conditionKey]ground
}

// View returns the view of p, of which neither a request nor the server's tools
// are known: conditions that need them are not met. See [View.With].
func (pol *Policy) View(p *Principal) *View { return newView(pol, p, nil, nil) }

// With returns a view for the same caller that knows the request and the
// server's own words about its tools. Either may be nil.
func (v *View) With(request *Request, facts Facts) *View {
	with := newView(v.policy, v.principal, request, facts)
	with.within = v.within
	return with
}

// As returns a view like v for another caller.
func (v *View) As(p *Principal) *View {
	as := newView(v.policy, p, v.request, v.facts)
	as.within = v.within
	return as
}

// Within returns a view that shows, of what v shows, these tools and the UI
// resources that they show, and no other name.
func (v *View) Within(tools []string) *View {
	narrow := newView(v.policy, v.principal, v.request, v.facts)
	narrow.within = append([]string{}, tools...)
	return narrow
}

// HidesNothing reports whether every name is shown.
func (v *View) HidesNothing() bool { return v.within == nil && v.policy.HidesNothing() }

func newView(pol *Policy, p *Principal, request *Request, facts Facts) *View {
	return &View{policy: pol, principal: p, request: request, facts: facts}
}

// Decide answers for one name.
func (v *View) Decide(kind Kind, name string) Decision {
	if reason := v.outside(kind, name); reason != "" {
		return Decision{Rule: "registration", Cause: CauseRegistration, Reason: reason}
	}
	rule := v.policy.find(kind, name)
	if rule == nil && kind == Resource && v.facts != nil && strings.HasPrefix(name, "ui:") {
		if d, belongs := v.decideByTools(name); belongs {
			return d
		}
	}
	return v.decide(rule, kind, name)
}

// DecideCall answers for a call of a tool with these arguments, a JSON object
// or nothing. It hides what Decide hides, and may refuse what Decide allows.
func (v *View) DecideCall(tool string, arguments []byte) Decision {
	rule := v.policy.find(Tool, tool)
	d := v.Decide(Tool, tool)
	if rule == nil || d.Verdict != Allowed {
		return d
	}
	if rule.Arguments != nil {
		if err := rule.Arguments.Admit(arguments); err != nil {
			return Decision{Verdict: Refused, Rule: rule.Pattern, Cause: CauseArguments, Reason: err.Error(), Message: err.Error()}
		}
	}
	for _, condition := range rule.whenCalled {
		if g := v.meets(condition, Tool, tool, arguments); g.cause != "" {
			d := g.against(rule.Pattern)
			d.Verdict, d.Message = Refused, "a rule of this server does not allow the tool with these arguments"
			return d
		}
	}
	return d
}

// HasRule reports whether a rule of its own, not the default, speaks about name.
func (v *View) HasRule(kind Kind, name string) bool { return v.policy.find(kind, name) != nil }

// Shows reports whether name may appear in lists.
func (v *View) Shows(kind Kind, name string) bool { return v.Decide(kind, name).Verdict != Hidden }

// Union joins two lists without repeats, first list first.
func Union(a, b []string) []string {
	joined := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(joined, s) {
			joined = append(joined, s)
		}
	}
	return joined
}

// outside returns why a name does not belong to what the view was narrowed to,
// and "" if it does.
func (v *View) outside(kind Kind, name string) string {
	switch {
	case v.within == nil || kind == Method || kind == Tool && slices.Contains(v.within, name):
		return ""
	case kind != Resource || !strings.HasPrefix(name, "ui:") || v.facts == nil:
		return "not part of the registration"
	}
	tools, err := v.facts.ToolsShowing(name)
	if err != nil {
		return "the tools that show this resource are unknown: " + err.Error()
	}
	if !slices.ContainsFunc(tools, func(tool string) bool { return v.Shows(Tool, tool) }) {
		return "no visible tool of the registration shows this resource"
	}
	return ""
}

// decideByTools answers for a UI resource without a rule. It belongs to the
// tools that show it, and is as visible as the most visible of them; it does not
// belong if there are none. If they cannot be had, nobody knows, and it stays
// hidden.
func (v *View) decideByTools(uri string) (d Decision, belongs bool) {
	tools, err := v.facts.ToolsShowing(uri)
	if err != nil {
		return Decision{Rule: "tool", Cause: CauseUnknown, Reason: "the tools that show this resource are unknown: " + err.Error()}, true
	}
	for _, tool := range tools {
		if d := v.Decide(Tool, tool); d.Verdict != Hidden {
			return Decision{Verdict: Allowed, Rule: d.Rule}, true
		}
	}
	return Decision{Rule: "tool", Cause: CauseTools, Reason: "only hidden tools show this resource", Missing: tools}, len(tools) > 0
}

func (v *View) decide(rule *compiledRule, kind Kind, name string) Decision {
	switch {
	case rule == nil && kind == Method:
		return Decision{Verdict: Allowed, Rule: "default"}
	case rule == nil && !v.policy.defaultAllow:
		return Decision{Rule: "default", Cause: CauseDefault, Reason: "no rule fits and the default is deny"}
	case rule == nil:
		if g := v.lacksAnnotations(kind, name, nil); g.cause != "" {
			return g.against("default")
		}
		return Decision{Verdict: Allowed, Rule: "default"}
	}
	if g := v.hides(rule, kind, name); g.cause != "" {
		return g.against(rule.Pattern)
	}
	return v.decideScopes(rule)
}

// hides returns why the rule hides name whatever scopes the caller has, and
// nothing if it does not.
func (v *View) hides(rule *compiledRule, kind Kind, name string) ground {
	if rule.Deny {
		return ground{cause: CauseDeny, reason: "denied by rule"}
	}
	if v.anonymous() && rule.needsLogin() {
		return ground{cause: CauseLogin, reason: "the rule has conditions on the caller, who is not known"}
	}
	if len(rule.Tenants) > 0 && !slices.Contains(rule.Tenants, v.principal.Tenant) {
		return ground{CauseTenant, "tenant not in the rule's tenants", rule.Tenants}
	}
	if g := v.lacksRoles(rule.Roles); g.cause != "" {
		return g
	}
	if g := v.lacksAnnotations(kind, name, rule.Annotations); g.cause != "" {
		return g
	}
	for _, condition := range rule.when {
		if g := v.meets(condition, kind, name, nil); g.cause != "" {
			return g
		}
	}
	return ground{}
}

func (v *View) decideScopes(rule *compiledRule) Decision {
	missing := v.policy.MissingScopes(v.principal.Scopes, rule.Scopes)
	d := Decision{Rule: rule.Pattern}
	if len(missing) == 0 {
		d.Verdict = Allowed
		return d
	}
	d.Cause, d.Reason, d.Missing = CauseScope, "missing scope "+missing[0], missing
	if v.anonymous() {
		d.Verdict, d.Scopes = Login, slices.Clone(rule.Scopes)
		return d
	}
	if v.principal.Withholds(missing) {
		d.Cause, d.Reason = CauseMembership, d.Reason+", which the membership does not leave to the caller"
		return d
	}
	if rule.OnMissingScope == Challenge {
		d.Verdict, d.Scopes = StepUp, Union(v.principal.Scopes, rule.Scopes)
	}
	return d
}

// anonymous reports whether the caller has no token and could get one. Whoever
// is not named is not known, marked or not.
func (v *View) anonymous() bool {
	p := v.principal
	return v.policy.mixed && (p.Anonymous || p.Issuer == "" && p.Subject == "")
}

// conditionKey is of a condition that does not depend on the name: a list of
// 2,000 tools asks it 2,000 times.
type conditionKey struct {
	condition *celrule.Expression
	kind      Kind
}
