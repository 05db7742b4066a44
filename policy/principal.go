// Package policy decides who may do what on an MCP endpoint: it turns verified
// token claims into a [Principal] of exactly one tenant, and reviewable rules
// into a [View] of what that principal may see.
//
// Every place that shows or uses a name (lists, calls, reads, capabilities)
// asks the same View, so that no two of them can disagree. The package knows
// neither HTTP bodies nor Caddy.
package policy

import (
	"slices"
	"time"
)

// Principal is the verified caller of one message. It is made from token
// claims only, never from request headers, arguments or host hints.
type Principal struct {
	// Anonymous marks a caller without a token (mixed mode); everything else is
	// empty then.
	Anonymous bool
	// Issuer is the `iss` of the token; Subject its `sub`. Together they name
	// the caller (RFC 7519 §4.1.2: a subject is unique only within its issuer).
	Issuer, Subject string
	// ClientID is the OAuth client that acts for the subject (RFC 9068 §2.2),
	// empty if the token names none.
	ClientID string
	// Tenant is the one tenant the caller acts for, empty without a tenant
	// block.
	Tenant string
	// Scopes are all scopes granted to the token, not only the needed ones.
	Scopes []string
	// Expiry is when the token ends; streams may not outlive it.
	Expiry time.Time
	// Claims are the verified claims as decoded. Read only.
	Claims map[string]any
}

// HasScopes reports whether every one of needed was granted.
func (p *Principal) HasScopes(needed []string) bool {
	return len(p.missingScopes(needed)) == 0
}

// missingScopes lists what of needed was not granted, in the order of needed.
func (p *Principal) missingScopes(needed []string) []string {
	var missing []string
	for _, scope := range needed {
		if !slices.Contains(p.Scopes, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}
