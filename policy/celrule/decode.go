package celrule

import (
	"errors"
	"strconv"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/internal/strictjson"
)

// strict reads what conditions look at. Whole numbers stay exact, as int64 or
// uint64; others become float64. Numbers that neither can hold are refused,
// since a condition would compare something else.
var strict = strictjson.Reader{MaxDepth: 64, Number: number}

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
