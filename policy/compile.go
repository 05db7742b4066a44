package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/celrule"
)

// Policy is a compiled [Config]; safe for concurrent use.
type Policy struct {
	defaultAllow  bool
	mixed         bool
	annotations   map[string]bool
	rolesClaim    string
	implies       hierarchy
	hiddenHeaders []string
	rules         map[Kind]*ruleSet
	reads         Reads
}

// ruleSet holds the rules of one kind. An exact name beats every pattern, and
// there are no two rules for one exact name.
type ruleSet struct {
	exact map[string]*compiledRule
	globs []*compiledRule // most specific first
}

type compiledRule struct {
	Rule
	pattern Pattern
	// when are the conditions that decide whether a name is shown;
	// whenCalled those that read arguments and can only refuse a call.
	when, whenCalled []*celrule.Expression
}

// Compile checks the rules and orders them. Two rules of equal weight that can
// fit one name are an error, since a reader could not tell which one counts.
func Compile(c Config) (*Policy, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p := &Policy{
		defaultAllow: c.Default == Allow, mixed: c.Mixed, annotations: c.Annotations, rolesClaim: c.RolesClaim,
		hiddenHeaders: slices.Clone(hiddenHeaders), rules: make(map[Kind]*ruleSet),
	}
	p.reads.Annotations = len(c.Annotations) > 0
	for _, name := range c.HiddenHeaders {
		p.hiddenHeaders = append(p.hiddenHeaders, strings.ToLower(name))
	}
	var err error
	if p.implies, err = compileHierarchy(c.Implies); err != nil {
		return nil, err
	}
	byKind := make(map[Kind][]*compiledRule)
	for _, rule := range c.Rules {
		compiled, err := p.compile(rule)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", rule.Kind, rule.Pattern, err)
		}
		byKind[rule.Kind] = append(byKind[rule.Kind], compiled)
	}
	var problems []error
	for kind, rules := range byKind {
		problems = append(problems, ambiguities(kind, rules)...)
		p.rules[kind] = newRuleSet(rules)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return p, nil
}

// HidesNothing reports whether every name is shown to everybody.
func (pol *Policy) HidesNothing() bool {
	for kind := range pol.rules {
		if kind != Method {
			return false
		}
	}
	return pol.defaultAllow && len(pol.annotations) == 0
}

// Check finds what is wrong with a rule by itself, for an error that still
// knows the line.
func (r Rule) Check() error {
	switch {
	case !slices.Contains([]Kind{Tool, Prompt, Resource, Template, Method}, r.Kind):
		return fmt.Errorf("unknown kind %q: write tool, prompt, resource, template or method", r.Kind)
	case r.OnMissingScope != "" && r.OnMissingScope != Hide && r.OnMissingScope != Challenge:
		return fmt.Errorf("on_missing_scope %q: write hide or challenge", r.OnMissingScope)
	case r.Deny && (r.Anonymous || r.OnMissingScope != "" || r.asksCaller() || len(r.Annotations) > 0 || r.Arguments != nil):
		return errors.New("deny stands alone; remove the other lines or remove deny")
	case r.Anonymous && r.asksCaller():
		return errors.New("anonymous opens the names to everybody; remove tenants, roles, when and scopes, or remove anonymous")
	case r.OnMissingScope == Challenge && len(r.Scopes) == 0:
		return errors.New("on_missing_scope challenge needs a scopes line to challenge for")
	case r.Kind != Tool && len(r.Annotations) > 0:
		return errors.New("annotations are conditions for tools; remove them here")
	case r.Kind != Tool && r.Arguments != nil:
		return errors.New("arguments are bounded for tools; remove the bounds here")
	}
	if err := checkHints(r.Annotations); err != nil {
		return err
	}
	for _, scope := range r.Scopes {
		if err := validScope(scope); err != nil {
			return err
		}
	}
	for _, tenant := range r.Tenants {
		if err := validTenant(tenant); err != nil {
			return fmt.Errorf("tenants: %w", err)
		}
	}
	if slices.Contains(r.Roles, "") {
		return errors.New("roles: a role has an empty name")
	}
	if r.Arguments != nil {
		return r.Arguments.Check()
	}
	return nil
}

