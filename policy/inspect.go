package policy

import "slices"

// Reads says what decisions depend on beside the caller.
type Reads struct {
	// Headers and ClientIP: a View is good for one request only.
	Headers, ClientIP bool
	// Annotations: [Facts] are needed.
	Annotations bool
	// Arguments: a call may be refused that a list shows.
	Arguments bool
}

// Reads returns what the rules read, all of them together.
func (pol *Policy) Reads() Reads { return pol.reads }

// Unused returns the patterns of the rules of one kind that decide about none
// of names: misspelt ones, or left over. names is all that the server shows.
func (pol *Policy) Unused(kind Kind, names []string) []string {
	set := pol.rules[kind]
	if set == nil {
		return nil
	}
	used := make(map[*compiledRule]bool)
	for _, name := range names {
		used[pol.find(kind, name)] = true
	}
	var unused []string
	for _, rule := range set.exact {
		if !used[rule] {
			unused = append(unused, rule.Pattern)
		}
	}
	for rule := range set.globs.all() {
		if !used[rule] {
			unused = append(unused, rule.Pattern)
		}
	}
	slices.Sort(unused)
	return unused
}
