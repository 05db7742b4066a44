package caddymodule

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// defaultIdentityPrefix begins the headers that tell the server who calls.
const defaultIdentityPrefix = "X-Mcp-App-"

// identityHeaders are the headers under one prefix that only we may set.
type identityHeaders struct {
	prefix string    // as sent
	folded string    // for comparison
	names  [4]string // of issuer, subject, tenant and scopes
}

func newIdentityHeaders(prefix string) identityHeaders {
	h := identityHeaders{prefix: http.CanonicalHeaderKey(prefix), folded: foldHeader(prefix)}
	for i, claim := range [...]string{"Issuer", "Subject", "Tenant", "Scopes"} {
		h.names[i] = http.CanonicalHeaderKey(h.prefix + claim)
	}
	return h
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

// set tells the server who calls. The values are kept in lines.
func (h *identityHeaders) set(header http.Header, lines *headerLines, p *policy.Principal) {
	for i, value := range [...]string{p.Issuer, p.Subject, p.Tenant, strings.Join(p.Scopes, " ")} {
		if value != "" {
			lines.set(header, h.names[i], value)
		}
	}
}

func (h identityHeaders) owns(name string) bool {
	return len(name) >= len(h.folded) && foldsTo(name[:len(h.folded)], h.folded)
}

// foldsTo reports whether [foldHeader] of name is folded.
func foldsTo(name, folded string) bool {
	if len(name) != len(folded) {
		return false
	}
	for i := range len(name) {
		if foldHeaderByte(name[i]) != folded[i] {
			return false
		}
	}
	return true
}

// realHeaders are names that mean something else to clients, proxies or servers.
// A prefix that one of them begins with would remove it from every request, or
// put an identity in its place.
var realHeaders = []string{
	"accept", "accept-encoding", "accept-language", "authorization", "baggage", "cache-control", "cdn-loop", "connection",
	"cookie", "date", "dnt", "expect", "forwarded", "from", "host", "idempotency-key", "if-match", "if-none-match",
	"keep-alive", "last-event-id", "origin", "pragma", "prefer", "priority", "range", "referer", "te", "traceparent",
	"tracestate", "trailer", "transfer-encoding", "true-client-ip", "upgrade", "user-agent", "via", "x-api-key",
	"x-client-ip", "x-correlation-id", "x-real-ip", "x-request-id",
}

// realFamilies begin names that belong to others as a whole, such as those of
// future revisions of MCP.
var realFamilies = []string{"access-control-", "cf-", "content-", "mcp-", "openai-", "proxy-", "sec-", "x-forwarded-"}

// fault says what is wrong with the prefix, in the operator's words; nothing if
// it is good.
func (h identityHeaders) fault() string {
	for _, c := range h.prefix {
		if c != '-' && c != '_' && c != '.' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return fmt.Sprintf("identity: headers %q does not begin a header name; write letters, digits and hyphens, such as headers X-Mcp-App-", h.prefix)
		}
	}
	for _, name := range append(realFamilies, realHeaders...) {
		if strings.HasPrefix(name, h.folded) || strings.HasSuffix(name, "-") && strings.HasPrefix(h.folded, name) {
			return fmt.Sprintf("identity: the prefix %q takes in headers of others (%s), which would be removed from every request; write one of your own, such as headers X-Mcp-App-", h.prefix, http.CanonicalHeaderKey(name))
		}
	}
	return ""
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
