package policy

import "time"

// Principal is the verified caller of one message. It is made from token
// claims and membership only, never from request headers, arguments or host
// hints.
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
	// Scopes are all scopes granted to the token, not only the needed ones,
	// less what [Policy.Narrow] took away.
	Scopes []string
	// Roles the caller has by membership. Roles that the token claims are found
	// by the policy itself, see [Config.RolesClaim].
	Roles []string
	// Expiry is when the token ends; streams may not outlive it.
	Expiry time.Time
	// Claims are the verified claims as decoded. Read only.
	Claims map[string]any

	// withheld are scopes that no token can give this member.
	withheld func(scope string) bool
}
