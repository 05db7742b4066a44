package openai

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// originRule says what an origin may look like in one place.
type originRule struct {
	schemes  []string
	wildcard bool // the host may begin with "*."
}

// checkOrigin checks an origin as it goes into a content security policy:
// scheme, host, maybe a port, in lower case and nothing else. Plain http and ws
// are for loopback addresses only. (MCP Apps, UI resource metadata, csp.)
func checkOrigin(origin string, rule originRule) error {
	fail := func(say string, args ...any) error {
		return fmt.Errorf("origin %q: %w", clip(origin), fmt.Errorf(say, args...))
	}
	if origin == "*" {
		return fail("a bare * allows everything: write the origins that are needed, such as https://api.example.com")
	}
	scheme, host, ok := strings.Cut(origin, "://")
	if !ok {
		return fail("write it with its scheme, such as https://%s", strings.Trim(origin, "/'\" "))
	}
	loopback := false
	if bare, cut := strings.CutPrefix(host, "*."); cut {
		if !rule.wildcard {
			return fail("a wildcard cannot stand here: write each host")
		}
		if !strings.Contains(bare, ".") {
			return fail("the wildcard covers a whole top-level domain: write a longer name behind it")
		}
		host = bare
	}
	if err := checkHostPort(host, &loopback); err != nil {
		return fail("%w", err)
	}
	plain := scheme == "http" && slices.Contains(rule.schemes, "https") || scheme == "ws" && slices.Contains(rule.schemes, "wss")
	switch {
	case slices.Contains(rule.schemes, scheme):
		return nil
	case plain && loopback:
		return nil
	case plain:
		return fail("%s is for loopback addresses only: write %ss://%s", scheme, scheme, host)
	default:
		return fail("the scheme must be %s, in lower case", strings.Join(rule.schemes, " or "))
	}
}

// checkHostPort checks what stands behind the scheme. Only characters that mean
// nothing in a policy get through.
func checkHostPort(s string, loopback *bool) error {
	host, port := s, ""
	if inner, rest, ok := strings.Cut(strings.TrimPrefix(s, "["), "]"); ok && strings.HasPrefix(s, "[") {
		address, err := netip.ParseAddr(inner)
		if err != nil || !address.Is6() || address.Zone() != "" || inner != strings.ToLower(inner) || rest != "" && rest[0] != ':' {
			return errors.New("the address in brackets is no IPv6 address")
		}
		*loopback = address.IsLoopback()
		if rest == "" {
			return nil
		}
		return checkPort(rest[1:])
	}
	if before, after, ok := strings.Cut(s, ":"); ok {
		host, port = before, after
		if err := checkPort(port); err != nil {
			return err
		}
	}
	if strings.ContainsAny(host, "/?#") {
		return errors.New("only scheme, host and port belong here: leave the path out, and the slash too")
	}
	if len(host) > 253 {
		return errors.New("the host is longer than 253 characters")
	}
	for label := range strings.SplitSeq(host, ".") {
		if !isLabel(label) {
			return errors.New("the host must be a name in lower case (an international one as xn--…) or an IP address")
		}
	}
	*loopback = host == "localhost" || strings.HasSuffix(host, ".localhost")
	if last := host[strings.LastIndexByte(host, '.')+1:]; strings.Trim(last, "0123456789") == "" {
		address, err := netip.ParseAddr(host) // a name cannot end in digits, see WHATWG URL §3.5
		if err != nil {
			return errors.New("the host is no IPv4 address")
		}
		*loopback = address.IsLoopback()
	}
	return nil
}

func checkPort(port string) error {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '0' || port[0] == '+' {
		return errors.New("what stands behind the colon must be a port from 1 to 65535, and nothing behind that")
	}
	return nil
}

func isLabel(label string) bool {
	for i := range len(label) {
		c := label[i]
		if ('a' > c || c > 'z') && ('0' > c || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return label != "" && len(label) <= 63 && label[0] != '-' && label[len(label)-1] != '-'
}
