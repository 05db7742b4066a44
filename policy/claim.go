package policy

import (
	"errors"
	"fmt"
	"strings"
)

// lookupClaim finds a claim by path: "org_id", "realm_access.roles",
// "https://example.com/claims.tenant". On every level a member of exactly the
// remaining name comes first, then the longest name that ends before a dot and
// is an object, so that namespaced claims need no escaping. Arrays are not
// entered.
func lookupClaim(object map[string]any, path string) (any, bool) {
	if value, ok := object[path]; ok {
		return value, true
	}
	for i := strings.LastIndexByte(path, '.'); i >= 0; i = strings.LastIndexByte(path[:i], '.') {
		inner, ok := object[path[:i]].(map[string]any)
		if !ok {
			continue
		}
		if value, ok := lookupClaim(inner, path[i+1:]); ok {
			return value, true
		}
	}
	return nil, false
}

// stringList reads a claim that is a string or an array of strings. One bad
// entry spoils the whole claim: a token that is wrong about one entry is not to
// be trusted about another.
func stringList(claim any) ([]string, error) {
	switch c := claim.(type) {
	case nil:
		return nil, errors.New("missing from the token")
	case string:
		return []string{c}, nil
	case []any:
		list := make([]string, 0, len(c))
		for _, entry := range c {
			text, ok := entry.(string)
			if !ok {
				return nil, fmt.Errorf("entry is %T, not a string", entry)
			}
			list = append(list, text)
		}
		return list, nil
	default:
		return nil, fmt.Errorf("is %T, neither a string nor an array of strings", claim)
	}
}
