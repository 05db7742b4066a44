package discovery

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
)

// Target says which server is asked, and as whom.
type Target struct {
	URL    string      // absolute, http or https
	Token  string      // bearer token, empty for none
	Header http.Header // further headers, sent as they are, such as API keys
}

// ownHeaders belong to the protocol or to the connection.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie", "Expect", "Host",
	"Keep-Alive", "Last-Event-Id", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// Check refuses what cannot be asked: class [BadTarget].
func (t Target) Check() error {
	if err := CheckURL(t.URL); err != nil {
		return err
	}
	if t.Token != "" && t.Header["Authorization"] != nil {
		return badTarget("a token and an Authorization header exclude each other")
	}
	if !httpguts.ValidHeaderFieldValue(t.Token) {
		return badTarget("the token holds control characters")
	}
	for name, values := range t.Header {
		if len(values) != 1 {
			return badTarget("header %s is given more than once", name)
		}
		if _, _, err := ParseHeader(name + ":" + values[0]); err != nil {
			return err
		}
	}
	return nil
}

// CheckURL refuses addresses that are none, or that hold credentials.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return badTarget("write a whole address, such as https://mcp.example.com/mcp")
	case u.Scheme != "https" && u.Scheme != "http":
		return badTarget("the address must begin with https:// or http://")
	case u.User != nil:
		return badTarget("the address holds a user name or password; give a token or a header instead")
	case u.Fragment != "":
		return badTarget("the address has a fragment (#...), which is never sent")
	}
	return nil
}

// ParseHeader takes NAME:VALUE apart. The value stays as it is, without blanks
// around it; it is never repeated in the error.
func ParseHeader(text string) (name, value string, err error) {
	name, value, found := strings.Cut(text, ":")
	value = strings.Trim(value, " \t")
	switch canonical := http.CanonicalHeaderKey(name); {
	case !found || !httpguts.ValidHeaderFieldName(name):
		return "", "", badTarget("a header is written NAME:VALUE, with a name of letters, digits and hyphens")
	case !httpguts.ValidHeaderFieldValue(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return "", "", badTarget("the value of header %s holds control characters", canonical)
	case slices.Contains(ownHeaders, canonical):
		return "", "", badTarget("header %s belongs to the protocol and cannot be given", canonical)
	default:
		return canonical, value, nil
	}
}

// Headers puts several NAME:VALUE together. A repeated name is refused: servers
// differ on which one counts.
func Headers(list []string) (http.Header, error) {
	headers := make(http.Header, len(list))
	for _, text := range list {
		name, value, err := ParseHeader(text)
		if err != nil {
			return nil, err
		}
		if headers[name] != nil {
			return nil, badTarget("header %s is given more than once", name)
		}
		headers[name] = []string{value}
	}
	return headers, nil
}

// header is what goes out with every request.
func (t Target) header() http.Header {
	header := t.Header.Clone()
	if header == nil {
		header = make(http.Header)
	}
	if t.Token != "" {
		header.Set("Authorization", "Bearer "+t.Token)
	}
	header.Set("User-Agent", "caddy-mcp-app")
	return header
}

// Secrets lists what must not be repeated from this target.
func (t Target) Secrets() []string {
	var secrets []string
	add := func(text string) {
		if len(text) >= 4 { // shorter ones would only tear other words apart
			secrets = append(secrets, text)
		}
	}
	add(t.Token)
	for _, values := range t.Header {
		for _, value := range values {
			add(value)
			if _, credentials, ok := strings.Cut(value, " "); ok {
				add(credentials)
			}
		}
	}
	if u, err := url.Parse(t.URL); err == nil {
		add(u.RawQuery)
		for _, values := range u.Query() {
			for _, value := range values {
				add(value)
			}
		}
	}
	// Longer ones first, so that none is left behind a part of it.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// Shown is the address without its query, which may hold a key.
func (t Target) Shown() string {
	u, err := url.Parse(t.URL)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// key identifies the question of a target without holding its credentials.
func (t Target) key() flight.Key {
	lists := [][]string{{t.URL, t.Token}}
	for name, values := range t.Header {
		lists = append(lists, append([]string{name}, values...))
	}
	slices.SortFunc(lists[1:], slices.Compare)
	return flight.KeyOf(lists...)
}

func badTarget(format string, args ...any) error {
	return &Error{Class: BadTarget, Detail: fmt.Sprintf(format, args...)}
}
