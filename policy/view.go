package policy

import "slices"

// Verdict is the answer to "may this principal use this name".
type Verdict int

// The verdicts. Hidden is the zero value, so that a forgotten answer shows
// nothing.
const (
	// Hidden: the name must look as if it did not exist.
	Hidden Verdict = iota
	// StepUp: the name is shown; using it is answered with a challenge for the
	// missing scopes (RFC 6750 §3.1, insufficient_scope).
	StepUp
	// Allowed: shown and usable.
	Allowed
)

// String returns the word used in logs.
func (v Verdict) String() string {
	switch v {
	case Allowed:
		return "allow"
	case StepUp:
		return "challenge"
	default:
		return "hide"
	}
}

// Decision is a [Verdict] with its grounds. Rule and Reason are for logs and
// for `explain`, never for the caller.
type Decision struct {
	Verdict Verdict
	// Rule is the pattern that decided, or "default".
	Rule string
	// Reason says in words what was missing; empty when allowed.
	Reason string
	// Scopes is what a challenge has to ask for: everything the operation
	// needs plus everything already granted, so that a client which replaces
	// its token loses nothing.
	Scopes []string
}

// View is what one principal may see and use. It is cheap to make and asked
// for each message; it must not be kept longer than that.
type View struct {
	policy    *Policy
	principal *Principal
}

// View returns the view of p.
func (pol *Policy) View(p *Principal) *View { return &View{pol, p} }

// Decide answers for one name.
func (v *View) Decide(kind Kind, name string) Decision {
	rule := v.policy.find(kind, name)
	switch {
	case rule == nil && v.policy.defaultAllow:
		return Decision{Verdict: Allowed, Rule: "default"}
	case rule == nil:
		return Decision{Rule: "default", Reason: "no rule fits and the default is deny"}
	case rule.Deny:
		return Decision{Rule: rule.Pattern, Reason: "denied by rule"}
	case len(rule.Tenants) > 0 && !slices.Contains(rule.Tenants, v.principal.Tenant):
		return Decision{Rule: rule.Pattern, Reason: "tenant not in the rule's tenants"}
	}
	missing := v.principal.missingScopes(rule.Scopes)
	if len(missing) == 0 {
		return Decision{Verdict: Allowed, Rule: rule.Pattern}
	}
	d := Decision{Rule: rule.Pattern, Reason: "missing scope " + missing[0]}
	if rule.OnMissingScope == Challenge {
		d.Verdict = StepUp
		d.Scopes = Union(v.principal.Scopes, rule.Scopes)
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
