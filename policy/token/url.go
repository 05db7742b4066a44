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
		return nil, fmt.Errorf("the URL %q may only hold printable ASCII without spaces, quotes and backslashes", RedactURL(raw))
	}
	u, err := url.Parse(raw)
	if err != nil {
		if parsing, ok := errors.AsType[*url.Error](err); ok {
			err = parsing.Err // without the text, which may hold a password
		}
		if strings.Contains(raw, "@") {
			err = errors.New("it does not parse") // the cause may quote a part of it
		}
		return nil, fmt.Errorf("the URL %q: %w", RedactURL(raw), err)
	}

	switch {
	case u.Hostname() == "":
		return nil, fmt.Errorf("the URL %q has no host", RedactURL(raw))
	case u.User != nil:
		return nil, fmt.Errorf("the URL %q must not hold a user name or password", RedactURL(raw))
	case strings.Contains(raw, "#"):
		return nil, fmt.Errorf("the URL %q must not have a fragment", RedactURL(raw))
	case !strings.HasPrefix(raw[len(u.Scheme):], "://"+u.Host):
		// The parser decodes escapes in a host; clients that compare text do not.
		return nil, fmt.Errorf("the URL %q must not have an escaped host", RedactURL(raw))
	case u.Scheme == "https":
		return u, nil
	case u.Scheme == "http" && (insecure || isLoopback(u.Hostname())):
		return u, nil
	default:
		return nil, fmt.Errorf("the URL %q must begin with https:// (http:// is for loopback hosts)", RedactURL(raw))
	}
}

// RedactURL is the text of a configured URL for an error or a log. Everything before the last @, where
// a password may stand in whatever spelling, is left out; so is everything
// behind a question mark.
func RedactURL(raw string) string {
	if at := strings.LastIndexByte(raw, '@'); at >= 0 {
		raw = "…" + raw[at:]
	}
	if query := strings.IndexByte(raw, '?'); query >= 0 {
		raw = raw[:query] + "?…"
	}
	return raw
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)

	return ip != nil && ip.IsLoopback()
}
