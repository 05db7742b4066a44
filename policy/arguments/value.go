package arguments

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxLiteral and maxExponent bound numbers, whose exact value has as many
	// digits as the exponent says.
	maxLiteral  = 400
	maxExponent = 400
)

// decode reads exactly one JSON value, strictly. Objects become map[string]any,
// arrays []any, numbers number.
func decode(raw []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	value, err := decodeValue(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("is not one JSON value")
	}
	return value, nil
}

func decodeValue(dec *jsontext.Decoder) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, errors.New("is not valid JSON")
	}
	if dec.StackDepth() > maxDepth {
		return nil, fmt.Errorf("is nested deeper than %d levels", maxDepth)
	}
	switch token.Kind() {
	case '{':
		object := make(map[string]any)
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, errors.New("is not valid JSON")
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
			element, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			array = append(array, element)
		}
		_, err := dec.ReadToken()
		return array, err
	case '"':
		return token.String(), nil
	case '0':
		return parseNumber(token.String())
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

// number is a JSON number with its exact value: a machine integer where that
// holds it, as it nearly always does, or else the literal.
type number struct {
	literal string // empty for machine integers
	small   int64
}

func parseNumber(literal string) (number, error) {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return number{small: i}, nil
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	if exponent != "" {
		if e, err := strconv.Atoi(exponent); err != nil || e < -maxExponent || e > maxExponent {
			return number{}, errors.New("holds a number out of range")
		}
	}
	if len(mantissa) > maxLiteral {
		return number{}, errors.New("holds a number with too many digits")
	}
	return number{literal: strings.Clone(literal)}, nil
}

func (n number) rat() *big.Rat {
	if n.literal == "" {
		return new(big.Rat).SetInt64(n.small)
	}
	r, _ := new(big.Rat).SetString(n.literal) // JSON numbers are a subset
	return r
}

// String returns the number as written in JSON.
func (n number) String() string {
	if n.literal == "" {
		return strconv.FormatInt(n.small, 10)
	}
	return n.literal
}

func (n number) isInteger() bool { return n.literal == "" || n.rat().IsInt() }

func (n number) cmp(other number) int {
	if n.literal == "" && other.literal == "" {
		return cmp.Compare(n.small, other.small)
	}
	return n.rat().Cmp(other.rat())
}

// canonical writes equal values (JSON Schema 2020-12 core, §4.2.2) as equal
// texts, and others as different ones.
func canonical(value any) string {
	var b strings.Builder
	writeCanonical(&b, value)
	return b.String()
}

func writeCanonical(b *strings.Builder, value any) {
	switch v := value.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case number:
		if v.literal == "" {
			b.WriteString(strconv.FormatInt(v.small, 10))
		} else {
			b.WriteString(v.rat().RatString()) // 1.0 becomes 1
		}
	case string:
		b.WriteString(strconv.Quote(v))
	case []any:
		b.WriteByte('[')
		for _, element := range v {
			writeCanonical(b, element)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(name))
			b.WriteByte(':')
			writeCanonical(b, v[name])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}

// kind names a JSON type as a schema does.
func kind(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case number:
		if v.isInteger() {
			return "integer"
		}
	}
	return "number"
}
