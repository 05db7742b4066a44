package discovery

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxText bounds, in characters, what is shown of a text of the server.
const MaxText = 300

// redacted stands where a secret was.
const redacted = "[redacted]"

// credentials find what looks like a secret although nobody gave it to us.
var credentials = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{4,}|\bsk-[A-Za-z0-9_-]{8,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?`)

// Clean makes a text of a server fit to be shown: controls and what reorders
// text are taken out, lines joined, secrets replaced, and the rest is cut to
// limit characters.
func Clean(text string, limit int, secrets []string) string {
	// Bounded twice: here against the work, below for the reader.
	if most := 8*limit + 1024; len(text) > most {
		text = text[:most]
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case r == utf8.RuneError || !unicode.IsPrint(r):
		default:
			b.WriteRune(r)
		}
	}
	clean := strings.Join(strings.Fields(b.String()), " ")
	for _, secret := range secrets {
		clean = strings.ReplaceAll(clean, secret, redacted)
	}
	clean = credentials.ReplaceAllString(clean, redacted)
	if runes := []rune(clean); len(runes) > limit {
		clean = string(runes[:limit-1]) + "…"
	}
	return clean
}
