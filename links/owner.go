package links

import (
	"strings"
)

// PluginOf returns the id of the plugin that a URL addresses, however faulty the
// rest of it is, so that a faulty link can be put down to the one who wrote it.
// It is false for any other URL and for an id that cannot be decoded.
func PluginOf(s string) (id string, ok bool) {
	platform, prefix := linkPlatform(s)
	if platform == "" {
		return "", false
	}

	segment := s[len(prefix):]
	if i := strings.IndexAny(segment, `/?#\@`); i >= 0 {
		segment = segment[:i]
	}

	id, fault := unescape(segment)

	return id, fault < 0
}
