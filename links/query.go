package links

import (
	"fmt"
	"slices"
	"strings"
)

// queryValue is one value of a link's query, where it stands, and whether its
// key was there at all.
type queryValue struct {
	raw     string
	at      int
	present bool
}

// parseQuery splits a query that stands at byte at into the values of the given
// keys, in their order. Any other key is a fault: nearly always it is the rest of
// a path that was pasted without encoding, and would be lost without a word.
func parseQuery(query string, at int, keys ...string) ([]queryValue, *Error) {
	values := make([]queryValue, len(keys))

	for pair := range strings.SplitSeq(query, "&") {
		key, value, found := strings.Cut(pair, "=")
		i := slices.Index(keys, key)

		switch {
		case i < 0:
			return nil, &Error{"query", at, fmt.Sprintf("holds a key other than %s; encode the path as one value", strings.Join(keys, " and "))}
		case values[i].present:
			return nil, &Error{"query", at, fmt.Sprintf("holds %s twice", key)}
		case !found:
			return nil, &Error{"query", at + len(pair), fmt.Sprintf("holds %s without a value", key)}
		}

		values[i] = queryValue{raw: value, at: at + len(key) + 1, present: true}
		at += len(pair) + 1
	}

	return values, nil
}

// decode returns the value without its encoding. A raw slash is let through
// because it can mean only itself in a query; the other reserved characters
// would be read in two ways, the plus as a space among them.
func (v queryValue) decode(part string) (string, *Error) {
	decoded, fault := decodeComponent(part, v.raw, "/")

	return decoded, fault.shift(v.at)
}

// appURL decodes and checks an app-relative URL. An absent value means "/".
func (v queryValue) appURL() (AppURL, *Error) {
	if !v.present {
		return "/", nil
	}

	decoded, fault := v.decode("path")
	if fault != nil {
		return "", fault
	}

	if fault := checkAppURL(decoded); fault != nil {
		fault.Offset = v.at + rawIndex(v.raw, fault.Offset)

		return "", fault
	}

	return AppURL(decoded), nil
}
