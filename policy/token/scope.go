package token

import (
	"fmt"
	"slices"
	"strings"
)

// scopesOf reads the granted scopes (RFC 8693 §4.2, RFC 9068 §2.2.3). "scope"
// is a string with single spaces between the scopes; some issuers write an
// array, and some write "scp" instead, in either form. If both are there,
// "scope" counts. A token without any grants no scopes, which is not an error.
func scopesOf(claims map[string]any) ([]string, error) {
	name := "scope"
	value, ok := claims[name]
	if !ok {
		name = "scp"
		if value, ok = claims[name]; !ok {
			return nil, nil
		}
	}

	var scopes []string
	switch value := value.(type) {
	case string:
		if value == "" {
			return nil, nil
		}
		scopes = strings.Split(value, " ")
	case []any:
		if scopes, ok = stringsOf(value); !ok {
			return nil, fmt.Errorf("%q is an array that does not only hold strings", name)
		}
	default:
		return nil, fmt.Errorf("%q is neither a string nor an array", name)
	}

	unique := scopes[:0]
	seen := make(map[string]bool, len(scopes))
	for _, scope := range scopes {
		if !IsScopeToken(scope) {
			return nil, fmt.Errorf("%q holds something that is not a scope (RFC 6749 §3.3), such as an empty one between two spaces", name)
		}
		if !seen[scope] {
			seen[scope] = true
			unique = append(unique, scope)
		}
	}

	return slices.Clip(unique), nil
}

// IsScopeToken reports whether s is one scope-token of RFC 6749 §3.3: visible
// ASCII without quote and backslash, at least one character.
func IsScopeToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}

	return s != ""
}

func stringsOf(values []any) ([]string, bool) {
	out := make([]string, 0, len(values))
	for _, value := range values {
		s, ok := value.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}

	return out, true
}
