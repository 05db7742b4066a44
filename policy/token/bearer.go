package token

import (
	"net/http"
	"strings"
)

// MaxTokenBytes bounds the Authorization header value and the token itself.
// Access tokens of common issuers are between 0.5 and 4 KiB.
const MaxTokenBytes = 16 << 10

// Bearer takes the token out of the Authorization header (RFC 6750 §2.1).
// There is no other way in: query and form parameters are not looked at.
//
// The scheme is matched in any case and followed by one or more ASCII spaces
// and exactly one b64token, which is returned unjudged. The error is
// ErrNoToken if there are no bearer credentials at all, and an *Error of kind
// InvalidRequest if the header is repeated, too long or malformed.
func Bearer(h http.Header) (string, error) {
	lines := h["Authorization"]
	if len(lines) > 1 {
		return "", malformed("the Authorization header is repeated")
	}
	if len(lines) == 0 || lines[0] == "" {
		return "", ErrNoToken
	}

	value := lines[0]
	if len(value) > MaxTokenBytes {
		return "", malformed("the Authorization header is longer than 16 KiB")
	}
	if !hasBearerPrefix(value) {
		if startsWithScheme(value) {
			return "", ErrNoToken
		}
		return "", malformed("the Authorization header does not begin with a scheme")
	}

	rest := value[len("Bearer"):]
	token := strings.TrimLeft(rest, " ")
	if len(token) == len(rest) {
		return "", malformed("the Bearer scheme is not followed by a space")
	}
	if !isB64Token(token) {
		return "", malformed("the Bearer scheme is not followed by exactly one token")
	}

	return token, nil
}

func malformed(reason string) *Error {
	return &Error{Kind: InvalidRequest, Reason: reason}
}

// hasBearerPrefix also holds for "Bearer<token>": no scheme is registered that
// merely begins with the word, so that this is a mistake worth a 400.
func hasBearerPrefix(value string) bool {
	return len(value) >= len("Bearer") && strings.EqualFold(value[:len("Bearer")], "Bearer")
}

// startsWithScheme reports whether value is an auth-scheme (RFC 9110 §11.1)
// that stands alone or is followed by a space.
func startsWithScheme(value string) bool {
	scheme, _, _ := strings.Cut(value, " ")
	return isHTTPToken(scheme)
}

// isB64Token matches b64token of RFC 6750 §2.1:
// 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"=".
func isB64Token(s string) bool {
	body := strings.TrimRight(s, "=")
	if body == "" {
		return false
	}
	for i := range len(body) {
		if !b64TokenBytes[body[i]] {
			return false
		}
	}

	return true
}

// b64TokenBytes are the bytes of a b64token, as a table: every request has a
// kilobyte of them.
var b64TokenBytes = func() (allowed [256]bool) {
	for c := range 256 {
		allowed[c] = isAlphaNumeric(byte(c)) || c < 0x80 && strings.ContainsRune("-._~+/", rune(c))
	}

	return allowed
}()

// isHTTPToken matches token of RFC 9110 §5.6.2.
func isHTTPToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlphaNumeric(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}

	return s != ""
}

func isAlphaNumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
