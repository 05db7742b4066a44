package token

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/internal/strictjson"
)

// strict reads tokens, key sets and metadata. Claims of real issuers are three or
// four levels deep.
//
// Integers become int64, then uint64, then json.Number, whichever is the first
// to hold the value exactly; numbers with a fraction or an exponent become
// float64, or json.Number beyond its range.
var strict = strictjson.Reader{MaxDepth: 32, Number: exactNumber}

func exactNumber(literal string) (any, error) {
	if strings.ContainsAny(literal, ".eE") {
		if f, err := strconv.ParseFloat(literal, 64); err == nil {
			return f, nil
		}
		return json.Number(literal), nil
	}
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(literal, 10, 64); err == nil {
		return u, nil
	}

	return json.Number(literal), nil
}
