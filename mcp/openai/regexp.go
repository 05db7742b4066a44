package openai

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// errUnicodeClass is the construct behind most refused catalogs: it is fine in
// two of the three languages and unknown to the third.
var errUnicodeClass = errors.New(`\p{…} is unknown to Python's re`)

// portablePattern checks that a pattern means something in all three languages
// that hosts validate with: RE2, Python's re and ECMAScript with the u flag.
// (Rules S01 and S02 of [LintTool].)
func portablePattern(p string) error {
	inClass := false
	for i := 0; i < len(p); i++ {
		rest := p[i:]
		switch {
		case p[i] == '\\':
			if i+1 == len(p) {
				return errors.New("it ends in a backslash")
			}
			if err := portableEscape(p[i+1], inClass); err != nil {
				return err
			}
			if p[i+1] == 'x' && !isHex(p[i+2:], 2) {
				return errors.New(`\x needs two hexadecimal digits`)
			}
			i++
		case inClass:
			switch {
			case strings.HasPrefix(rest, "[:"):
				return errors.New("classes such as [:alpha:] are known to RE2 only")
			case p[i] == ']':
				inClass = false
			}
		case p[i] == '[':
			inClass = true
			if strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") {
				return errors.New("an empty class, or one that begins with ], is read in different ways")
			}
		case p[i] == ']', p[i] == '}':
			return fmt.Errorf("a lone %c is an error in ECMAScript", p[i])
		case p[i] == '{':
			end := quantifierEnd(rest)
			if end == 0 {
				return errors.New("a lone { is an error in ECMAScript")
			}
			i += end - 1
		case strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:"):
			return errors.New("groups that begin with (? differ, look-around among them: use (?: or plain ones")
		}
	}
	if _, err := syntax.Parse(p, syntax.Perl); err != nil {
		return fmt.Errorf("RE2 cannot read it: %w", err)
	}
	return nil
}

// portableEscape accepts the escapes that all three languages know.
func portableEscape(c byte, inClass bool) error {
	switch {
	case c == 'p' || c == 'P':
		return errUnicodeClass
	case strings.IndexByte(`dDwWsStnrfvx^$\.*+?()[]{}|/`, c) >= 0:
		return nil
	case c == 'b' || c == 'B':
		if inClass {
			return fmt.Errorf(`\%c means something else inside a class`, c)
		}
		return nil
	case c == '-' && inClass:
		return nil
	case '0' <= c && c <= '9':
		return errors.New("back-references and octal escapes are not known everywhere")
	default:
		return fmt.Errorf(`the escape \%c is not known everywhere`, c)
	}
}

// quantifierEnd returns the length of a {n}, {n,} or {n,m} at the beginning of
// s, and 0 if there is none.
func quantifierEnd(s string) int {
	end := strings.IndexByte(s, '}')
	if end < 2 {
		return 0
	}
	low, high, _ := strings.Cut(s[1:end], ",")
	if low == "" || strings.Trim(low+high, "0123456789") != "" {
		return 0
	}
	return end + 1
}

func isHex(s string, n int) bool {
	return len(s) >= n && strings.Trim(s[:n], "0123456789abcdefABCDEF") == ""
}
