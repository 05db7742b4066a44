package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// hierarchy maps each scope to all that it implies, directly or not.
type hierarchy map[string][]string

// MissingScopes returns those of needed that granted neither holds nor implies,
// in the order of needed. Every check of scopes, also one for a whole
// endpoint, goes this way.
func (pol *Policy) MissingScopes(granted, needed []string) []string {
	var missing []string
	for _, scope := range needed {
		if !pol.implies.grants(granted, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}

// Narrow leaves p only those scopes that limit allows too, implied ones
// included on both sides. A nil limit changes nothing; an empty one leaves no
// scope. A membership can take scopes away, but never give any.
func (pol *Policy) Narrow(p *Principal, limit []string) {
	if limit == nil {
		return
	}
	limit = slices.Clone(limit)
	p.Scopes = slices.DeleteFunc(pol.implies.expand(p.Scopes), func(scope string) bool {
		return !pol.implies.grants(limit, scope)
	})
	before := p.withheld
	p.withheld = func(scope string) bool {
		return before != nil && before(scope) || !pol.implies.grants(limit, scope)
	}
}

// Withholds reports whether [Policy.Narrow] took one of scopes away, so that
// asking for a token that carries it is in vain.
func (p *Principal) Withholds(scopes []string) bool {
	return p.withheld != nil && slices.ContainsFunc(scopes, p.withheld)
}

// expand returns scopes with all that they imply behind them, without repeats,
// in memory of its own.
func (h hierarchy) expand(scopes []string) []string {
	expanded := Union(nil, scopes)
	for _, scope := range scopes {
		expanded = Union(expanded, h[scope])
	}
	return expanded
}

// grants reports whether one of granted is scope or implies it.
func (h hierarchy) grants(granted []string, scope string) bool {
	return slices.ContainsFunc(granted, func(g string) bool {
		return g == scope || slices.Contains(h[g], scope)
	})
}

// compileHierarchy follows direct implications to their end. A circle would
// make two scopes the same, which nobody can have meant.
func compileHierarchy(direct map[string][]string) (hierarchy, error) {
	h := make(hierarchy, len(direct))
	var follow func(scope string, path []string) error
	follow = func(scope string, path []string) error {
		if slices.Contains(path, scope) {
			return fmt.Errorf("implies: %s goes round in a circle", strings.Join(append(path, scope), " implies "))
		}
		if _, done := h[scope]; done {
			return nil
		}
		var all []string
		for _, implied := range direct[scope] {
			if err := validScope(implied); err != nil {
				return fmt.Errorf("implies: %w", err)
			}
			if err := follow(implied, append(slices.Clone(path), scope)); err != nil {
				return err
			}
			all = Union(Union(all, []string{implied}), h[implied])
		}
		h[scope] = all
		return nil
	}
	for _, scope := range slices.Sorted(maps.Keys(direct)) {
		if err := validScope(scope); err != nil {
			return nil, fmt.Errorf("implies: %w", err)
		}
		if err := follow(scope, nil); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// validScope refuses what no token can carry (RFC 6749 §3.3).
func validScope(scope string) error {
	bad := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }
	if scope == "" || strings.ContainsFunc(scope, bad) {
		return fmt.Errorf("%q is not a scope: visible ASCII without spaces, quotes and backslashes", scope)
	}
	return nil
}
