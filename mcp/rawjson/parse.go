package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrTooDeep is returned (wrapped) for a text nested deeper than allowed.
var ErrTooDeep = errors.New("JSON nested too deep")

// Parse checks that src is exactly one JSON value and returns it. It refuses
// what two readers might understand differently: repeated member names on any
// level (RFC 8259 §4), bytes that are not UTF-8 and unpaired surrogate escapes
// (RFC 7493 §2.1), a byte order mark, and anything but white space behind the
// value. maxDepth bounds the nesting; the outermost object or array counts 1.
func Parse(src []byte, maxDepth int) (Value, error) {
	return parse(src, maxDepth)
}

// ParseLenient is [Parse] for answers of a server one does not control: broken
// UTF-8 and unpaired surrogates pass, since every client replaces them in the
// same way and a cut emoji in a result must not cost the whole result.
// Repeated names stay refused: clients differ on which one counts.
func ParseLenient(src []byte, maxDepth int) (Value, error) {
	return parse(src, maxDepth, jsontext.AllowInvalidUTF8(true))
}

func parse(src []byte, maxDepth int, options ...jsontext.Options) (Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(src), options...)
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("reading JSON: %w", io.ErrUnexpectedEOF)
		}
		if err != nil {
			return nil, fmt.Errorf("reading JSON: %w", err)
		}
		kind := token.Kind()
		if (kind == '{' || kind == '[') && dec.StackDepth() > maxDepth {
			return nil, fmt.Errorf("%w: more than %d levels", ErrTooDeep, maxDepth)
		}
		if dec.StackDepth() == 0 {
			break
		}
	}
	end := int(dec.InputOffset())
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading JSON: more bytes behind the value at offset %d", end)
	}
	start := 0
	for isSpace(src[start]) {
		start++
	}
	return Value(src[start:end:end]), nil
}
