package policy

import (
	"iter"
	"slices"
)

// globIndex finds the most specific pattern for a name without trying all of
// them: patterns are kept by the literals at their two ends, and a name is
// looked up once for each pair of lengths that occurs. Policies have few of
// those, however many rules they have.
type globIndex struct {
	shapes []globShape
	rules  map[globEnds][]*compiledRule // most specific first
}

type (
	globShape struct{ prefix, suffix int }    // lengths
	globEnds  struct{ prefix, suffix string } // literals
)

// add takes a rule; those of equal ends must come most specific first.
func (x *globIndex) add(rule *compiledRule) {
	parts := rule.pattern.parts
	ends := globEnds{parts[0], parts[len(parts)-1]}
	if x.rules == nil {
		x.rules = make(map[globEnds][]*compiledRule)
	}
	shape := globShape{len(ends.prefix), len(ends.suffix)}
	if !slices.Contains(x.shapes, shape) {
		x.shapes = append(x.shapes, shape)
	}
	x.rules[ends] = append(x.rules[ends], rule)
}

// find returns the most specific rule that fits name, nil if none does. No two
// of equal weight fit one name: such policies are refused.
func (x *globIndex) find(name string) (best *compiledRule) {
	for _, s := range x.shapes {
		if s.prefix+s.suffix > len(name) {
			continue
		}
		for _, rule := range x.rules[globEnds{name[:s.prefix], name[len(name)-s.suffix:]}] {
			if rule.pattern.Match(name) {
				if best == nil || rule.weight > best.weight {
					best = rule
				}
				break // the others of these ends are less specific
			}
		}
	}
	return best
}

// all yields every rule, in no order.
func (x *globIndex) all() iter.Seq[*compiledRule] {
	return func(yield func(*compiledRule) bool) {
		for _, rules := range x.rules {
			for _, rule := range rules {
				if !yield(rule) {
					return
				}
			}
		}
	}
}
