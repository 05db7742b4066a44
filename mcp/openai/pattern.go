package openai

import "strings"

// pattern is an address or a tool name in which * stands for any characters,
// slashes included.
type pattern string

// match reports whether p covers the whole of s. The work is bounded by the
// product of both lengths whatever the number of stars.
func (p pattern) match(s string) bool {
	at, in := 0, 0         // next byte of p and of s
	star, resume := -1, -1 // the last star in p, and where in s it last tried to end
	for in < len(s) {
		switch {
		case at < len(p) && p[at] == '*':
			star, resume = at, in
			at++
		case at < len(p) && p[at] == s[in]:
			at++
			in++
		case star >= 0:
			resume++
			at, in = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(string(p[at:]), "*") == ""
}

// weight orders patterns by how specific they are: an exact name above every
// glob, a longer literal part above a shorter one.
func (p pattern) weight() int {
	stars := strings.Count(string(p), "*")
	if stars == 0 {
		return 1 << 30
	}
	return len(p) - stars
}

// mostSpecific picks the rule that covers s and is the most specific, of equal
// ones the first. of gives a rule's pattern and whether the rule counts at all.
func mostSpecific[R any](rules []R, s string, of func(R) (pattern, bool)) (best R, found bool) {
	var heaviest pattern
	for _, rule := range rules {
		p, counts := of(rule)
		if counts && p.match(s) && (!found || p.weight() > heaviest.weight()) {
			best, heaviest, found = rule, p, true
		}
	}
	return best, found
}
