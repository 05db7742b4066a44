package caddymodule

import (
	"net/http"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// defaultIdentityPrefix begins the headers that tell the server who calls.
const defaultIdentityPrefix = "X-Mcp-App-"

// identityHeaders are the headers under one prefix that only we may set.
type identityHeaders struct {
	prefix string // as sent
	folded string // for comparison
}

func newIdentityHeaders(prefix string) identityHeaders {
	return identityHeaders{prefix: http.CanonicalHeaderKey(prefix), folded: foldHeader(prefix)}
}

// strip removes what a client sent under the prefix, in every spelling that
// some server reads as the same name: CGI-style servers turn both - and _ (and
// some .) into one character. A name listed in Connection would be removed on
// the way to the server, ours with it, so it is taken out there as well
// (GHSA-7r4p-vjf4-gxv4 tells why deleting comes first, always).
func (h identityHeaders) strip(r *http.Request) {
	for name := range r.Header {
		if h.owns(name) {
			delete(r.Header, name)
		}
	}
	for name := range r.Trailer {
		if h.owns(name) {
			delete(r.Trailer, name)
		}
	}
	for i, value := range r.Header["Connection"] {
		var kept []string
		for name := range strings.SplitSeq(value, ",") {
			if !h.owns(strings.TrimSpace(name)) {
				kept = append(kept, name)
			}
		}
		r.Header["Connection"][i] = strings.Join(kept, ",")
	}
}

// set tells the server who calls.
func (h identityHeaders) set(header http.Header, p *policy.Principal) {
	for name, value := range map[string]string{
		"Issuer": p.Issuer, "Subject": p.Subject, "Tenant": p.Tenant, "Scopes": strings.Join(p.Scopes, " "),
	} {
		if value != "" {
			header.Set(h.prefix+name, value)
		}
	}
}

func (h identityHeaders) owns(name string) bool {
	return strings.HasPrefix(foldHeader(name), h.folded)
}

func foldHeader(name string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
}

// forwardsToken reports whether the operator wants the server to see tokens.
func (m *Handler) forwardsToken() bool { return m.Identity != nil && m.Identity.ForwardToken }
