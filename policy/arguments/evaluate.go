package arguments

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// stepsBase and stepsPerByte bound the work of one check: a check of honest
	// arguments takes less than one step per byte.
	stepsBase    = 100_000
	stepsPerByte = 4
	// maxCalls bounds nested evaluations, and with them circles of references.
	maxCalls = 1000
)

// check evaluates a decoded value that took size bytes.
func (s *schema) check(value any, size int) error {
	e := &evaluation{schema: s, steps: stepsBase + stepsPerByte*size}
	ok := e.evaluate(s.root, value, nil, e.newMarks())
	switch {
	case e.exhausted:
		return &InvalidError{Problems: []Problem{{Text: "too much work to check against the schema"}}}
	case ok:
		return nil
	case len(e.problems) == 0: // every false names its problem; should one not
		return &InvalidError{Problems: []Problem{{Text: "does not fit the schema"}}}
	}
	return &InvalidError{Problems: e.problems}
}

// evaluation is the state of one check.
type evaluation struct {
	schema    *schema
	steps     int
	calls     int
	exhausted bool
	// quiet is above zero where a mistake is not a mistake of the whole: in
	// alternatives, negations and conditions.
	quiet    int
	problems []Problem
}

// marks are the members and elements of one value that some keyword has looked
// at, for the unevaluated… keywords. A nil marks is not asked for.
type marks struct {
	allMembers, allItems bool
	members              map[string]bool
	items                int // elements from the first on
	item                 map[int]bool
}

func (e *evaluation) newMarks() *marks {
	if !e.schema.marks {
		return nil
	}
	return &marks{members: make(map[string]bool), item: make(map[int]bool)}
}

func (m *marks) add(other *marks) {
	if m == nil {
		return
	}
	m.allMembers = m.allMembers || other.allMembers
	m.allItems = m.allItems || other.allItems
	m.items = max(m.items, other.items)
	maps.Copy(m.members, other.members)
	maps.Copy(m.item, other.item)
}

// spend takes steps away, and reports false when there are none left.
func (e *evaluation) spend(steps int) bool {
	if e.steps -= steps; e.steps < 0 {
		e.exhausted = true
	}
	return !e.exhausted
}

// fail notes a problem and returns false.
func (e *evaluation) fail(at *place, format string, args ...any) bool {
	if e.quiet == 0 && len(e.problems) < maxProblems {
		e.problems = append(e.problems, Problem{at.pointer(), fmt.Sprintf(format, args...)})
	}
	return false
}

// stop reports whether there is no point in looking for more mistakes.
func (e *evaluation) stop(ok bool) bool {
	return e.exhausted || !ok && (e.quiet > 0 || len(e.problems) >= maxProblems)
}

// evaluate reports whether value fits n, and adds to seen what was looked at.
func (e *evaluation) evaluate(n *node, value any, at *place, seen *marks) bool {
	if e.calls++; e.calls > maxCalls {
		e.exhausted = true
	}
	defer func() { e.calls-- }()
	if !e.spend(1) {
		return false
	}
	if n.never {
		return e.fail(at, "is not allowed")
	}
	own := e.newMarks()
	ok := true
	for _, part := range []func(*node, any, *place, *marks) bool{e.reference, e.general, e.combined, e.byKind, e.unevaluated} {
		if ok = part(n, value, at, own) && ok; e.stop(ok) {
			break
		}
	}
	if ok && !e.exhausted {
		seen.add(own)
	}
	return ok && !e.exhausted
}

func (e *evaluation) reference(n *node, value any, at *place, seen *marks) bool {
	return n.ref == nil || e.evaluate(n.ref, value, at, seen)
}

func (e *evaluation) general(n *node, value any, at *place, _ *marks) bool {
	if len(n.types) > 0 {
		got := kind(value)
		if !slices.Contains(n.types, got) && !(got == "integer" && slices.Contains(n.types, "number")) {
			return e.fail(at, "must be %s, is %s", strings.Join(n.types, " or "), got)
		}
	}
	if n.constant == nil && n.enum == nil {
		return true
	}
	text := canonical(value)
	if !e.spend(len(text)) {
		return false
	}
	switch {
	case n.constant != nil && text != *n.constant:
		return e.fail(at, "must be one fixed value")
	case n.enum != nil && !n.enum[text] && n.enumNames != "":
		return e.fail(at, "must be one of %s", n.enumNames)
	case n.enum != nil && !n.enum[text]:
		return e.fail(at, "must be one of %d fixed values", len(n.enum))
	}
	return true
}

