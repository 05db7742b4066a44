package links

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// MaxFallback is the length limit of a fallback URL in bytes.
const MaxFallback = 2048

const httpsScheme = "https://"

// Fallback is the address of the ordinary application, which opens where no
// plugin link does. The zero value stands for none.
type Fallback struct {
	origin string // "https://" and host, without a trailing slash
	path   string // empty or from the first slash on
}

// ParseFallback checks an absolute https URL of at most [MaxFallback] bytes: an
// ASCII host name or IP address with an optional port and path, and no user
// information, query or fragment, because a path will be appended to it. The
// path obeys the rules of [ParseAppURL].
func ParseFallback(s string) (Fallback, error) {
	f, fault := parseFallback(s)
	if fault != nil {
		return Fallback{}, fault
	}

	return f, nil
}

// String returns the fallback URL, or the empty string for none.
func (f Fallback) String() string { return f.origin + f.path }

// IsZero reports whether there is no fallback.
func (f Fallback) IsZero() bool { return f.origin == "" }

// Join appends an app-relative URL and returns an ASCII URL that can stand in a
// Location header. The root path "/" alone leaves the fallback as it is. An
// invalid u is an [*Error] and a zero f is [ErrNoLink].
//
// The result cannot leave the origin and path of the fallback, whoever wrote u:
// the origin is always followed by a slash, and u holds nothing that a parser
// would take back.
func (f Fallback) Join(u AppURL) (string, error) {
	if f.IsZero() {
		return "", ErrNoLink
	}

	if fault := checkAppURL(string(u)); fault != nil {
		return "", fault
	}

	if u == "/" {
		return escapeURL(f.String()), nil
	}

	joined := escapeURL(f.origin + strings.TrimSuffix(f.path, "/") + string(u))

	// Redirects to another host are worth a second opinion.
	if parsed, err := url.Parse(joined); err != nil || parsed.User != nil || httpsScheme+parsed.Host != f.origin {
		return "", &Error{"url", 0, "leaves the fallback's origin"}
	}

	return joined, nil
}

func parseFallback(s string) (f Fallback, fault *Error) {
	bad := func(at int, reason string) *Error { return &Error{"fallback", at, reason} }

	if len(s) > MaxFallback {
		return f, bad(MaxFallback, fmt.Sprintf("is longer than %d bytes", MaxFallback))
	}

	if len(s) < len(httpsScheme) || !strings.EqualFold(s[:len(httpsScheme)], httpsScheme) {
		return f, bad(0, "does not begin with https://")
	}

	at := len(httpsScheme)

	end := len(s)
	if i := strings.IndexAny(s[at:], `/\?#`); i >= 0 {
		end = at + i
	}

	authority := s[at:end]
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		return f, bad(at, "holds user information")
	}

	if i, reason := checkAuthority(authority); reason != "" {
		return f, bad(at+i, reason)
	}

	rest := s[end:]
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		return f, bad(end+i, "holds a query or a fragment")
	}

	if rest != "" && rest[0] != '/' {
		return f, bad(end, "holds a backslash")
	}

	if rest != "" {
		if fault := checkAppURL(rest); fault != nil {
			return f, bad(end+fault.Offset, "path "+fault.Reason)
		}
	}

	return Fallback{origin: httpsScheme + strings.ToLower(authority), path: rest}, nil
}

// checkAuthority returns the place and reason of a fault in "host" or
// "host:port". Only plain ASCII hosts pass: how a browser maps any other text to
// a host is too much to follow here.
func checkAuthority(authority string) (at int, reason string) {
	host, port := authority, ""

	colon := strings.LastIndexByte(authority, ':')
	if colon > strings.LastIndexByte(authority, ']') {
		host, port = authority[:colon], authority[colon+1:]

		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return colon + 1, "holds a port that is not between 1 and 65535"
		}
	}

	if host == "" {
		return 0, "names no host"
	}

	if strings.HasPrefix(host, "[") {
		addr, err := netip.ParseAddr(strings.TrimSuffix(host[1:], "]"))
		if err != nil || !strings.HasSuffix(host, "]") || !addr.Is6() || addr.Zone() != "" {
			return 0, "holds a malformed IPv6 address"
		}

		return 0, ""
	}

	for i := range len(host) {
		if c := host[i]; !isAlphanumeric(c) && c != '-' && c != '.' && c != '_' {
			return i, "holds a host that is not plain ASCII letters, digits, hyphens and dots"
		}
	}

	if strings.HasPrefix(host, ".") || strings.Contains(host, "..") {
		return strings.IndexByte(host, '.'), "holds an empty host label"
	}

	return 0, ""
}
