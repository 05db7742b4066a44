package mcp

import (
	"encoding/base64"
	"maps"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Header names of Streamable HTTP.
const (
	HeaderVersion     = "Mcp-Protocol-Version"
	HeaderMethod      = "Mcp-Method"
	HeaderName        = "Mcp-Name"
	HeaderSession     = "Mcp-Session-Id"
	HeaderParamPrefix = "Mcp-Param-"
)

// singleHeaders refuses repeated protocol headers, also those joined with a
// comma on the way: readers differ on which of them counts.
func singleHeaders(h http.Header) error {
	for _, name := range []string{HeaderVersion, HeaderMethod, HeaderSession} {
		if strings.Contains(h.Get(name), ",") {
			return invalid(http.StatusBadRequest, CodeHeaderMismatch, nil, "Header mismatch: %s is repeated", name)
		}
	}
	for name, values := range h {
		if len(values) < 2 || !strings.HasPrefix(name, "Mcp-") && name != "Last-Event-Id" {
			continue
		}
		return invalid(http.StatusBadRequest, CodeHeaderMismatch, nil, "Header mismatch: %s is repeated", name)
	}
	return nil
}

// checkMirrors compares the headers of a modern request with its body.
func (r *Request) checkMirrors(h http.Header) error {
	mismatch := func(name, what string) error {
		return invalid(http.StatusBadRequest, CodeHeaderMismatch, r.ID, "Header mismatch: %s %s", name, what)
	}
	switch method := trimOWS(h.Get(HeaderMethod)); {
	case method == "":
		return mismatch(HeaderMethod, "is missing")
	case method != r.Method:
		return mismatch(HeaderMethod, "differs from the body")
	}
	if !mirrorsName(r.Method) {
		return nil
	}
	raw := trimOWS(h.Get(HeaderName))
	name, ok := DecodeHeaderValue(raw)
	switch {
	case raw == "":
		return mismatch(HeaderName, "is missing")
	case !ok:
		return mismatch(HeaderName, "is badly encoded")
	case name != r.Name:
		return mismatch(HeaderName, "differs from the body")
	}
	return nil
}

// AlignHeaders makes the headers of a request agree with the body that is sent:
// r's own, or that of decoy if it is not nil.
//
// Names that fit a header as they are go plain, also if the client encoded
// them: go-sdk v1.8.0 compares the encoded form with the body (its issue 1234).
// Last-Event-ID has no meaning on a modern POST, and the same server answers it
// with 400.
func AlignHeaders(h http.Header, r *Request, decoy *Decoy) {
	if r.Era == Legacy {
		return
	}
	delete(h, "Last-Event-Id")
	name := r.Name
	if decoy != nil {
		name = decoy.Name
		maps.DeleteFunc(h, func(header string, _ []string) bool { return strings.HasPrefix(header, HeaderParamPrefix) })
	}
	if mirrorsName(r.Method) {
		if encoded := EncodeHeaderValue(name); len(h[HeaderName]) != 1 || h[HeaderName][0] != encoded {
			h.Set(HeaderName, encoded)
		}
	}
}

// MapParamHeaders replaces the text of every Mcp-Param-* header, which repeats a
// tool argument for intermediaries, so that it follows a changed argument.
// Values that cannot be decoded stay: the server refuses them.
func MapParamHeaders(h http.Header, change func(string) string) {
	for name, values := range h {
		if !strings.HasPrefix(name, HeaderParamPrefix) {
			continue
		}
		for i, value := range values {
			text, ok := DecodeHeaderValue(trimOWS(value))
			if !ok {
				continue
			}
			if changed := change(text); changed != text {
				values[i] = EncodeHeaderValue(changed)
			}
		}
	}
}

// mirrorsName reports whether requests of this method carry Mcp-Name (MCP
// 2026-07-28, transports/streamable-http "Request Metadata").
func mirrorsName(method string) bool {
	switch Subject(method) {
	case SubjectTool, SubjectPrompt, SubjectTask:
		return true
	case SubjectResource:
		return method == "resources/read"
	default:
		return false
	}
}

// The sentinel around a header value that could not be sent plainly.
const (
	sentinelOpen  = "=?base64?"
	sentinelClose = "?="
)

// DecodeHeaderValue returns the text that an Mcp-Name or Mcp-Param-* header
// stands for: the value itself, or the UTF-8 text inside a base64 sentinel. It
// reports false for broken base64, for text that is not UTF-8, and for plain
// values with bytes outside printable ASCII.
func DecodeHeaderValue(value string) (string, bool) {
	if encoded, ok := strings.CutPrefix(value, sentinelOpen); ok {
		encoded, ok = strings.CutSuffix(encoded, sentinelClose)
		if !ok {
			return "", false
		}
		text, err := base64.StdEncoding.Strict().DecodeString(encoded)
		return string(text), err == nil && utf8.Valid(text) && !strings.ContainsAny(encoded, "\r\n")
	}
	return value, plainHeader(value)
}

// EncodeHeaderValue is the inverse of [DecodeHeaderValue]: plain where that is
// possible, sentinel otherwise.
func EncodeHeaderValue(text string) string {
	if plainHeader(text) && trimOWS(text) == text && !strings.HasPrefix(text, sentinelOpen) {
		return text
	}
	return sentinelOpen + base64.StdEncoding.EncodeToString([]byte(text)) + sentinelClose
}

func plainHeader(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c > '~' {
			return false
		}
	}
	return true
}

// trimOWS removes optional white space (RFC 9110 §5.6.3).
func trimOWS(s string) string { return strings.Trim(s, " \t") }
