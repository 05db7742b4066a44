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
// some server reads as the same name: CGI-style servers turn - and _ into one
// character, some of them everything that is no letter or digit. Deleting comes first, always: a header that we do
// not set for this caller must not stand for the client's word
// (GHSA-7r4p-vjf4-gxv4). A name listed in Connection would be removed on the
// way, ours with it; that header goes whole, later.
func (h identityHeaders) strip(r *http.Request) {
	for name := range r.Header {
		if h.owns(name) {
			delete(r.Header, name)
		}
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
	if len(name) < len(h.folded) {
		return false
	}
	for i := range len(h.folded) {
		if foldHeaderByte(name[i]) != h.folded[i] {
			return false
		}
	}
	return true
}

func foldHeader(name string) string {
	folded := []byte(name)
	for i, c := range folded {
		folded[i] = foldHeaderByte(c)
	}
	return string(folded)
}

func foldHeaderByte(c byte) byte {
	switch {
	case c >= 'A' && c <= 'Z':
		return c + 'a' - 'A'
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		return c
	default:
		return '-'
	}
}

// forwardsToken reports whether the operator wants the server to see tokens.
func (m *Handler) forwardsToken() bool { return m.Identity != nil && m.Identity.ForwardToken }
