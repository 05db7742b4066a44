package caddymodule

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
)

// registrationNames are where a request may carry the id of a registration.
type registrationNames struct {
	parameter string
	header    string // canonical
}

// take reads the id of a registration out of a request and removes it: the
// server has no business with it. It reports false for a request that seems to
// name a registration and does not do so in the one right way. A client that
// means to be narrowed must never be served as if it had said nothing.
func (n registrationNames) take(r *http.Request) (handle *registration.Handle, ok bool) {
	ids, query, ok := n.inQuery(r.URL.RawQuery)
	if !ok || n.inPath(r.URL.EscapedPath()) {
		return nil, false
	}
	inHeader, ok := n.inHeader(r.Header)
	if ids = append(ids, inHeader...); !ok {
		return nil, false
	}
	for _, id := range ids {
		found, ok := registration.ParseID(id)
		if !ok || handle != nil && *handle != found {
			return nil, false
		}
		handle = &found
	}
	if handle == nil {
		return nil, true
	}
	r.Header.Del(n.header)
	if query != r.URL.RawQuery {
		forgetQuery(r, query)
	}
	return handle, true
}

// inQuery returns the id and the query without it.
func (n registrationNames) inQuery(query string) (ids []string, rest string, ok bool) {
	if query == "" {
		return nil, "", true
	}
	var kept []string
	for piece := range strings.SplitSeq(query, "&") {
		if value, exact := strings.CutPrefix(piece, n.parameter+"="); exact && !strings.Contains(value, ";") {
			ids = append(ids, value)
			continue
		}
		// Some servers separate parameters by semicolons.
		for part := range strings.SplitSeq(piece, ";") {
			key, value, _ := strings.Cut(part, "=")
			if n.resembles(key) || resemblesID(value) {
				return nil, "", false
			}
		}
		kept = append(kept, piece)
	}
	return ids, strings.Join(kept, "&"), len(ids) <= 1
}

// inPath reports whether the path has a parameter of the name.
func (n registrationNames) inPath(escaped string) bool {
	if !strings.ContainsAny(escaped, ";%") {
		return false
	}
	_, parameters, _ := strings.Cut(plain(escaped), ";")
	return parameters != "" && n.resembles(parameters)
}

// inHeader returns the id, and false for one in a header of another name or
// spelling.
func (n registrationNames) inHeader(h http.Header) ([]string, bool) {
	folded := foldHeader(n.header)
	for name, values := range h {
		if name == n.header {
			continue
		}
		if foldsTo(name, folded) || slices.ContainsFunc(values, resemblesID) {
			return nil, false
		}
	}
	values := h[n.header]
	return values, len(values) <= 1
}

// resembles reports whether some reader would find the parameter's name in a
// key: encoded, in another case, with brackets, with something around it.
func (n registrationNames) resembles(key string) bool {
	names := strings.FieldsFunc(plain(key), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-'
	})
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, n.parameter) })
}

// resemblesID reports whether a value can only be meant as an id, wherever it
// stands: under a misspelt name it would otherwise be overlooked.
func resemblesID(value string) bool {
	if len(value) < registration.IDLength { // decoding only makes it shorter
		return false
	}
	if value = strings.TrimSpace(plain(value)); len(value) != registration.IDLength {
		return false
	}
	_, ok := registration.ParseID(strings.ToLower(value))
	return ok
}

// plain undoes percent-encoding until nothing changes.
func plain(text string) string {
	for range maxLayers {
		decoded := unescape(text)
		if decoded == text {
			break
		}
		text = decoded
	}
	return text
}

// forgetQuery puts another query into a request, also where handlers behind us
// look for what the client sent.
func forgetQuery(r *http.Request, query string) {
	r.URL.RawQuery, r.URL.ForceQuery = query, false
	if r.RequestURI != "" {
		r.RequestURI = r.URL.RequestURI()
	}
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok {
		u := *original.URL
		u.RawQuery, u.ForceQuery = query, false
		original.URL, original.RequestURI = &u, u.RequestURI()
		*r = *r.WithContext(context.WithValue(r.Context(), caddyhttp.OriginalRequestCtxKey, original))
	}
}
