package links

import (
	"fmt"
)

const (
	// maxArguments holds the longest valid URL even if every byte of it is
	// written as a JSON escape.
	maxArguments = 16 << 10

	// maxContext bounds a host context, which carries themes and tool output
	// beside the link.
	maxContext = 1 << 20

	deepLinkKey = "openai/deepLink"
)

// NavigateArguments reads the arguments of a call to the navigate tool: one
// strict JSON object with exactly one member, url, in that case, whose value is a
// string by the rules of [ParseAppURL]. Anything else is an [*Error], so that
// nothing but the URL, an identity least of all, comes in through the arguments.
// Its offset counts within raw if Part is "arguments", and within the decoded URL
// otherwise.
func NavigateArguments(raw []byte) (AppURL, error) {
	if len(raw) > maxArguments {
		return "", &Error{"arguments", maxArguments, fmt.Sprintf("must be at most %d bytes", maxArguments)}
	}

	r := newReader("arguments", raw)

	u := r.closedURL()
	r.end()

	if r.fault != nil {
		return "", r.fault
	}

	return u, nil
}

// HostContextURL returns the deep link of a host context, the object that a page
// gets from its host. The second result tells whether there is one: without the
// member openai/deepLink there is nothing to do. Where it is, it must be an
// object with exactly one member url. Offsets count as in [NavigateArguments],
// with Part "context".
func HostContextURL(raw []byte) (u AppURL, found bool, err error) {
	if len(raw) > maxContext {
		return "", false, &Error{"context", maxContext, fmt.Sprintf("must be at most %d bytes", maxContext)}
	}

	r := newReader("context", raw)
	r.expect('{', "must be an object")

	for r.more() {
		if r.expect('"', "") == deepLinkKey {
			u, found = r.closedURL(), true
		} else {
			r.skip()
		}
	}

	r.expect('}', "must be an object")
	r.end()

	if r.fault != nil {
		return "", false, r.fault
	}

	return u, found, nil
}
