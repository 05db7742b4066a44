package caddymodule

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Trailers are what a handler puts into the header map behind the body: under
// names that it has announced, or under http.TrailerPrefix. Where the body is
// held back they would become headers, past everything that looks at headers;
// and on either way a client that joins them with the headers would find in them
// what only we may say.

// takeTrailers makes h again what it was before the body, and returns the
// trailers that may follow ours. before is nil where none were announced.
func takeTrailers(h, before http.Header) (trailer http.Header) {
	for name, values := range h {
		plain, prefixed := strings.CutPrefix(name, http.TrailerPrefix)
		if !prefixed && before == nil {
			continue
		}
		plain = http.CanonicalHeaderKey(plain)
		if added := values[min(len(before[name]), len(values)):]; mayTrail(plain) && len(added) > 0 && (prefixed || announces(before, plain)) {
			if trailer == nil {
				trailer = make(http.Header)
			}
			trailer[plain] = added
		}
		if prefixed {
			delete(h, name)
		}
	}
	if before != nil {
		clear(h)
		maps.Copy(h, before)
		h.Del("Trailer")
	}
	return trailer
}

// dropTrailers removes from h the trailers that may not follow a body that has
// been sent.
func dropTrailers(h, before http.Header, changed bool) {
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		plain, prefixed := strings.CutPrefix(name, http.TrailerPrefix)
		plain = http.CanonicalHeaderKey(plain)
		return (prefixed || announces(before, plain)) && (!mayTrail(plain) || changed && describesBytes(plain))
	})
}

// announceTrailers says which trailers follow, as HTTP/1.1 needs it.
func announceTrailers(h, trailer http.Header) {
	if len(trailer) > 0 {
		h["Trailer"] = slices.Sorted(maps.Keys(trailer))
		h.Del("Content-Length")
	}
}

// mayTrail reports whether a field has a meaning behind a body that is not for
// us to give (RFC 9110 §6.5.1). What net/http forbids there it drops itself.
func mayTrail(name string) bool {
	return !strings.HasPrefix(name, "Mcp-") && !strings.HasPrefix(name, "Access-Control-") &&
		name != "Set-Cookie" && name != "Www-Authenticate" && name != "Location" && name != "Link"
}

func announces(h http.Header, name string) bool {
	for announced := range strings.SplitSeq(strings.Join(h["Trailer"], ","), ",") {
		if strings.EqualFold(strings.TrimSpace(announced), name) {
			return true
		}
	}
	return false
}
