package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Explanation is a [Decision] for an operator, with the rule that made it.
type Explanation struct {
	Decision
	Kind Kind
	Name string
	// Deciding is the rule, nil where the default decided, or the tools that
	// show a UI resource.
	Deciding *Rule
	// Index is the place of Deciding in [Config.Rules], -1 without one.
	Index int
	// AtCall are conditions on the arguments, which are asked when an allowed
	// tool is called.
	AtCall []string
}

// Explain answers as [View.Decide] does, by the same steps, and tells which rule
// it was.
func (v *View) Explain(kind Kind, name string) Explanation {
	x := Explanation{Kind: kind, Name: name, Index: -1, Decision: v.Decide(kind, name)}
	rule := v.policy.find(kind, name)
	if rule == nil {
		return x
	}
	x.Deciding, x.Index = &rule.Rule, rule.index
	if x.Verdict == Allowed {
		for _, condition := range rule.whenCalled {
			x.AtCall = append(x.AtCall, condition.String())
		}
	}
	return x
}

// Caddyfile writes the rule as a Caddyfile would hold it, over several lines
// where it has conditions.
func (r Rule) Caddyfile() string {
	lines := []string{string(r.Kind) + " " + word(r.Pattern)}
	add := func(yes bool, name string, words ...string) {
		if !yes {
			return
		}
		for i := range words {
			words[i] = word(words[i])
		}
		lines = append(lines, strings.Join(append([]string{"\t" + name}, words...), " "))
	}
	add(r.Deny, "deny")
	add(r.Anonymous, "anonymous")
	add(len(r.Tenants) > 0, "tenants", slices.Clone(r.Tenants)...)
	add(len(r.Roles) > 0, "roles", slices.Clone(r.Roles)...)
	for _, hint := range slices.Sorted(maps.Keys(r.Annotations)) {
		add(true, "annotation", hint, map[bool]string{true: "on", false: "off"}[r.Annotations[hint]])
	}
	for _, when := range r.When {
		add(true, "when", when)
	}
	add(len(r.Scopes) > 0, "scopes", slices.Clone(r.Scopes)...)
	add(r.OnMissingScope != "", "on_missing_scope", r.OnMissingScope)
	if r.Arguments != nil {
		add(r.Arguments.MaxBytes > 0, "max_bytes", fmt.Sprint(r.Arguments.MaxBytes))
		add(r.Arguments.MaxDepth > 0, "max_depth", fmt.Sprint(r.Arguments.MaxDepth))
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return lines[0] + " {\n" + strings.Join(lines[1:], "\n") + "\n}"
}

// word quotes what a Caddyfile would not read as one word.
func word(text string) string {
	switch {
	case text != "" && !strings.ContainsAny(text, " \t\r\n\"`{}#\\"):
		return text
	case !strings.Contains(text, "`"):
		return "`" + text + "`"
	default:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
}
