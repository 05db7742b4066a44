package links

import (
	"fmt"
	"strings"
)

const (
	// maxPluginID and maxName, in bytes, are far above real names and keep a
	// link short enough for every mail client.
	maxPluginID = 256
	maxName     = 128

	// maxLink holds the longest link that Build makes, in which every byte of
	// every value may take three.
	maxLink = 8192
)

// AppLink addresses a page of a plugin app inside ChatGPT. The tool must carry a
// global entrypoint, which only a catalog can tell; see [AppLink.CheckTarget].
type AppLink struct {
	// PluginID is the plugin's identifier, 1 to 256 bytes.
	PluginID string `json:"pluginId"`

	// Marketplace is the name in a custom marketplace file, up to 128 bytes.
	// Plugins published to ChatGPT itself have none, and web links never do.
	Marketplace string `json:"marketplace,omitempty"`

	// Tool is the name of the entrypoint tool, 1 to 128 bytes.
	Tool string `json:"tool"`

	// Path is the page inside the app; empty means "/".
	Path AppURL `json:"path"`

	// Platform is [Desktop], [Mobile] or [Web].
	Platform Platform `json:"platform"`
}

// Build returns the link with every value percent-encoded as one segment and the
// path always written. The names may be any text, except what a URL parser would
// read as more than a name: dot segments, control and bidirectional characters,
// backslashes, or text that has been percent-encoded already. Offsets of an
// [*Error] count within the field that Part names.
func (l AppLink) Build() (string, error) {
	prefix := l.Platform.prefix()
	if prefix == "" {
		return "", &Error{"platform", 0, "is not one of desktop, mobile, web"}
	}

	if l.Path == "" {
		l.Path = "/"
	}

	if fault := l.check(); fault != nil {
		return "", fault
	}

	id := escape(l.PluginID)
	if l.Marketplace != "" {
		id += "@" + escape(l.Marketplace)
	}

	return prefix + id + "/app/" + escape(l.Tool) + "?path=" + escape(string(l.Path)), nil
}

// ParseAppLink takes a link apart, decodes its values and checks them by the
// rules of [AppLink.Build]. It is as strict as a host may be: the scheme in lower
// case, names encoded as single segments, no query key but one path, whose value
// is encoded, no fragment. A missing path means "/".
//
// A URL that is no app link is [ErrNotAppLink]; a faulty one is an [*Error]
// whose offset counts within s.
func ParseAppLink(s string) (AppLink, error) {
	l, fault := parseAppLink(s)

	switch {
	case fault != nil:
		return AppLink{}, fault
	case l.Platform == "":
		return AppLink{}, ErrNotAppLink
	}

	return l, nil
}

// parseAppLink returns a link without platform for what is no app link.
func parseAppLink(s string) (l AppLink, fault *Error) {
	platform, prefix := linkPlatform(s)
	if platform == "" {
		return l, nil
	}

	if len(s) > maxLink {
		return l, &Error{"link", maxLink, fmt.Sprintf("is longer than %d bytes", maxLink)}
	}

	rest, query, hasQuery := strings.Cut(s[len(prefix):], "?")

	segments := strings.Split(rest, "/")
	if len(segments) == 1 || len(segments) == 2 && segments[1] == "" {
		return l, nil // the plugin's own page
	}

	if i := firstDifference(s, prefix); i >= 0 {
		return l, &Error{"link", i, fmt.Sprintf("does not begin with %s in lower case", prefix)}
	}

	if i := strings.IndexByte(s, '#'); i >= 0 {
		return l, &Error{"link", i, "holds a fragment"}
	}

	l.Platform = platform
	at := len(prefix)

	if fault := l.parsePlugin(segments[0], at); fault != nil {
		return l, fault
	}

	at += len(segments[0]) + 1

	switch {
	case segments[1] != "app":
		return l, &Error{"link", at, `does not go on with "/app/" after the plugin`}
	case len(segments) == 2:
		return l, &Error{"tool", at + len("app"), "is missing"}
	}

	at += len("app/")

	if l.Tool, fault = parseName("tool", segments[2], maxName, at); fault != nil {
		return l, fault
	}

	at += len(segments[2])
	if len(segments) > 3 {
		return l, &Error{"tool", at, "is more than one path segment"}
	}

	l.Path = "/"
	if !hasQuery || query == "" {
		return l, nil
	}

	values, fault := parseQuery(query, at+1, "path")
	if fault != nil {
		return l, fault
	}

	l.Path, fault = values[0].appURL()

	return l, fault
}

// parsePlugin reads "<id>" or "<id>@<marketplace>", which stands at byte at.
func (l *AppLink) parsePlugin(raw string, at int) (fault *Error) {
	id, marketplace, found := strings.Cut(raw, "@")
	if l.PluginID, fault = parseName("plugin id", id, maxPluginID, at); fault != nil || !found {
		return fault
	}

	at += len(id)
	if l.Platform == Web {
		return &Error{"marketplace", at, "does not belong in a web link"}
	}

	l.Marketplace, fault = parseName("marketplace", marketplace, maxName, at+1)

	return fault
}

func (l AppLink) check() *Error {
	if fault := checkName("plugin id", l.PluginID, maxPluginID); fault != nil {
		return fault
	}

	if l.Marketplace != "" {
		if l.Platform == Web {
			return &Error{"marketplace", 0, "does not belong in a web link"}
		}

		if fault := checkName("marketplace", l.Marketplace, maxName); fault != nil {
			return fault
		}
	}

	if fault := checkName("tool", l.Tool, maxName); fault != nil {
		return fault
	}

	return checkAppURL(string(l.Path))
}
