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
	conditional   bool // some rule has a when
}

// ruleSet holds the rules of one kind. An exact name beats every pattern, and
// there are no two rules for one exact name.
type ruleSet struct {
	exact map[string]*compiledRule
	globs globIndex
}

type compiledRule struct {
	Rule
	pattern Pattern
	weight  int
	index   int // in Config.Rules
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
	for i, rule := range c.Rules {
		compiled, err := p.compile(rule)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", rule.Kind, rule.Pattern, err)
		}
		compiled.index = i
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
	compiled := &compiledRule{Rule: r, pattern: pattern, weight: pattern.weight()}
	pol.conditional = pol.conditional || len(r.When) > 0
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
	rules = slices.SortedStableFunc(slices.Values(rules), func(a, b *compiledRule) int { return cmp.Compare(b.weight, a.weight) })
	for _, rule := range rules {
		if rule.pattern.Exact() {
			set.exact[rule.Pattern] = rule
		} else {
			set.globs.add(rule)
		}
	}
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
	return set.globs.find(name)
}

func ambiguities(kind Kind, rules []*compiledRule) []error {
	byWeight := make(map[int][]*compiledRule)
	exact := make(map[string]bool)
	var problems []error
	report := func(a, b string) {
		problems = append(problems, fmt.Errorf("%s rules %q and %q fit the same names and are equally specific; make one of them longer or join them", kind, a, b))
	}
	for _, rule := range rules {
		if rule.pattern.Exact() {
			if exact[rule.Pattern] {
				report(rule.Pattern, rule.Pattern)
			}
			exact[rule.Pattern] = true
			continue
		}
		for _, other := range byWeight[rule.weight] {
			if other.pattern.overlaps(rule.pattern) {
				report(other.Pattern, rule.Pattern)
			}
		}
		byWeight[rule.weight] = append(byWeight[rule.weight], rule)
	}
	return problems
}
