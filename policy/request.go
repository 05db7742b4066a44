package policy

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Request is what rules may see of the HTTP request. Method, name and
// arguments of the message are not part of it: each decision is about a name
// and the method that uses it, so that listing and using cannot differ.
type Request struct {
	// Header of the request. Credentials and identity headers are not shown to
	// rules, whether they are in here or not.
	Header http.Header
	// ClientIP is the address of the client after trusted proxies, without
	// port; empty if it is not known.
	ClientIP string
}

// Facts is what the server says about its own names, as it said it to this
// caller, before anything was hidden. An error means that nobody knows, and
// whatever depends on it is refused.
type Facts interface {
	// Annotations returns the JSON object a tool carries, empty if none.
	Annotations(tool string) ([]byte, error)
	// ToolsShowing returns the tools that name a UI resource.
	ToolsShowing(uri string) ([]string, error)
}

// hiddenHeaders are never shown to rules. Names that end in a hyphen stand for
// all that begin so.
var hiddenHeaders = []string{
	"authorization", "proxy-authorization", "cookie", "set-cookie",
	"mcp-session-id", "x-mcp-app-",
}

// headerHidden reports whether rules may not see a header. name is in lower
// case.
func (pol *Policy) headerHidden(name string) bool {
	for _, hidden := range pol.hiddenHeaders {
		if name == hidden || strings.HasSuffix(hidden, "-") && strings.HasPrefix(name, hidden) {
			return true
		}
	}
	return false
}

// visibleHeaders returns the headers that rules may see, by lower-case name.
// The lines of a repeated header are joined (RFC 9110 §5.3).
func (pol *Policy) visibleHeaders(header http.Header) map[string]string {
	visible := make(map[string]string, len(header))
	for _, key := range slices.Sorted(maps.Keys(header)) {
		name := strings.ToLower(key)
		if pol.headerHidden(name) {
			continue
		}
		joined := strings.Join(header[key], ", ")
		if earlier, ok := visible[name]; ok {
			joined = earlier + ", " + joined
		}
		visible[name] = joined
	}
	return visible
}
