// Package oneline says which names can stand in a header, a log or a terminal
// without being read as something else.
package oneline

import (
	"strings"
	"unicode"
)

// Is reports whether text is one line that reads the same everywhere: it holds
// no control character (C0, DEL, C1), no line or paragraph separator, and
// nothing that turns the direction of writing, behind which the rest of a log
// line can be made to say something else (UTR #36, "Bidirectional Text Spoofing").
func Is(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	})
}
