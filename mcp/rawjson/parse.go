package rawjson

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooDeep is returned (wrapped) for a text nested deeper than allowed.
var ErrTooDeep = errors.New("JSON nested too deep")

// Parse checks that src is exactly one JSON value and returns it. It refuses
// what two readers might understand differently: repeated member names on any
// level (RFC 8259 §4), bytes that are not UTF-8 and unpaired surrogate escapes
// (RFC 7493 §2.1), a byte order mark, and anything but white space behind the
// value. maxDepth bounds the nesting; the outermost object or array counts 1.
func Parse(src []byte, maxDepth int) (Value, error) {
	return parse(src, maxDepth, true)
}

// ParseLenient is [Parse] for answers of a server one does not control: broken
// UTF-8 and unpaired surrogates pass, since every client replaces them in the
// same way and a cut emoji in a result must not cost the whole result.
// Repeated names stay refused: clients differ on which one counts.
func ParseLenient(src []byte, maxDepth int) (Value, error) {
	return parse(src, maxDepth, false)
}

func parse(src []byte, maxDepth int, strict bool) (Value, error) {
	c := checkers.Get().(*checker)
	defer c.release()
	c.src, c.maxDepth, c.strict = src, maxDepth, strict

	start := c.space(0)
	end, err := c.value(start, 0)
	if err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	if rest := c.space(end); rest < len(src) {
		return nil, fmt.Errorf("reading JSON: more bytes behind the value at offset %d", rest)
	}
	return Value(src[start:end:end]), nil
}

// syntaxError names what is wrong and where, never the text itself: that may
// hold secrets.
func syntaxError(what string, at int) error {
	return fmt.Errorf("%s at offset %d", what, at)
}

// ended is the error for a text that stops in the middle of a value.
func ended() error { return io.ErrUnexpectedEOF }
