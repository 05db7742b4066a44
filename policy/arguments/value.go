package arguments

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/internal/strictjson"
)

const (
	// maxLiteral and maxExponent bound numbers, whose exact value has as many
	// digits as the exponent says.
	maxLiteral  = 400
	maxExponent = 400
)

// strict reads arguments and schemas.
var strict = strictjson.Reader{MaxDepth: maxDepth, Number: func(literal string) (any, error) { return parseNumber(literal) }}

// decode reads exactly one JSON value, strictly. Objects become map[string]any,
// arrays []any, numbers number. Errors complete a sentence for the model.
func decode(raw []byte) (any, error) {
	value, err := strict.Value(raw)
	switch {
	case errors.Is(err, strictjson.ErrNotOne):
		return nil, errors.New("is not one JSON value")
	case errors.Is(err, strictjson.ErrTooDeep):
		return nil, fmt.Errorf("is nested deeper than %d levels", maxDepth)
	case errors.Is(err, strictjson.ErrMalformed):
		return nil, errors.New("is not valid JSON")
	}
	return value, err
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
