package mcp

import (
	"mime"
	"strings"
)

// IsEventStream reports whether a Content-Type is text/event-stream. Parameters
// that do not parse are ignored, as event-stream readers do.
func IsEventStream(contentType string) bool { return mediaType(contentType) == "text/event-stream" }

// IsJSON reports whether a Content-Type is application/json.
func IsJSON(contentType string) bool { return mediaType(contentType) == "application/json" }

func mediaType(contentType string) string {
	switch contentType { // as most write it
	case "application/json", "text/event-stream":
		return contentType
	}
	if t, _, err := mime.ParseMediaType(contentType); err == nil {
		return t
	}
	t, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}
