// Package strictjson reads JSON that decides who may do what: claims, key sets,
// metadata, arguments. Duplicate member names on any level, invalid UTF-8, a byte
// order mark, trailing bytes and too deep nesting are refused: two readers of the
// same bytes must not be able to see two different things (RFC 8725 §2.4,
// RFC 7493 §2.3). Readers differ in what they make of numbers only.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// What is wrong with a text. Errors never quote it: it may be a secret, and they
// go to a log.
var (
	ErrNotObject = errors.New("not a JSON object")
	ErrNotOne    = errors.New("more than one JSON value")
	ErrTooDeep   = errors.New("nested too deep")
	ErrMalformed = errors.New("malformed JSON")
)

// Reader says what is accepted. Safe for concurrent use.
type Reader struct {
	// MaxDepth bounds nesting; a flat object has depth 1.
	MaxDepth int
	// Number makes a value of the literal of a number. Its errors are returned as
	// they are.
	Number func(literal string) (any, error)
}

// Value reads exactly one JSON value. Objects become map[string]any, arrays
// []any, and numbers what Number makes of them.
func (r Reader) Value(data []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	value, err := r.value(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, ErrNotOne
	}
	return value, nil
}

// Object reads exactly one JSON object.
func (r Reader) Object(data []byte) (map[string]any, error) {
	if jsontext.NewDecoder(bytes.NewReader(data)).PeekKind() != '{' {
		if _, err := r.Value(data); errors.Is(err, ErrMalformed) {
			return nil, err
		}
		return nil, ErrNotObject
	}
	value, err := r.Value(data)
	if err != nil {
		return nil, err
	}
	return value.(map[string]any), nil
}

func (r Reader) value(dec *jsontext.Decoder) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, malformed(dec, err)
	}
	if dec.StackDepth() > r.MaxDepth {
		return nil, fmt.Errorf("%w: more than %d levels", ErrTooDeep, r.MaxDepth)
	}
	switch token.Kind() {
	case '{':
		return r.members(dec)
	case '[':
		return r.elements(dec)
	case '"':
		return token.String(), nil
	case '0':
		return r.Number(token.String())
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

func (r Reader) members(dec *jsontext.Decoder) (any, error) {
	object := make(map[string]any)
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, malformed(dec, err)
		}
		if token.Kind() == '}' {
			return object, nil
		}
		name := token.String() // good only until the next read
		if object[name], err = r.value(dec); err != nil {
			return nil, err
		}
	}
}

func (r Reader) elements(dec *jsontext.Decoder) (any, error) {
	array := []any{}
	for dec.PeekKind() != ']' {
		element, err := r.value(dec)
		if err != nil {
			return nil, err
		}
		array = append(array, element)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, malformed(dec, err)
	}
	return array, nil
}

// malformed says what and where, without the library's excerpt of the text.
func malformed(dec *jsontext.Decoder, err error) error {
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("%w: duplicate member name near byte %d", ErrMalformed, dec.InputOffset())
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: cut off", ErrMalformed)
	default:
		return fmt.Errorf("%w near byte %d", ErrMalformed, dec.InputOffset())
	}
}
