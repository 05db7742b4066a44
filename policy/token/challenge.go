package token

import (
	"fmt"
	"strings"
)

// InsufficientScope is the error code for a token that is good but does not
// grant what the request needs (RFC 6750 §3.1): 403.
const InsufficientScope = "insufficient_scope"

const (
	// maxDescription bounds error_description, which is a sentence.
	maxDescription = 256
	// maxScopeBytes bounds scope: clients and proxies refuse header fields of
	// more than 8 KiB.
	maxScopeBytes = 4 << 10
)

// Challenge is one Bearer challenge (RFC 6750 §3, RFC 9728 §5.1). Its zero
// value is a bare "Bearer".
type Challenge struct {
	// ResourceMetadata is the absolute URL of the resource metadata.
	ResourceMetadata string
	// Scopes is everything the operation needs. Put what matters most first:
	// the list is cut off at 4 KiB.
	Scopes []string
	// Error is empty if no credentials were sent.
	Error string
	// Description is for the client's developer, never for a log: it must not
	// say why exactly a token was refused.
	Description string
}

// Header returns the value for WWW-Authenticate. Whatever the fields hold, it
// is one line of printable ASCII that parses as exactly one challenge: no value
// can end its quoted string, so none is escaped either, which some parsers get
// wrong. Characters that have no place are percent-encoded in the URL, dropped
// with their scope or error, and replaced in the description. Repeated scopes
// are written once.
func (c Challenge) Header() string {
	var b strings.Builder
	b.WriteString("Bearer")
	separator := " "
	param := func(name, value string) {
		if value != "" {
			b.WriteString(separator + name + `="` + value + `"`)
			separator = ", "
		}
	}
	param("resource_metadata", quotableURL(c.ResourceMetadata))
	param("scope", quotableScopes(c.Scopes))
	if IsScopeToken(c.Error) { // error codes use the characters of a scope
		param("error", c.Error)
	}
	param("error_description", quotableText(c.Description))

	return b.String()
}

func quotableURL(raw string) string {
	var b strings.Builder
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}

	return b.String()
}

func quotableScopes(scopes []string) string {
	var b strings.Builder
	seen := make(map[string]bool, len(scopes))
	for _, scope := range scopes {
		if !IsScopeToken(scope) || seen[scope] {
			continue
		}
		if b.Len()+1+len(scope) > maxScopeBytes {
			break
		}
		seen[scope] = true
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(scope)
	}

	return b.String()
}

func quotableText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if b.Len() == maxDescription {
			break
		}
		switch {
		case r == '"':
			b.WriteByte('\'')
		case r == '\\':
			b.WriteByte('/')
		case r < ' ' || r > '~':
			b.WriteByte(' ')
		default:
			b.WriteByte(byte(r))
		}
	}

	return strings.TrimSpace(b.String())
}
