package links

import (
	"fmt"
	"strings"
)

const upperHex = "0123456789ABCDEF"

// escape percent-encodes everything except the unreserved characters of RFC
// 3986 section 2.3. That is a little more than encodeURIComponent does: ! ' ( )
// and * would otherwise end a link pasted into Markdown or mail.
func escape(s string) string {
	var b strings.Builder

	for i := range len(s) {
		if c := s[i]; isUnreserved(c) {
			b.WriteByte(c)
		} else {
			writeEscaped(&b, c)
		}
	}

	return b.String()
}

// escapeURL percent-encodes what may not stand in an HTTP header or an HTML
// attribute and leaves the structure of the URL, and escapes already there.
func escapeURL(s string) string {
	var b strings.Builder

	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || strings.IndexByte("\"'<>\\^`{|}", c) >= 0 {
			writeEscaped(&b, c)
		} else {
			b.WriteByte(c)
		}
	}

	return b.String()
}

func writeEscaped(b *strings.Builder, c byte) {
	b.WriteByte('%')
	b.WriteByte(upperHex[c>>4])
	b.WriteByte(upperHex[c&0xF])
}

// unescape decodes percent escapes and nothing else; a plus stays a plus. It
// returns the position of the first malformed escape, or -1.
func unescape(s string) (decoded string, fault int) {
	if strings.IndexByte(s, '%') < 0 {
		return s, -1
	}

	var b strings.Builder

	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])

			continue
		}

		if !hasEscape(s[i:]) {
			return "", i
		}

		b.WriteByte(unhex(s[i+1])<<4 | unhex(s[i+2]))
		i += 2
	}

	return b.String(), -1
}

// decodeComponent decodes one URL component in which every byte is encoded that
// an encoder for components encodes, save those in also.
func decodeComponent(part, raw, also string) (string, *Error) {
	for i := range len(raw) {
		c := raw[i]
		if isComponent(c) || c == '%' || strings.IndexByte(also, c) >= 0 {
			continue
		}

		what := fmt.Sprintf("byte 0x%02X", c)
		if c > ' ' && c < 0x7F {
			what = fmt.Sprintf("%q", c)
		}

		return "", &Error{part, i, "holds " + what + ", which must be percent-encoded"}
	}

	decoded, i := unescape(raw)
	if i >= 0 {
		return "", &Error{part, i, "holds a malformed percent escape"}
	}

	return decoded, nil
}

// rawIndex returns where the nth byte of the decoded form of s stands in s,
// whose escapes are well formed.
func rawIndex(s string, n int) int {
	i := 0

	for ; n > 0 && i < len(s); n-- {
		if s[i] == '%' {
			i += 2
		}

		i++
	}

	return i
}

// hasEscape reports whether s begins with a percent escape.
func hasEscape(s string) bool {
	return len(s) >= 3 && s[0] == '%' && isHex(s[1]) && isHex(s[2])
}

// escapedTwice returns the position of the first escape left in decoded text,
// or -1. The %uXXXX form counts because some servers still decode it.
func escapedTwice(decoded string) int {
	for i := range len(decoded) {
		rest := decoded[i:]
		if hasEscape(rest) {
			return i
		}

		if len(rest) >= 6 && rest[0] == '%' && (rest[1] == 'u' || rest[1] == 'U') &&
			isHex(rest[2]) && isHex(rest[3]) && isHex(rest[4]) && isHex(rest[5]) {
			return i
		}
	}

	return -1
}

func isUnreserved(c byte) bool {
	return isAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

// isComponent reports whether an encoder for one URL component may leave c as
// it is. It is the union of what the common encoders leave, so a link made by
// any of them parses.
func isComponent(c byte) bool {
	return isUnreserved(c) || strings.IndexByte("!'()*", c) >= 0
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	default:
		return c - 'A' + 10
	}
}
