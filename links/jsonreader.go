package links

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// reader reads one strict JSON value; jsontext refuses duplicate names and bad
// UTF-8. It remembers the first fault, after which every method does nothing.
type reader struct {
	part  string
	raw   []byte
	dec   *jsontext.Decoder
	fault *Error
}

func newReader(part string, raw []byte) *reader {
	return &reader{part: part, raw: raw, dec: jsontext.NewDecoder(bytes.NewReader(raw))}
}

// closedURL reads an object whose only member is a valid url.
func (r *reader) closedURL() AppURL {
	r.expect('{', "must be an object")

	at := r.next()
	if name := r.expect('"', "must hold url"); r.fault == nil && name != "url" {
		r.failAt(at, "must hold nothing but url")
	}

	u := r.expect('"', "must hold url as a string")
	r.expect('}', "must hold nothing but one url")

	if r.fault == nil {
		r.fault = checkAppURL(u)
	}

	if r.fault != nil {
		return ""
	}

	return AppURL(u)
}

// expect reads a token of the given kind and returns its text. A token of
// another kind is a fault with the given reason.
func (r *reader) expect(kind jsontext.Kind, reason string) string {
	if r.fault != nil {
		return ""
	}

	// An invalid kind is left to ReadToken, which knows what is wrong.
	if got := r.dec.PeekKind(); got != kind && got != jsontext.KindInvalid {
		r.failAt(r.next(), reason)

		return ""
	}

	token, err := r.dec.ReadToken()
	if err != nil {
		r.fail(err)

		return ""
	}

	return token.String()
}

// more reports whether another member name follows.
func (r *reader) more() bool {
	return r.fault == nil && r.dec.PeekKind() == jsontext.KindString
}

// skip passes over a whole value.
func (r *reader) skip() {
	if r.fault == nil {
		r.fail(r.dec.SkipValue())
	}
}

// end makes sure that nothing but white space is left.
func (r *reader) end() {
	if r.fault != nil {
		return
	}

	at := r.next()
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		r.failAt(at, "must be one JSON value with nothing after it")
	}
}

func (r *reader) fail(err error) {
	if err == nil {
		return
	}

	var syntax *jsontext.SyntacticError

	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.failAt(len(r.raw), "must be one whole JSON value")
	case errors.As(err, &syntax):
		r.failAt(int(syntax.ByteOffset), "must be strict JSON: "+syntax.Err.Error())
	default:
		r.failAt(r.next(), "must be strict JSON: "+err.Error())
	}
}

func (r *reader) failAt(at int, reason string) {
	if r.fault == nil {
		r.fault = &Error{r.part, at, reason}
	}
}

// next returns the position of the token to come.
func (r *reader) next() int {
	at := int(r.dec.InputOffset())
	for at < len(r.raw) && bytes.IndexByte([]byte(" \t\r\n,:"), r.raw[at]) >= 0 {
		at++
	}

	return at
}
