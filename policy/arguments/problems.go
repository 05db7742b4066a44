package arguments

import (
	"fmt"
	"strings"
)

const (
	// maxProblems bounds what is reported of one check. A model corrects a few
	// mistakes at a time.
	maxProblems = 5
	// maxQuoted bounds a name quoted from a schema or from arguments, in runes.
	maxQuoted = 64
)

// Problem is one mistake in the arguments.
type Problem struct {
	// Pointer is where, as a JSON Pointer (RFC 6901); empty for the whole.
	Pointer string
	// Text says what must be otherwise. It quotes names, never values.
	Text string
}

// InvalidError says that arguments do not fit. Its text is meant for the caller.
type InvalidError struct {
	Problems []Problem // at least one, at most five
}

// Error implements error.
func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Text
		if p.Pointer != "" {
			texts[i] = p.Pointer + ": " + p.Text
		}
	}
	return "invalid arguments: " + strings.Join(texts, "; ")
}

// UnsupportedError says that a schema cannot be checked. Its text is meant for the
// operator and for the server's author.
type UnsupportedError struct {
	// Pointer is where in the schema.
	Pointer string
	Reason  string
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the input schema cannot be checked: at %q: %s", e.Pointer, e.Reason)
}

// quoted shortens a name that comes from elsewhere.
func quoted(name string) string {
	if runes := []rune(name); len(runes) > maxQuoted {
		name = string(runes[:maxQuoted]) + "…"
	}
	return fmt.Sprintf("%q", name)
}

// place is where in the arguments an evaluation stands.
type place struct {
	parent *place
	step   string
}

func (p *place) pointer() string {
	if p == nil {
		return ""
	}
	return p.parent.pointer() + "/" + escapeToken(p.step)
}

func escapeToken(token string) string {
	if runes := []rune(token); len(runes) > maxQuoted {
		token = string(runes[:maxQuoted]) + "…"
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}
