package onboarding

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// parseObject reads strict JSON. Hosts skip a file without a word if they cannot
// read it, and differ in what they read.
func parseObject(content []byte) (rawjson.Value, error) {
	v, err := rawjson.Parse(content, maxDepth)

	switch {
	case err != nil:
		return nil, fmt.Errorf("is no strict JSON: %w", err)
	case v.Kind() != rawjson.Object:
		return nil, errors.New("is no JSON object")
	default:
		return v, nil
	}
}

// setMember sets a member of a file that people read. All else keeps its bytes;
// a new member goes on lines of its own where the object has lines.
func setMember(file, value rawjson.Value, path ...string) (rawjson.Value, error) {
	edited, err := file.Set(value, path...)
	if err != nil {
		return nil, fmt.Errorf("member %q of the file: %w", path[0], err)
	}

	if file.Get(path...).Exists() {
		return edited, nil
	}

	at := 0 // where the new member was put in
	for file[at] == edited[at] {
		at++
	}

	if file[at] != '\n' && file[at] != '\r' || edited[at] != ',' {
		return edited, nil // into a line, or into an empty object
	}

	end := len(edited) - (len(file) - at)
	line := file[bytes.LastIndexByte(file[:at], '\n')+1 : at]

	// A member alone is no JSON: its name is left out while it is laid out.
	member := edited[at+1 : end]
	nameEnd := bytes.IndexByte(member, ':') // our names hold none

	member = slices.Concat(member[:nameEnd], []byte(": "), indent(member[nameEnd+1:], leading(line), unitOf(file)))

	return slices.Concat(file[:at], []byte(",\n"), leading(line), member, file[at:]), nil
}

// setElement puts an element into an array, in the place of the one at index i
// or, if i is negative, at the end.
func setElement(array, element rawjson.Value, i int, unit []byte) rawjson.Value {
	elements := slices.Collect(array.Elements())

	if len(elements) == 0 {
		inner := slices.Concat(unit, unit)

		return slices.Concat([]byte("[\n"), inner, indent(element, inner, unit), []byte("\n"), unit, []byte("]"))
	}

	// Windows on one array, up to whose end their capacity reaches.
	offset := func(v rawjson.Value) int { return cap(array) - cap(v) }

	lead := array[1:offset(elements[0])]
	if bytes.IndexByte(lead, '\n') >= 0 {
		element = indent(element, lead[bytes.LastIndexByte(lead, '\n')+1:], unit)
	}

	if i >= 0 {
		start := offset(elements[i])

		return slices.Concat(array[:start], element, array[start+len(elements[i]):])
	}

	last := elements[len(elements)-1]
	end := offset(last) + len(last)

	return slices.Concat(array[:end], []byte(","), lead, element, array[end:])
}

// indent lays JSON out on lines, all but the first of which begin with prefix.
func indent(v rawjson.Value, prefix, unit []byte) rawjson.Value {
	var b bytes.Buffer
	if err := json.Indent(&b, v, string(prefix), string(unit)); err != nil {
		return v // no JSON, which it always is
	}

	return b.Bytes()
}

// unitOf returns by what a file indents.
func unitOf(file rawjson.Value) []byte {
	_, rest, _ := bytes.Cut(file, []byte("\n"))
	if unit := leading(rest); len(unit) > 0 {
		return unit
	}

	return []byte("  ")
}

// leading returns the blanks that a line begins with.
func leading(line []byte) []byte {
	return line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
}
