package links

import (
	"fmt"
	"strings"
)

// parseName decodes one path segment, which stands at byte at of the link, and
// checks the name in it.
func parseName(part, raw string, limit, at int) (string, *Error) {
	name, fault := decodeComponent(part, raw, "")
	if fault != nil {
		return "", fault.shift(at)
	}

	if fault := checkName(part, name, limit); fault != nil {
		fault.Offset = at + rawIndex(raw, fault.Offset)

		return "", fault
	}

	return name, nil
}

// checkName checks a plugin id, a marketplace or a tool name of at most limit
// bytes. Encoding does not protect dot segments: a WHATWG parser drops "%2e%2e"
// and the segment before it.
func checkName(part, name string, limit int) *Error {
	switch {
	case name == "":
		return &Error{part, 0, "is empty"}
	case len(name) > limit:
		return &Error{part, limit, fmt.Sprintf("is longer than %d bytes", limit)}
	case strings.TrimSpace(name) == "":
		return &Error{part, 0, "is blank"}
	}

	kind := func(r rune) string {
		if r == '\\' {
			return "backslash"
		}

		return nameKind(r)
	}
	if fault := findRune(part, name, kind); fault != nil {
		return fault
	}

	if i := escapedTwice(name); i >= 0 {
		return &Error{part, i, "holds a percent escape where the plain name belongs"}
	}

	if i := dotSegment(name); i >= 0 {
		return &Error{part, i, "holds a dot segment"}
	}

	return nil
}