func (e *evaluation) combined(n *node, value any, at *place, seen *marks) bool {
	ok := true
	for _, part := range n.allOf {
		if ok = e.evaluate(part, value, at, seen) && ok; e.stop(ok) {
			return ok
		}
	}
	if n.anyOf != nil {
		// Marks are those of all alternatives that fit; without them one will do.
		enough := 1
		if seen != nil {
			enough = len(n.anyOf)
		}
		if e.fits(n.anyOf, value, at, seen, enough) == 0 {
			ok = e.fail(at, "fits none of %d alternatives", len(n.anyOf))
		}
	}
	if n.oneOf != nil {
		switch e.fits(n.oneOf, value, at, seen, 2) {
		case 0:
			ok = e.fail(at, "fits none of %d alternatives", len(n.oneOf))
		case 2:
			ok = e.fail(at, "fits several alternatives of which it may fit one")
		}
	}
	if n.not != nil && e.tries(n.not, value, at, nil) {
		ok = e.fail(at, "is of a form that is not allowed")
	}
	if n.when != nil {
		branch := n.other
		if e.tries(n.when, value, at, seen) {
			branch = n.then
		}
		if branch != nil {
			ok = e.evaluate(branch, value, at, seen) && ok
		}
	}
	return ok
}

// tries evaluates without noting problems.
func (e *evaluation) tries(n *node, value any, at *place, seen *marks) bool {
	e.quiet++
	defer func() { e.quiet-- }()
	return e.evaluate(n, value, at, seen)
}

// fits returns how many of the alternatives fit, and stops at enough.
func (e *evaluation) fits(alternatives []*node, value any, at *place, seen *marks, enough int) int {
	count := 0
	for _, alternative := range alternatives {
		if e.tries(alternative, value, at, seen) {
			count++
		}
		if count == enough || e.exhausted {
			break
		}
	}
	return count
}

func (e *evaluation) byKind(n *node, value any, at *place, seen *marks) bool {
	switch v := value.(type) {
	case number:
		return e.number(n, v, at)
	case string:
		return e.text(n, v, at)
	case []any:
		return e.array(n, v, at, seen)
	case map[string]any:
		return e.object(n, v, at, seen)
	}
	return true
}

func (e *evaluation) number(n *node, v number, at *place) bool {
	switch {
	case n.minimum != nil && v.cmp(*n.minimum) < 0:
		return e.fail(at, "must be at least %s", n.minimum)
	case n.maximum != nil && v.cmp(*n.maximum) > 0:
		return e.fail(at, "must be at most %s", n.maximum)
	case n.above != nil && v.cmp(*n.above) <= 0:
		return e.fail(at, "must be above %s", n.above)
	case n.below != nil && v.cmp(*n.below) >= 0:
		return e.fail(at, "must be below %s", n.below)
	case n.multipleOf != nil && !new(big.Rat).Quo(v.rat(), n.multipleOf.rat()).IsInt():
		return e.fail(at, "must be a multiple of %s", n.multipleOf)
	}
	return true
}

func (e *evaluation) text(n *node, v string, at *place) bool {
	if n.minLength != nil || n.maxLength != nil {
		length := utf8.RuneCountInString(v)
		switch {
		case n.minLength != nil && length < *n.minLength:
			return e.fail(at, "must have at least %d characters", *n.minLength)
		case n.maxLength != nil && length > *n.maxLength:
			return e.fail(at, "must have at most %d characters", *n.maxLength)
		}
	}
	if n.pattern == nil {
		return true
	}
	fits, ok := e.match(n.pattern, v)
	if ok && !fits {
		return e.fail(at, "must match %s", quoted(n.pattern.source))
	}
	return fits
}

// match pays for a regular expression before it is tried. ok is false if there
// is nothing left to pay with.
func (e *evaluation) match(p *pattern, text string) (fits, ok bool) {
	if !e.spend(1 + len(text)*p.size/8) {
		return false, false
	}
	return p.MatchString(text), true
}

// unevaluated applies the keywords for what no other keyword of this object has
// looked at. They come last, when all others have spoken.
func (e *evaluation) unevaluated(n *node, value any, at *place, seen *marks) bool {
	ok := true
	switch v := value.(type) {
	case []any:
		if n.otherItems == nil || seen.allItems {
			return true
		}
		for i := seen.items; i < len(v); i++ {
			if !seen.item[i] {
				ok = e.element(n.otherItems, v, i, at) && ok
			}
			if e.stop(ok) {
				return false
			}
		}
		seen.allItems = true
	case map[string]any:
		if n.otherMembers == nil || seen.allMembers {
			return true
		}
		for _, name := range sortedNames(v) {
			if !seen.members[name] {
				ok = e.member(n.otherMembers, v, name, at) && ok
			}
			if e.stop(ok) {
				return false
			}
		}
		seen.allMembers = true
	}
	return ok
}

func sortedNames(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
