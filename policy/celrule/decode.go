package celrule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of what conditions look at.
const maxDepth = 64

// decodeObject reads exactly one JSON object, with the strictness of
// [jsontext.Decoder]: no duplicate names, no invalid UTF-8. Whole numbers stay
// exact, as int64 or uint64; others become float64. Numbers that neither can
// hold are refused, since a condition would compare something else.
func decodeObject(raw []byte) (map[string]any, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if dec.PeekKind() != '{' {
		return nil, errors.New("not a JSON object")
	}
	value, err := decodeValue(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return value.(map[string]any), nil
}

func decodeValue(dec *jsontext.Decoder) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, errors.New("malformed JSON")
	}
	if dec.StackDepth() > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	switch token.Kind() {
	case '{':
		object := make(map[string]any)
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, errors.New("malformed JSON")
			}
			key := name.String() // good only until the next read
			if object[key], err = decodeValue(dec); err != nil {
				return nil, err
			}
		}
		_, err := dec.ReadToken()
		return object, err
	case '[':
		array := []any{}
		for dec.PeekKind() != ']' {
			value, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			array = append(array, value)
		}
		_, err := dec.ReadToken()
		return array, err
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String())
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

func number(literal string) (any, error) {
	if !strings.ContainsAny(literal, ".eE") {
		if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
			return i, nil
		}
		if u, err := strconv.ParseUint(literal, 10, 64); err == nil {
			return u, nil
		}
		return nil, errors.New("a whole number beyond 64 bits")
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return nil, errors.New("a number out of range")
	}
	return f, nil
}
