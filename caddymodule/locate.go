package caddymodule

import (
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strings"
)

// place is what a request path means to this endpoint.
type place int

const (
	elsewhere place = iota
	atEndpoint
	atMetadata
	atIssuerMetadata
	atOpener
	atAssertionKeys
)

// locate tells what a URL is about. The documents have fixed addresses (RFC
// 9728 §3) and are matched exactly; the endpoint is also recognised in
// disguise.
func (m *Handler) locate(u *url.URL) place {
	switch {
	case samePath(u, m.Path):
		return atEndpoint
	case slices.Contains(m.documents.metadata, u.EscapedPath()) && !m.sharesRoot(u):
		return atMetadata
	case slices.Contains(m.documents.issuer, u.EscapedPath()) && !m.sharesRoot(u):
		return atIssuerMetadata
	case m.assertions != nil && u.Path == assertionKeysPath:
		return atAssertionKeys
	case m.opener.serves(u):
		return atOpener
	default:
		return elsewhere
	}
}

// samePath reports whether some server would take u's path for want. Upstreams
// and file servers differ in how they clean paths; whatever one of them might
// read as the endpoint must go through the checks.
func samePath(u *url.URL, want string) bool {
	if u.Path == want {
		return true
	}
	want, _ = settle(want)
	for _, form := range []string{u.EscapedPath(), u.Path, withoutParameters(u.Path)} {
		// What is still in disguise after so many layers is no honest path, and
		// is judged like the endpoint rather than let through.
		if canonical, settled := settle(form); canonical == want || !settled {
			return true
		}
	}
	return false
}

// maxLayers bounds how often a path is decoded. Honest paths need one round;
// without a bound a long path of escaped percent signs would cost its length
// squared.
const maxLayers = 8

// settle undoes every disguise: percent-encoding until nothing changes, path
// parameters, backslashes, dot segments, repeated and final slashes, case.
// Parameters go before each decoding, since what a server decodes first may
// hide in one (/mcp;x=%2Fy). It reports false for a path that has more layers
// than it looks into.
func settle(p string) (canonical string, settled bool) {
	for range maxLayers {
		p = withoutParameters(strings.ReplaceAll(p, `\`, "/"))
		decoded := unescape(p)
		if decoded == p {
			return strings.ToLower(path.Clean("/" + p)), true
		}
		p = decoded
	}
	return "", false
}

// unescape decodes what is a valid escape and leaves the rest, as lenient servers
// do: one broken escape must not hide the others.
func unescape(p string) string {
	if strings.IndexByte(p, '%') < 0 {
		return p
	}
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) {
			if decoded, err := hex.DecodeString(p[i+1 : i+3]); err == nil {
				b.WriteByte(decoded[0])
				i += 2
				continue
			}
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// withoutParameters cuts ;… from every segment (RFC 3986 §3.3).
func withoutParameters(p string) string {
	segments := strings.Split(p, "/")
	for i, segment := range segments {
		segments[i], _, _ = strings.Cut(segment, ";")
	}
	return strings.Join(segments, "/")
}
