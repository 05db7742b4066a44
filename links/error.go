package links

import (
	"errors"
	"fmt"
)

var (
	// ErrNotAppLink marks a URL that does not address an app inside a plugin
	// at all, so a scanner of free text can pass it over. A URL that does, and
	// is faulty, is an [*Error] instead.
	ErrNotAppLink = errors.New("not a plugin app link")

	// ErrUnknownTool marks a tool that the caller's catalog does not hold.
	ErrUnknownTool = errors.New("tool is not in the catalog")

	// ErrNoLink marks a platform for which no link can be built: unknown, a web
	// link of a custom marketplace, or the ordinary application without a
	// fallback URL.
	ErrNoLink = errors.New("no link for this platform")
)

// Error tells what is wrong with an input and where. Reason may quote a few
// characters of the input, always escaped for a terminal, never more.
type Error struct {
	// Part names what is faulty: "url", "path", "query", "link", "plugin id",
	// "marketplace", "tool", "platform", "fallback", "skill", "arguments" or
	// "context".
	Part string `json:"part"`

	// Offset is the byte position of the fault in the text that was parsed, so
	// that a caret can be put under it. A value given alone, such as a field of
	// [AppLink], or decoded from JSON counts from its own first byte.
	Offset int `json:"offset"`

	// Reason completes a sentence that begins with Part.
	Reason string `json:"reason"`
}

// Error returns the sentence and the byte position.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s (byte %d)", e.Part, e.Reason, e.Offset)
}

// shift moves a fault found in a piece of text to the place of that piece. It
// accepts nil so that checks can be chained.
func (e *Error) shift(n int) *Error {
	if e != nil {
		e.Offset += n
	}

	return e
}
