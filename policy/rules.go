package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Kind is what a rule is about.
type Kind string

// The kinds of names an MCP server shows.
const (
	Tool     Kind = "tool"
	Prompt   Kind = "prompt"
	Resource Kind = "resource"
	Template Kind = "template"
)

// Rule allows the names that fit a pattern to those who meet all conditions. Of
// several rules that fit a name only the most specific counts.
type Rule struct {
	// Kind is "tool", "prompt", "resource" or "template".
	Kind Kind `json:"kind"`
	// Pattern is a name or URI; * stands for any run of characters.
	Pattern string `json:"pattern"`
	// Deny hides the names from everybody. It stands alone.
	Deny bool `json:"deny,omitempty"`
	// Tenants that may. Default: every tenant the endpoint serves.
	Tenants []string `json:"tenants,omitempty"`
	// Scopes the token must carry, all of them. Default: none beyond those that
	// the whole endpoint needs.
	Scopes []string `json:"scopes,omitempty"`
	// OnMissingScope is "hide" (the default: the name looks unknown) or
	// "challenge" (it is listed, and its use is answered with 403 and the scopes
	// to ask for).
	OnMissingScope string `json:"on_missing_scope,omitempty"`
}

// The words of Config.Default, Rule.OnMissingScope and Config.Results.
const (
	Deny      = "deny"
	Allow     = "allow"
	Hide      = "hide"
	Challenge = "challenge"
	Filter    = "filter"
	Pass      = "pass"
)

// Config says which names of the server may be seen and used, by whom.
type Config struct {
	// Default is for names that no rule fits: "deny" (the default) or "allow".
	Default string `json:"default,omitempty"`
	// Rules, of which the most specific one that fits a name decides alone.
	Rules []Rule `json:"rules,omitempty"`
	// Results is what happens to links in results of tools and prompts that lead
	// to resources the caller may not read, and to such resources embedded
	// there: "filter" (the default: they are left out) or "pass".
	Results string `json:"results,omitempty"`
}

// Policy is a compiled [Config]; safe for concurrent use.
type Policy struct {
	defaultAllow bool
	rules        map[Kind][]compiledRule // most specific first
}

type compiledRule struct {
	Rule
	pattern Pattern
}

// Compile checks the rules and orders them. Two rules of equal weight that can
// fit one name are an error, since a reader could not tell which one counts.
func Compile(c Config) (*Policy, error) {
	if c.Default != "" && c.Default != Deny && c.Default != Allow {
		return nil, fmt.Errorf("policy default %q: write deny or allow", c.Default)
	}
	if c.Results != "" && c.Results != Filter && c.Results != Pass {
		return nil, fmt.Errorf("policy results %q: write filter or pass", c.Results)
	}
	p := &Policy{defaultAllow: c.Default == Allow, rules: make(map[Kind][]compiledRule)}
	for _, rule := range c.Rules {
		compiled, err := rule.compile()
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", rule.Kind, rule.Pattern, err)
		}
		p.rules[rule.Kind] = append(p.rules[rule.Kind], compiled)
	}
	var problems []error
	for kind, rules := range p.rules {
		problems = append(problems, ambiguities(kind, rules)...)
		slices.SortStableFunc(rules, func(a, b compiledRule) int {
			return cmp.Compare(b.pattern.weight(), a.pattern.weight())
		})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return p, nil
}

// HidesNothing reports whether every name is shown to everybody.
func (p *Policy) HidesNothing() bool { return p.defaultAllow && len(p.rules) == 0 }

func (r Rule) compile() (compiledRule, error) {
	pattern, err := ParsePattern(r.Pattern)
	switch {
	case err != nil:
		return compiledRule{}, err
	case r.Kind != Tool && r.Kind != Prompt && r.Kind != Resource && r.Kind != Template:
		return compiledRule{}, fmt.Errorf("unknown kind %q: write tool, prompt, resource or template", r.Kind)
	case r.OnMissingScope != "" && r.OnMissingScope != Hide && r.OnMissingScope != Challenge:
		return compiledRule{}, fmt.Errorf("on_missing_scope %q: write hide or challenge", r.OnMissingScope)
	case r.Deny && (len(r.Scopes) > 0 || len(r.Tenants) > 0 || r.OnMissingScope != ""):
		return compiledRule{}, errors.New("deny stands alone; remove the other lines or remove deny")
	case r.OnMissingScope == Challenge && len(r.Scopes) == 0:
		return compiledRule{}, errors.New("on_missing_scope challenge needs a scopes line to challenge for")
	}
	return compiledRule{r, pattern}, nil
}

// find returns the rule that decides about name, nil if none fits.
func (p *Policy) find(kind Kind, name string) *compiledRule {
	rules := p.rules[kind]
	for i := range rules {
		if rules[i].pattern.Match(name) {
			return &rules[i]
		}
	}
	return nil
}

func ambiguities(kind Kind, rules []compiledRule) []error {
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