// asksCaller reports whether the rule has conditions on who calls.
func (r Rule) asksCaller() bool { return r.needsLogin() || len(r.Scopes) > 0 }

// needsLogin reports whether the rule has conditions that say nothing about a
// caller who is not known.
func (r Rule) needsLogin() bool { return len(r.Tenants) > 0 || len(r.Roles) > 0 || len(r.When) > 0 }

func (c Config) check() error {
	switch {
	case c.Default != "" && c.Default != Deny && c.Default != Allow:
		return fmt.Errorf("policy default %q: write deny or allow", c.Default)
	case c.Results != "" && c.Results != Filter && c.Results != Pass:
		return fmt.Errorf("policy results %q: write filter or pass", c.Results)
	case c.Mixed && c.Default == Allow:
		return errors.New("policy default allow in mixed mode opens to everybody whatever the server adds; write default deny and tool * { anonymous } if you mean that")
	}
	return checkHints(c.Annotations)
}

func (pol *Policy) compile(r Rule) (*compiledRule, error) {
	pattern, err := ParsePattern(r.Pattern)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	if pol.mixed && !r.Deny && !r.Anonymous && !r.asksCaller() && !pattern.Exact() {
		return nil, errors.New("without conditions the rule opens in mixed mode all that fits to callers without a token; write anonymous if you mean that, or name scopes")
	}
	compiled := &compiledRule{Rule: r, pattern: pattern}
	for _, text := range r.When {
		expression, err := pol.condition(r.Kind, text)
		if err != nil {
			return nil, fmt.Errorf("when `%s`: %w", text, err)
		}
		if expression.Reads().Arguments {
			compiled.whenCalled = append(compiled.whenCalled, expression)
		} else {
			compiled.when = append(compiled.when, expression)
		}
	}
	pol.reads.Annotations = pol.reads.Annotations || len(r.Annotations) > 0
	return compiled, nil
}

// condition compiles one expression and notes what it reads.
func (pol *Policy) condition(kind Kind, text string) (*celrule.Expression, error) {
	expression, err := celrule.Compile(text)
	if err != nil {
		return nil, err
	}
	reads := expression.Reads()
	if kind != Tool && (reads.Arguments || reads.Annotations) {
		return nil, errors.New("request.arguments and request.annotations exist for tools only")
	}
	for _, name := range reads.HeaderNames {
		if pol.headerHidden(name) {
			return nil, fmt.Errorf("the header %s is not visible to rules; use principal or claims for what is known about the caller", name)
		}
	}
	pol.reads.Arguments = pol.reads.Arguments || reads.Arguments
	pol.reads.Annotations = pol.reads.Annotations || reads.Annotations
	pol.reads.Headers = pol.reads.Headers || reads.Headers
	pol.reads.ClientIP = pol.reads.ClientIP || reads.ClientIP
	return expression, nil
}

func newRuleSet(rules []*compiledRule) *ruleSet {
	set := &ruleSet{exact: make(map[string]*compiledRule)}
	for _, rule := range rules {
		if rule.pattern.Exact() {
			set.exact[rule.Pattern] = rule
		} else {
			set.globs = append(set.globs, rule)
		}
	}
	slices.SortStableFunc(set.globs, func(a, b *compiledRule) int {
		return cmp.Compare(b.pattern.weight(), a.pattern.weight())
	})
	return set
}

// find returns the rule that decides about name, nil if none fits.
func (pol *Policy) find(kind Kind, name string) *compiledRule {
	set := pol.rules[kind]
	if set == nil {
		return nil
	}
	if rule, ok := set.exact[name]; ok {
		return rule
	}
	for _, rule := range set.globs {
		if rule.pattern.Match(name) {
			return rule
		}
	}
	return nil
}

func ambiguities(kind Kind, rules []*compiledRule) []error {
	var problems []error
	for i, a := range rules {
		for _, b := range rules[i+1:] {
			if a.pattern.weight() == b.pattern.weight() && a.pattern.overlaps(b.pattern) {
				problems = append(problems, fmt.Errorf("%s rules %q and %q fit the same names and are equally specific; make one of them longer or join them", kind, a.Pattern, b.Pattern))
			}
		}
	}
	return problems
}
