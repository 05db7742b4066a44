package rawjson

import (
	"errors"
	"slices"
)

// ErrNotObject is returned when an edit has to go through a value that is not
// an object. The value is left as it is: replacing it would lose data.
var ErrNotObject = errors.New("not a JSON object")

// Set returns v with the member at path set to value. A member that exists
// keeps its place; a new one is added at the end; missing objects on the way
// are made. All other bytes are copied as they are. The error is
// [ErrNotObject] if v or a step of the path is something else.
func (v Value) Set(value Value, path ...string) (Value, error) {
	if len(path) == 0 {
		return value, nil
	}
	if v.Kind() != Object {
		return v, ErrNotObject
	}
	m, found := v.find(path[0])
	if len(path) > 1 {
		inner := Value("{}")
		if found {
			inner = v[m.value:m.end]
		}
		var err error
		if value, err = inner.Set(value, path[1:]...); err != nil {
			return v, err
		}
	}
	if found {
		return splice(v, m.value, m.end, value), nil
	}
	return v.appendMember(path[0], value), nil
}

// Replace returns v with value in the place of part, a part of these very bytes
// as [Value.Get] or [Value.Pick] returned it. Unlike [Value.Set] it need not look
// for it. It reports false for what is no part of v.
func (v Value) Replace(part, value Value) (Value, bool) {
	start := cap(v) - cap(part) // both end where their memory does
	if len(part) == 0 || start < 0 || start+len(part) > len(v) || !v[start:start+len(part)].Is(part) {
		return v, false
	}
	return splice(v, start, start+len(part), value), true
}

// Delete returns v without the member at path, and v itself if there is none.
func (v Value) Delete(path ...string) Value {
	if len(path) == 0 {
		return v
	}
	m, found := v.find(path[0])
	if !found {
		return v
	}
	if len(path) > 1 {
		inner := v[m.value:m.end]
		if shorter := inner.Delete(path[1:]...); len(shorter) != len(inner) {
			return splice(v, m.value, m.end, shorter)
		}
		return v
	}
	// One comma goes with the member: the one behind it, or for the last
	// member the one before it.
	start, end := m.start, m.end
	if i := skipSpace(v, end); v[i] == ',' {
		end = skipSpace(v, i+1)
	} else {
		for start > 1 && (isSpace(v[start-1]) || v[start-1] == ',') {
			start--
		}
	}
	return splice(v, start, end, nil)
}

// MapElements calls f for each element of an array and returns the array with
// every element replaced by f's answer, or left out where f answers false.
// Where nothing changed the result is v itself. Any other kind is returned
// unchanged.
func (v Value) MapElements(f func(Value) (Value, bool)) Value {
	var kept []Value
	changed := false
	for element := range v.Elements() {
		out, keep := f(element)
		switch {
		case !keep:
			changed = true
			continue
		case !out.Is(element):
			changed = true
		}
		kept = append(kept, out)
	}
	if !changed {
		return v
	}
	return ArrayOf(kept...)
}

// ArrayOf builds an array.
func ArrayOf(elements ...Value) Value {
	size := 2 + len(elements)
	for _, element := range elements {
		size += len(element)
	}
	out := append(make(Value, 0, size), '[')
	for i, element := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, element...)
	}
	return append(out, ']')
}

func (v Value) appendMember(name string, value Value) Value {
	at := len(v) - 1 // before the closing brace, behind the last member
	for isSpace(v[at-1]) {
		at--
	}
	var member Value
	if v[at-1] != '{' {
		member = append(member, ',')
	}
	member = append(member, Quote(name)...)
	member = append(member, ':')
	member = append(member, value...)
	return splice(v, at, at, member)
}

func splice(v Value, start, end int, middle Value) Value {
	return slices.Concat(v[:start], middle, v[end:])
}
