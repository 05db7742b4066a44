package mcp

import (
	"maps"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// SubjectKind is what a method is about.
type SubjectKind int

// The kinds of subjects.
const (
	SubjectNone      SubjectKind = iota
	SubjectTool                  // params.name
	SubjectPrompt                // params.name
	SubjectResource              // params.uri
	SubjectReference             // params.ref: a prompt's name or a resource template's URI
	SubjectTask                  // params.taskId
)

// Subject tells what method is about, [SubjectNone] for methods that name
// nothing and for unknown ones.
func Subject(method string) SubjectKind {
	switch method {
	case "tools/call":
		return SubjectTool
	case "prompts/get":
		return SubjectPrompt
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return SubjectResource
	case "completion/complete":
		return SubjectReference
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		return SubjectTask
	default:
		return SubjectNone
	}
}

// Known reports whether a client may send method in an era. Methods outside the
// table are refused, not passed on: a method nobody has thought about is one
// nobody filters. The tables are those of schema/2025-11-25 and
// schema/2026-07-28; tasks are left out, since their handles outlive the call
// that was authorised.
func Known(era Era, method string) bool {
	if era == Modern {
		return modernMethods[method]
	}
	return legacyMethods[method]
}

// methodText is the text of a method, which of known ones costs no memory.
func methodText(method rawjson.Value) (string, bool) {
	if len(method) > 2 {
		if known, ok := methodNames[string(method[1:len(method)-1])]; ok && method.Kind() == rawjson.String {
			return known, true
		}
	}
	return method.Text()
}

// methodNames are the methods of both eras.
var methodNames = func() map[string]string {
	names := make(map[string]string)
	for _, known := range []map[string]bool{legacyMethods, modernMethods} {
		for name := range known {
			names[name] = name
		}
	}
	return names
}()

// Methods lists what [Known] knows in an era, in alphabetical order.
func Methods(era Era) []string {
	known := legacyMethods
	if era == Modern {
		known = modernMethods
	}
	return slices.Sorted(maps.Keys(known))
}

var (
	legacyMethods = methodSet(
		"initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list",
		"resources/read", "resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get",
		"completion/complete", "logging/setLevel", "notifications/initialized", "notifications/cancelled",
		"notifications/progress", "notifications/roots/list_changed",
	)
	modernMethods = methodSet(
		"server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list",
		"resources/read", "prompts/list", "prompts/get", "completion/complete", "subscriptions/listen",
		// Not in the schema for HTTP, but harmless and sent by clients that
		// share code between transports.
		"notifications/cancelled",
	)
)

func methodSet(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
