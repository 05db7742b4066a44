package links

import (
	"strings"
)

// Platform is where a link opens. The zero value means that it is not known and
// the person should be asked.
type Platform string

const (
	// Desktop is the desktop application, scheme codex.
	Desktop Platform = "desktop"

	// Mobile is the mobile application, scheme chatgpt.
	Mobile Platform = "mobile"

	// Web is https://chatgpt.com.
	Web Platform = "web"

	// App is the ordinary application outside ChatGPT; see [Fallback].
	App Platform = "app"
)

// maxHint bounds how much of a request header is looked at, in bytes. Real user
// agents have less than half of it.
const maxHint = 1024

// Hints are the request headers that tell a platform apart; each may be empty.
type Hints struct {
	UserAgent string // User-Agent
	Platform  string // Sec-CH-UA-Platform, quoted as on the wire or bare
}

// ParsePlatform reads one of the words desktop, mobile, web and app.
func ParsePlatform(word string) (Platform, error) {
	switch p := Platform(word); p {
	case Desktop, Mobile, Web, App:
		return p, nil
	default:
		return "", &Error{"platform", 0, "is not one of desktop, mobile, web, app"}
	}
}

// ChoosePlatform returns the explicit word if there is one, and otherwise what
// the hints say; the client hint goes before the user agent. The zero Platform
// without an error means that nothing is certain.
//
// macOS and Windows mean [Desktop], iOS means [Mobile], and Linux and Chrome OS,
// for which there is no desktop application, mean [Web]. Android means [App]
// because the deep link extension does not support it. Safari on "Macintosh" is
// not certain: an iPad says the same, and cannot open a desktop link.
func ChoosePlatform(word string, h Hints) (Platform, error) {
	if word != "" {
		return ParsePlatform(word)
	}

	if p := platformOf(strings.Trim(h.Platform, ` "`)); p != "" {
		return p, nil
	}

	return platformOfAgent(h.UserAgent[:min(len(h.UserAgent), maxHint)]), nil
}

// platformOf maps the values of Sec-CH-UA-Platform (User-Agent Client Hints
// section 3.8).
func platformOf(system string) Platform {
	switch system {
	case "macOS", "Windows":
		return Desktop
	case "iOS":
		return Mobile
	case "Linux", "Chrome OS", "Chromium OS":
		return Web
	case "Android":
		return App
	default:
		return ""
	}
}

func platformOfAgent(agent string) Platform {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(agent, w) {
				return true
			}
		}

		return false
	}

	switch {
	// Mobile systems first: their user agents name a desktop one as well, such
	// as "like Mac OS X" and "Linux; Android".
	case has("iPhone", "iPad", "iPod"):
		return Mobile
	case has("Android"):
		return App
	case has("Windows NT"):
		return Desktop
	case has("Macintosh") && has("Chrome/", "Firefox/"):
		return Desktop
	case has("CrOS", "X11; Linux", "Wayland; Linux"):
		return Web
	default:
		return ""
	}
}

// prefix is what a plugin link of the platform begins with (deep link
// extension), empty if there is none.
func (p Platform) prefix() string {
	switch p {
	case Desktop:
		return "codex://plugins/"
	case Mobile:
		return "chatgpt://plugins/"
	case Web:
		return "https://chatgpt.com/plugins/"
	default:
		return ""
	}
}

// linkPlatform recognises the beginning of a plugin link in any case, so that an
// upper-case letter is a fault to report and not a way around a scanner.
func linkPlatform(s string) (Platform, string) {
	for _, p := range []Platform{Desktop, Mobile, Web} {
		prefix := p.prefix()
		if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
			return p, prefix
		}
	}

	return "", ""
}

// firstDifference returns the first byte where s does not follow prefix, or -1.
func firstDifference(s, prefix string) int {
	for i := range len(prefix) {
		if s[i] != prefix[i] {
			return i
		}
	}

	return -1
}
