package token

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"unicode"
)

// CheckURL judges an issuer, key set or resource URL from a configuration. It
// must be absolute, with a host and without user information and fragment. Its
// text must be printable ASCII without spaces, quotes and backslashes, because
// it is compared byte by byte and written into quoted header values. The
// scheme is https; http is for loopback hosts (localhost, 127.0.0.0/8, ::1),
// or for any host if insecure is set.
func CheckURL(raw string, insecure bool) error {
	_, err := parseURL(raw, insecure)
	return err
}

func parseURL(raw string, insecure bool) (*url.URL, error) {
	if raw == "" {
		return nil, errors.New("the URL is empty")
	}
	if strings.ContainsFunc(raw, func(r rune) bool {
		return r <= ' ' || r > unicode.MaxASCII || r == '"' || r == '\\' || r == 0x7f
	}) {
		return nil, fmt.Errorf("the URL %q may only hold printable ASCII without spaces, quotes and backslashes", raw)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("parsing URL: %w", err)
	}

	switch {
	case u.Hostname() == "":
		return nil, fmt.Errorf("the URL %q has no host", raw)
	case u.User != nil:
		// The text is not repeated: it holds a password.
		return nil, fmt.Errorf("the URL for host %q must not hold a user name or password", u.Host)
	case strings.Contains(raw, "#"):
		return nil, fmt.Errorf("the URL %q must not have a fragment", raw)
	case !strings.HasPrefix(raw[len(u.Scheme):], "://"+u.Host):
		// The parser decodes escapes in a host; clients that compare text do not.
		return nil, fmt.Errorf("the URL %q must not have an escaped host", raw)
	case u.Scheme == "https":
		return u, nil
	case u.Scheme == "http" && (insecure || isLoopback(u.Hostname())):
		return u, nil
	default:
		return nil, fmt.Errorf("the URL %q must begin with https:// (http:// is for loopback hosts)", raw)
	}
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)

	return ip != nil && ip.IsLoopback()
}
