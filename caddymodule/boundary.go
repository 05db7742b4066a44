package caddymodule

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/caddyserver/caddy/v2"
)

// originSet holds the origins that browsers may call from.
type originSet map[string]bool

// refusal is an answer that ends a request before it is read.
type refusal struct {
	status int
	text   string // for the client; says nothing an outsider should not know
	reason string // for the log
}

// checkBoundary judges what can be judged without a body and without a token:
// Host, Origin and method (MCP 2025-11-25, basic/transports "Security Warning").
func (m *Handler) checkBoundary(r *http.Request, at where) *refusal {
	if len(m.Hosts) > 0 && !slices.ContainsFunc(m.Hosts, func(h string) bool { return strings.EqualFold(h, r.Host) }) {
		return &refusal{http.StatusForbidden, "host not allowed", "host " + r.Host + " is not in `hosts`"}
	}
	if origin, ok := m.allowedOrigin(r, at); !ok {
		return &refusal{http.StatusForbidden, "origin not allowed", "origin " + origin + " is neither the resource's own nor in `origins`"}
	}
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions:
	default:
		return &refusal{http.StatusMethodNotAllowed, "method not allowed", "method " + r.Method}
	}
	if !m.authenticates() && !m.Auth.Public {
		if public := publicPeer(r); public != "" {
			return &refusal{
				http.StatusForbidden, "without authentication only local connections are served",
				"mode none serves loopback and private addresses only, and " + public + " is public; write auth { mode none public } to serve everybody",
			}
		}
	}
	return nil
}

// allowedOrigin reports whether a request may come from where its browser says
// it comes from. No Origin means no browser, unless the browser says otherwise.
func (m *Handler) allowedOrigin(r *http.Request, at where) (string, bool) {
	switch origins := r.Header.Values("Origin"); len(origins) {
	case 0:
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			return "(none, Sec-Fetch-Site " + site + ")", false
		}
		return "", true
	case 1:
		return origins[0], m.origins[origins[0]] || m.ownOrigin(r, at, origins[0])
	default:
		return strings.Join(origins, ", "), false
	}
}

// ownOrigin reports whether origin is the endpoint's own. A Host header says what
// that is only where it has been checked against `hosts` or is this machine's
// own name: otherwise a name that an attacker points at us would do.
func (m *Handler) ownOrigin(r *http.Request, at where, origin string) bool {
	if at.served { // the resource's origin may depend on the tenant's host name
		return origin == at.origin
	}
	_, host, _ := strings.Cut(origin, "://")
	return host == r.Host && (len(m.Hosts) > 0 || isLoopbackHost(host))
}

// isLoopbackHost reports whether host, with or without a port, can only be this
// machine.
func isLoopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// corsHeaders lets an allowed page read the answer. One list drives preflight
// and request alike, so that no preflight promises what the request refuses.
func (m *Handler) corsHeaders(r *http.Request) http.Header {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	return http.Header{
		"Access-Control-Allow-Origin":   {origin},
		"Access-Control-Expose-Headers": {"Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate"},
		"Vary":                          {"Origin"},
	}
}

// servePreflight answers OPTIONS; the origin has been checked.
func (m *Handler) servePreflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.Header.Get("Origin") != "" {
		h.Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
		h.Set("Access-Control-Allow-Headers", allowedHeaders(r.Header.Get("Access-Control-Request-Headers"), m.registrationNames.header))
		h.Set("Access-Control-Max-Age", "600")
	}
	h.Set("Allow", "POST, GET, DELETE, OPTIONS")
	w.WriteHeader(http.StatusNoContent)
}

// corsRequestHeaders are what MCP clients in browsers send.
var corsRequestHeaders = []string{
	"Authorization", "Content-Type", "Accept", "Last-Event-ID",
	"Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name",
}

// allowedHeaders lists the fixed headers, some more, and those asked-for ones that mirror
// tool arguments, whose names nobody knows beforehand.
func allowedHeaders(asked string, more ...string) string {
	allowed := append(slices.Clone(corsRequestHeaders), more...)
	for name := range strings.SplitSeq(asked, ",") {
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		if strings.HasPrefix(name, "Mcp-Param-") && len(name) <= 128 && len(allowed) < 64 {
			allowed = append(allowed, name)
		}
	}
	return strings.Join(allowed, ", ")
}

// parseOrigin checks an origin of the configuration. Browsers send origins in
// one form only; another one would match nothing, which nobody would notice.
func parseOrigin(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || !strings.EqualFold(text, u.Scheme+"://"+u.Host) || strings.ContainsFunc(text, func(c rune) bool { return c > unicode.MaxASCII }) {
		return fmt.Errorf("origins: %q is not an origin; write scheme and host only, such as https://chatgpt.com", text)
	}
	if origin := originOf(u); origin != text {
		return fmt.Errorf("origins: no browser sends %q; write %s", text, origin)
	}
	return nil
}

// originOf writes the origin of a URL as browsers do: in lower case, without the
// scheme's own port (WHATWG HTML, "ASCII serialization of an origin").
func originOf(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return scheme + "://" + host
}

// clientAddressHeaders are those in which proxies, delivery networks and tunnels
// name the client they serve.
var clientAddressHeaders = []string{
	"X-Forwarded-For", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For", "X-Envoy-External-Address",
	"Cf-Connecting-Ip", "Cf-Connecting-Ipv6", "Cf-Pseudo-Ipv4", "True-Client-Ip", "Fastly-Client-Ip", "Fly-Client-Ip",
	"X-Appengine-User-Ip", "X-Azure-Clientip", "X-Azure-Socketip", "Do-Connecting-Ip", "Cloudfront-Viewer-Address",
}

// publicPeer names an address of the connection, or one that a proxy in front
// says it serves, that is neither loopback nor private; empty if there is none.
func publicPeer(r *http.Request) string {
	addresses := []string{r.RemoteAddr}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		addresses = append(addresses, local.String())
	}
	for _, name := range clientAddressHeaders {
		for _, value := range r.Header.Values(name) {
			addresses = append(addresses, strings.Split(value, ",")...)
		}
	}
	for _, value := range r.Header.Values("Forwarded") {
		for part := range strings.FieldsFuncSeq(value, func(c rune) bool { return c == ';' || c == ',' }) {
			if name, address, ok := strings.Cut(strings.TrimSpace(part), "="); ok && strings.EqualFold(name, "for") {
				addresses = append(addresses, strings.Trim(address, `"`))
			}
		}
	}
	for _, address := range addresses {
		if address = strings.TrimSpace(address); isPublic(address) {
			return address
		}
	}
	return ""
}

// isPublic reads an address with or without port. What is no address, such as
// a unix socket or an obfuscated node name, is not public.
func isPublic(address string) bool {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	ip, err := netip.ParseAddr(strings.Trim(address, "[]"))
	if err != nil {
		return false
	}
	ip = ip.Unmap()
	return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
}

// replacerOf returns the request's placeholders.
func replacerOf(r *http.Request) *caddy.Replacer {
	return r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
}
