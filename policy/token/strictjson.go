package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxJSONDepth bounds nesting in tokens, key sets and metadata. Claims of real
// issuers are three or four deep.
const maxJSONDepth = 32

var errNotObject = errors.New("not a JSON object")

// decodeObject reads exactly one JSON object. Duplicate member names on any
// level, invalid UTF-8, a byte order mark, trailing bytes and more than
// maxJSONDepth levels are refused: two readers of the same bytes must not be
// able to see two different things.
//
// Integers become int64, then uint64, then json.Number, whichever is the first
// to hold the value exactly; numbers with a fraction or an exponent become
// float64, or json.Number beyond its range. Error texts never quote the input.
func decodeObject(data []byte) (map[string]any, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, syntaxError(dec, err)
	}
	if tok.Kind() != '{' {
		return nil, errNotObject
	}

	object, err := decodeMembers(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("bytes after the JSON object")
	}

	return object, nil
}

func decodeMembers(dec *jsontext.Decoder) (map[string]any, error) {
	if dec.StackDepth() > maxJSONDepth {
		return nil, fmt.Errorf("JSON is nested deeper than %d levels", maxJSONDepth)
	}

	object := make(map[string]any)
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, syntaxError(dec, err)
		}
		if tok.Kind() == '}' {
			return object, nil
		}
		// The token is only good until the next read.
		name := tok.String()
		if object[name], err = decodeValue(dec); err != nil {
			return nil, err
		}
	}
}

func decodeElements(dec *jsontext.Decoder) ([]any, error) {
	if dec.StackDepth() > maxJSONDepth {
		return nil, fmt.Errorf("JSON is nested deeper than %d levels", maxJSONDepth)
	}

	array := []any{}
	for dec.PeekKind() != ']' {
		value, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(dec, err)
	}

	return array, nil
}

func decodeValue(dec *jsontext.Decoder) (any, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, syntaxError(dec, err)
	}

	switch tok.Kind() {
	case '{':
		return decodeMembers(dec)
	case '[':
		return decodeElements(dec)
	case '"':
		return tok.String(), nil
	case '0':
		return exactNumber(tok.String()), nil
	case 't', 'f':
		return tok.Bool(), nil
	default:
		return nil, nil
	}
}

func exactNumber(literal string) any {
	if strings.ContainsAny(literal, ".eE") {
		if f, err := strconv.ParseFloat(literal, 64); err == nil {
			return f
		}
		return json.Number(literal)
	}
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(literal, 10, 64); err == nil {
		return u
	}

	return json.Number(literal)
}

// syntaxError says what and where, without the library's excerpt of the input:
// the text goes to a log, the input may be a token.
func syntaxError(dec *jsontext.Decoder, err error) error {
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("duplicate JSON member name near byte %d", dec.InputOffset())
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("JSON is cut off")
	default:
		return fmt.Errorf("invalid JSON near byte %d", dec.InputOffset())
	}
}
