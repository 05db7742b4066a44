package arguments

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf16"
)

const (
	// maxPattern bounds a pattern, in bytes.
	maxPattern = 1024
	// maxProgram bounds what a pattern compiles to, and maxPrograms what all
	// patterns of a schema do, in instructions of some 40 bytes.
	maxProgram  = 4096
	maxPrograms = 32768
)

// pattern is a regular expression of ECMA-262, in the part that RE2 can do.
type pattern struct {
	*regexp.Regexp
	source string
	size   int // of its program: matching takes at most that much for each byte
}

func compilePattern(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("pattern longer than %d bytes", maxPattern)
	}
	translated, err := translate(text)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", quoted(text), err)
	}
	parsed, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern %s is not supported: %w", quoted(text), err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("pattern %s is not supported: %w", quoted(text), err)
	}
	if len(program.Inst) > maxProgram {
		return nil, fmt.Errorf("pattern %s is too large", quoted(text))
	}
	re, err := regexp.Compile(translated)
	if err != nil {
		return nil, fmt.Errorf("pattern %s is not supported: %w", quoted(text), err)
	}
	return &pattern{re, text, len(program.Inst)}, nil
}

// White space of ECMA-262 (§22.2.2.9, CharacterClassEscape), as the inside of
// a class, and what a dot does not match.
const (
	ecmaSpace   = `\t\n\v\f\r\p{Z}\x{feff}`
	ecmaNewline = `\n\r\x{2028}\x{2029}`
)

// translate rewrites what ECMA-262 and RE2 write differently, and refuses what
// they read differently. Look-around and back-references are left for RE2 to
// refuse.
func translate(text string) (string, error) {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case rest[0] == '\\':
			replaced, length, err := translateEscape(rest, inClass)
			if err != nil {
				return "", err
			}
			b.WriteString(replaced)
			i += length
			continue
		case inClass:
			if strings.HasPrefix(rest, "[:") {
				return "", errors.New("[: in a class is read in different ways")
			}
			inClass = rest[0] != ']'
			if rest[0] == '[' {
				b.WriteByte('\\') // a literal in ECMA-262
			}
		case rest[0] == '[':
			if strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") {
				return "", errors.New("an empty class is read in different ways")
			}
			inClass = true
		case rest[0] == '.':
			b.WriteString("[^" + ecmaNewline + "]")
			i++
			continue
		case strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:") && !strings.HasPrefix(rest, "(?<"):
			return "", errors.New("groups that begin with (? other than (?: and names are not supported")
		}
		b.WriteByte(rest[0])
		i++
	}
	return b.String(), nil
}

// translateEscape rewrites the escape at the beginning of rest and returns how
// long it was.
func translateEscape(rest string, inClass bool) (replaced string, length int, err error) {
	if len(rest) < 2 {
		return "", 0, errors.New("it ends in a backslash")
	}
	switch c := rest[1]; {
	case c == 's' && inClass:
		return ecmaSpace, 2, nil
	case c == 's':
		return "[" + ecmaSpace + "]", 2, nil
	case c == 'S' && inClass:
		return "", 0, errors.New(`\S in a class is not supported`)
	case c == 'S':
		return "[^" + ecmaSpace + "]", 2, nil
	case c == 'u':
		return translateUnicode(rest)
	case c == 'c' && len(rest) > 2 && (rest[2]|0x20) >= 'a' && (rest[2]|0x20) <= 'z':
		return fmt.Sprintf(`\x{%x}`, rest[2]&0x1f), 3, nil
	case c == '0' && (len(rest) == 2 || rest[2] < '0' || rest[2] > '9'):
		return `\x00`, 2, nil
	case c == 'b' && inClass:
		return `\x08`, 2, nil
	case strings.IndexByte(`dDwWpPtnrfvx^$\.*+?()[]{}|/-`, c) >= 0, (c == 'b' || c == 'B') && !inClass:
		return rest[:2], 2, nil
	default:
		return "", 0, fmt.Errorf(`the escape \%c is not supported`, c)
	}
}

// translateUnicode rewrites \u0041, \u{1F600} and pairs of surrogates.
func translateUnicode(rest string) (replaced string, length int, err error) {
	bad := errors.New(`\u needs four hexadecimal digits, or up to six in braces`)
	if strings.HasPrefix(rest, `\u{`) {
		end := strings.IndexByte(rest, '}')
		if end < 4 || end > 9 || !isHex(rest[3:end]) {
			return "", 0, bad
		}
		return `\x{` + rest[3:end] + `}`, end + 1, nil
	}
	if len(rest) < 6 || !isHex(rest[2:6]) {
		return "", 0, bad
	}
	unit, _ := strconv.ParseUint(rest[2:6], 16, 16)
	if !utf16.IsSurrogate(rune(unit)) {
		return `\x{` + rest[2:6] + `}`, 6, nil
	}
	if len(rest) >= 12 && rest[6:8] == `\u` && isHex(rest[8:12]) {
		low, _ := strconv.ParseUint(rest[8:12], 16, 16)
		if r := utf16.DecodeRune(rune(unit), rune(low)); r != 0xfffd {
			return fmt.Sprintf(`\x{%x}`, r), 12, nil
		}
	}
	return "", 0, errors.New("half a surrogate pair is not supported")
}

func isHex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == "" }
