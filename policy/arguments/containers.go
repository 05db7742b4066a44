package arguments

import "strconv"

func (e *evaluation) array(n *node, v []any, at *place, seen *marks) bool {
	switch {
	case n.minItems != nil && len(v) < *n.minItems:
		return e.fail(at, "must have at least %d items", *n.minItems)
	case n.maxItems != nil && len(v) > *n.maxItems:
		return e.fail(at, "must have at most %d items", *n.maxItems)
	}
	ok := e.elements(n, v, at, seen)
	if e.stop(ok) {
		return ok
	}
	if n.contains != nil {
		ok = e.containsEnough(n, v, at, seen) && ok
	}
	if n.uniqueItems {
		ok = e.unique(v, at) && ok
	}
	return ok
}

func (e *evaluation) elements(n *node, v []any, at *place, seen *marks) bool {
	ok := true
	for i := range v {
		part := n.rest
		if i < len(n.tuple) {
			part = n.tuple[i]
		}
		if part == nil {
			break
		}
		if ok = e.element(part, v, i, at) && ok; e.stop(ok) {
			return ok
		}
	}
	if seen != nil {
		seen.items = max(seen.items, min(len(n.tuple), len(v)))
		seen.allItems = seen.allItems || n.rest != nil
	}
	return ok
}

func (e *evaluation) element(n *node, v []any, i int, at *place) bool {
	return e.evaluate(n, v[i], &place{at, strconv.Itoa(i)}, nil)
}

func (e *evaluation) containsEnough(n *node, v []any, at *place, seen *marks) bool {
	found := 0
	for i := range v {
		if !e.tries(n.contains, v[i], at, nil) {
			if e.exhausted {
				return false
			}
			continue
		}
		found++
		if seen != nil {
			seen.item[i] = true
		}
	}
	switch {
	case found < n.minContains:
		return e.fail(at, "must contain at least %d items of a certain form", n.minContains)
	case n.maxContains != nil && found > *n.maxContains:
		return e.fail(at, "must contain at most %d items of a certain form", *n.maxContains)
	}
	return true
}

func (e *evaluation) unique(v []any, at *place) bool {
	known := make(map[string]bool, len(v))
	for i, element := range v {
		text := canonical(element)
		if !e.spend(len(text)) {
			return false
		}
		if known[text] {
			return e.fail(&place{at, strconv.Itoa(i)}, "is there twice")
		}
		known[text] = true
	}
	return true
}

func (e *evaluation) object(n *node, v map[string]any, at *place, seen *marks) bool {
	ok := true
	for _, name := range n.required {
		if _, there := v[name]; !there {
			ok = e.fail(at, "%s is missing", quoted(name))
		}
	}
	switch {
	case n.minProperties != nil && len(v) < *n.minProperties:
		ok = e.fail(at, "must have at least %d members", *n.minProperties)
	case n.maxProperties != nil && len(v) > *n.maxProperties:
		ok = e.fail(at, "must have at most %d members", *n.maxProperties)
	}
	if e.stop(ok) {
		return ok
	}
	if n.looksAtMembers() {
		for _, name := range sortedNames(v) {
			if ok = e.oneMember(n, v, name, at, seen) && ok; e.stop(ok) {
				return ok
			}
		}
	}
	return e.dependencies(n, v, at, seen) && ok
}

func (n *node) looksAtMembers() bool {
	return len(n.properties) > 0 || len(n.patterns) > 0 || n.additional != nil || n.names != nil
}

// oneMember applies whatever the schema says about the member called name.
func (e *evaluation) oneMember(n *node, v map[string]any, name string, at *place, seen *marks) bool {
	ok := true
	if n.names != nil && !e.tries(n.names, name, at, nil) {
		ok = e.fail(at, "the name %s is not allowed", quoted(name))
	}
	known := false
	if property, there := n.properties[name]; there {
		known = true
		ok = e.member(property, v, name, at) && ok
	}
	for _, p := range n.patterns {
		fits, paid := e.match(p.pattern, name)
		if !paid {
			return false
		}
		if fits {
			known = true
			ok = e.member(p.node, v, name, at) && ok
		}
	}
	if !known && n.additional != nil {
		known = true
		if n.additional.never {
			ok = e.fail(at, "%s is not known", quoted(name))
		} else {
			ok = e.member(n.additional, v, name, at) && ok
		}
	}
	if known && seen != nil {
		seen.members[name] = true
	}
	return ok
}

func (e *evaluation) member(n *node, v map[string]any, name string, at *place) bool {
	return e.evaluate(n, v[name], &place{at, name}, nil)
}

func (e *evaluation) dependencies(n *node, v map[string]any, at *place, seen *marks) bool {
	if len(n.dependRequired) == 0 && len(n.dependSchemas) == 0 {
		return true
	}
	ok := true
	for _, name := range sortedNames(v) {
		for _, needed := range n.dependRequired[name] {
			if _, there := v[needed]; !there {
				ok = e.fail(at, "%s is missing, which %s needs", quoted(needed), quoted(name))
			}
		}
		if dependent := n.dependSchemas[name]; dependent != nil {
			ok = e.evaluate(dependent, v, at, seen) && ok
		}
		if e.stop(ok) {
			return ok
		}
	}
	return ok
}
