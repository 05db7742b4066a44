package links

import (
	"fmt"
	"path"
	"strings"
)

// MaxAppURL is the length limit of an app-relative URL in bytes.
const MaxAppURL = 2048

// AppURL is an app-relative URL: a path and an optional query, as the page of a
// plugin app receives it in the host context member openai/deepLink. Only
// [ParseAppURL] vouches for one; the functions of this package that act on an
// AppURL check it again, so a conversion from a string fails closed.
type AppURL string

// ParseAppURL returns s unchanged if it is a safe app-relative URL, and an
// [*Error] otherwise.
//
// The path, which ends at the first literal question mark, begins with exactly
// one slash and stays where it points however often it is decoded: no dot
// segments, not even behind path parameters, encoded slashes, encoded question
// marks or a second layer of encoding; no backslash, no fragment sign, no
// control, bidirectional or line separator character, raw or encoded.
//
// The query is data that this package does not judge, apart from control
// characters and line separators, which are refused raw and encoded, and broken
// encoding, behind which they could hide.
//
// The whole is at most [MaxAppURL] bytes of valid UTF-8 without raw spaces or a
// fragment. The leading slash and the absent fragment are rules of the deep link
// extension; the rest keeps the URL on its origin and inside its path under RFC
// 3986, the WHATWG URL standard, and servers that decode twice.
func ParseAppURL(s string) (AppURL, error) {
	if fault := checkAppURL(s); fault != nil {
		return "", fault
	}

	return AppURL(s), nil
}

// Path returns the decoded path without the query, or the empty string if u is
// not valid.
func (u AppURL) Path() string {
	if checkAppURL(string(u)) != nil {
		return ""
	}

	raw, _, _ := strings.Cut(string(u), "?")
	decoded, _ := unescape(raw)

	return decoded
}

// Query returns the query as it was written, without its question mark.
func (u AppURL) Query() string {
	_, query, _ := strings.Cut(string(u), "?")

	return query
}

// Match reports whether the decoded path is pattern or, if pattern ends in /*,
// lies below it; the place itself counts as below. Case and every byte count. A
// pattern with an empty or a dot segment matches nothing, so a placeholder that
// stays empty, as in /t/{tenant}/*, opens no door. The pattern /* matches every
// valid URL.
func (u AppURL) Match(pattern string) bool {
	dir, below := strings.CutSuffix(pattern, "/*")
	if below && dir == "" {
		return u.Path() != ""
	}

	if !strings.HasPrefix(dir, "/") || path.Clean(dir) != dir || below && dir == "/" {
		return false
	}

	p := u.Path()

	return p == dir || below && strings.HasPrefix(p, dir+"/")
}

func checkAppURL(s string) *Error {
	switch {
	case s == "":
		return &Error{"url", 0, "is empty"}
	case len(s) > MaxAppURL:
		return &Error{"url", MaxAppURL, fmt.Sprintf("is longer than %d bytes", MaxAppURL)}
	case s[0] != '/':
		return &Error{"path", 0, "does not begin with a slash"}
	}

	rawPath, rawQuery, hasQuery := strings.Cut(s, "?")
	if fault := checkPath(rawPath); fault != nil {
		return fault
	}

	if hasQuery {
		return checkQuery(rawQuery).shift(len(rawPath) + 1)
	}

	return nil
}

// checkPath checks a raw path that begins with a slash.
func checkPath(raw string) *Error {
	decoded, fault := decodeText("path", raw, pathKind)
	if fault != nil {
		return fault
	}

	at := func(n int, reason string) *Error {
		return &Error{"path", rawIndex(raw, n), reason}
	}

	if i := escapedTwice(decoded); i >= 0 {
		return at(i, "is percent-encoded twice")
	}

	if strings.HasPrefix(decoded, "//") {
		return at(1, "begins with two slashes, which name another host")
	}

	// A server that cuts path parameters reads "/;a/b" as "//b".
	if first, _, more := strings.Cut(decoded[1:], "/"); more && strings.HasPrefix(first, ";") {
		return at(1, "begins with two slashes once its path parameter is cut")
	}

	if i := dotSegment(decoded); i >= 0 {
		return at(i, "holds a dot segment")
	}

	return nil
}

func checkQuery(raw string) *Error {
	if i := strings.IndexByte(raw, '#'); i >= 0 {
		return &Error{"query", i, "is followed by a fragment"}
	}

	_, fault := decodeText("query", raw, controlKind)

	return fault
}

// decodeText decodes raw and looks for forbidden runes before and after, with
// positions in raw. Looking only at the decoded text would let a raw byte and an
// escape that follows it pass together as one character.
func decodeText(part, raw string, bad func(rune) string) (string, *Error) {
	rawBad := func(r rune) string {
		if r == ' ' {
			return "raw space"
		}

		return bad(r)
	}
	if fault := findRune(part, raw, rawBad); fault != nil {
		return "", fault
	}

	decoded, i := unescape(raw)
	if i >= 0 {
		return "", &Error{part, i, "holds a malformed percent escape"}
	}

	if fault := findRune(part, decoded, bad); fault != nil {
		fault.Offset = rawIndex(raw, fault.Offset)

		return "", fault
	}

	return decoded, nil
}
