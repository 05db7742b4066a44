package policy

import (
	"fmt"
	"strings"
)

// Pattern matches names: every character stands for itself, `*` for any run of
// characters, also none. Matching is exact to the byte, without case folding:
// MCP names are case-sensitive (MCP 2025-11-25, server/tools, "Tool Names").
type Pattern struct {
	text  string
	parts []string // literals between the stars
}

// ParsePattern compiles a pattern. It must not be empty.
func ParsePattern(text string) (Pattern, error) {
	if text == "" {
		return Pattern{}, fmt.Errorf("empty pattern: write a name, or * for all")
	}
	return Pattern{text: text, parts: strings.Split(text, "*")}, nil
}

// String returns the pattern as written.
func (p Pattern) String() string { return p.text }

// Exact reports whether p matches one name only.
func (p Pattern) Exact() bool { return len(p.parts) == 1 }

// Match reports whether name fits.
func (p Pattern) Match(name string) bool {
	if p.Exact() {
		return name == p.text
	}
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	rest := name[len(first) : len(name)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}

// weight orders patterns by how specific they are: an exact name above every
// glob, then by the number of literal bytes.
func (p Pattern) weight() int {
	literal := 0
	for _, part := range p.parts {
		literal += len(part)
	}
	if p.Exact() {
		return 1 << 30
	}
	return literal
}

// overlaps reports whether some name fits both patterns.
func (p Pattern) overlaps(other Pattern) bool {
	a, b := p.text, other.text
	switch {
	case p.Exact():
		return other.Match(a)
	case other.Exact():
		return p.Match(b)
	case !agree(p.parts[0], other.parts[0], strings.HasPrefix),
		!agree(p.parts[len(p.parts)-1], other.parts[len(other.parts)-1], strings.HasSuffix):
		return false
	}
	// reach[j] says that the first i bytes of a and the first j bytes of b can
	// describe the same text.
	reach := make([]bool, len(b)+1)
	for i := 0; i <= len(a); i++ {
		next := make([]bool, len(b)+1)
		for j := 0; j <= len(b); j++ {
			switch {
			case i == 0 && j == 0:
				next[j] = true
			case i > 0 && a[i-1] == '*':
				next[j] = reach[j] || j > 0 && next[j-1]
			case j > 0 && b[j-1] == '*':
				next[j] = next[j-1] || i > 0 && reach[j]
			default:
				next[j] = i > 0 && j > 0 && a[i-1] == b[j-1] && reach[j-1]
			}
		}
		reach = next
	}
	return reach[len(b)]
}

// agree reports whether one text can go on, or begin, where the other does.
func agree(a, b string, has func(s, part string) bool) bool { return has(a, b) || has(b, a) }
