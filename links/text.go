package links

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// findRune returns the first rune of s that bad names, as a fault with a reason
// that shows the code point and never the character itself: a control character
// echoed to a terminal or a log would do there what it was refused for here.
// Bytes that are not UTF-8, overlong forms and surrogates among them, are faults
// whatever bad says.
func findRune(part, s string, bad func(rune) string) *Error {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return &Error{part, i, fmt.Sprintf("is not valid UTF-8 at 0x%02X", s[i])}
		}

		if kind := bad(r); kind != "" {
			return &Error{part, i, fmt.Sprintf("holds %s %U", kind, r)}
		}

		i += size
	}

	return nil
}

// controlKind names the characters that no part of a URL may hold: they split
// headers and log lines.
func controlKind(r rune) string {
	switch {
	case unicode.IsControl(r): // C0, DEL and C1
		return "control character"
	case r == '\u2028' || r == '\u2029':
		return "line separator"
	default:
		return ""
	}
}

// nameKind adds to controlKind what must not stand where people read a name or
// a place: characters that reorder the text around them.
func nameKind(r rune) string {
	if unicode.Is(unicode.Bidi_Control, r) {
		return "bidirectional control"
	}

	return controlKind(r)
}

// pathKind adds to nameKind what turns a path into something else when another
// program reads it again.
func pathKind(r rune) string {
	switch r {
	case '\\':
		return "backslash"
	case '#':
		return "fragment sign"
	default:
		return nameKind(r)
	}
}

// dotSegment returns the position of the first segment of the decoded path that
// some reader would take for "." or "..", or -1. Readers differ in what they
// cut off before they compare: path parameters (RFC 3986 section 3.3), a query
// that appeared by decoding, and white space at either end.
func dotSegment(decoded string) int {
	at := 0

	for segment := range strings.SplitSeq(decoded, "/") {
		name := segment
		if i := strings.IndexAny(name, ";?"); i >= 0 {
			name = name[:i]
		}

		if name = strings.TrimSpace(name); name == "." || name == ".." {
			return at
		}

		at += len(segment) + 1
	}

	return -1
}
