package token

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/internal/oneline"
)

const (
	// maxSubjectRunes bounds "sub", which becomes a cache key and a header.
	maxSubjectRunes = 1024
	// maxNumericDate is the last second of the year 9999. A larger one is
	// nearly always in milliseconds.
	maxNumericDate = 253402300799
)

// Claims are what a verified token says. They are shared between calls and
// must not be changed.
type Claims struct {
	// Issuer and Subject together name the principal; both are always set.
	Issuer  string
	Subject string
	// ClientID is "client_id" (RFC 9068 §2.2), else "azp", else empty.
	ClientID string
	// ID is "jti", or empty.
	ID string
	// Scopes are the granted scopes in the token's order, without repetition.
	Scopes []string
	// Audience is "aud" as a list, never empty for a token that was accepted.
	Audience []string
	// Expiry is always set. IssuedAt and NotBefore are zero if absent.
	Expiry, IssuedAt, NotBefore time.Time

	// Raw holds every claim: map[string]any, []any, string, bool, nil, int64
	// for integers, uint64 and json.Number for those beyond, float64 for
	// numbers with a fraction or an exponent.
	Raw map[string]any
}

// Lookup finds a claim by path: "org_id", "realm_access.roles",
// "https://example.com/claims.tenant". On every level a member of exactly the
// remaining name comes first, then the longest name that ends before a dot and
// is an object, so that namespaced claims need no escaping. Arrays are not
// entered.
func (c *Claims) Lookup(path string) (any, bool) {
	return lookup(c.Raw, path)
}

// MissingScopes returns those of the required scopes that the token does not
// grant, in their order.
func (c *Claims) MissingScopes(required []string) []string {
	var missing []string
	for _, scope := range required {
		if !slices.Contains(c.Scopes, scope) {
			missing = append(missing, scope)
		}
	}

	return missing
}

func lookup(object map[string]any, path string) (any, bool) {
	if value, ok := object[path]; ok {
		return value, true
	}
	for i := strings.LastIndexByte(path, '.'); i >= 0; i = strings.LastIndexByte(path[:i], '.') {
		inner, ok := object[path[:i]].(map[string]any)
		if !ok {
			continue
		}
		if value, ok := lookup(inner, path[i+1:]); ok {
			return value, true
		}
	}

	return nil, false
}

// mapClaims reads a payload (RFC 7519 §4.1, RFC 9068 §2.2) whose signature has
// not been checked. It judges form only: what it returns has an issuer, a
// subject and an expiry, none of which is known to be right.
func mapClaims(payload []byte) (*Claims, error) {
	raw, err := strict.Object(payload)
	if err != nil {
		return nil, refuse("reading the token's claims: %v", err)
	}

	return claimsOf(raw)
}

// claimsOf maps claims that have been read.
func claimsOf(raw map[string]any) (*Claims, error) {
	c := &Claims{Raw: raw}
	var ok bool
	var err error
	if c.Issuer, ok = raw["iss"].(string); !ok || c.Issuer == "" {
		return nil, refuse("\"iss\" is missing or not a string")
	}
	if c.Subject, ok = raw["sub"].(string); !ok {
		return nil, refuse("\"sub\" is missing or not a string")
	}
	if err := checkSubject(c.Subject); err != nil {
		return nil, err
	}
	// Whether it is there is asked once the signature is known to be good: an
	// issuer that leaves it out deserves a hint, a stranger does not.
	if c.Audience, ok = optionalAudience(raw["aud"]); !ok {
		return nil, refuse("\"aud\" is neither a string nor an array of strings")
	}
	if c.ID, ok = optionalString(raw, "jti"); !ok || hasControl(c.ID) {
		return nil, refuse("\"jti\" is not a string, empty, or has control characters")
	}
	client := "client_id"
	if _, ok := raw[client]; !ok {
		client = "azp"
	}
	if c.ClientID, ok = optionalString(raw, client); !ok || hasControl(c.ClientID) {
		return nil, refuse("%q is not a string, empty, or has control characters", client)
	}
	if err := c.readDates(); err != nil {
		return nil, err
	}
	if c.Scopes, err = scopesOf(raw); err != nil {
		return nil, refuse("%v", err)
	}

	return c, nil
}

func (c *Claims) readDates() error {
	for _, date := range []struct {
		name string
		to   *time.Time
	}{{"exp", &c.Expiry}, {"nbf", &c.NotBefore}, {"iat", &c.IssuedAt}} {
		value, present := c.Raw[date.name]
		if !present {
			continue
		}
		seconds, ok := value.(int64)
		if !ok || seconds < 0 {
			return refuse("%q is not a whole number of seconds since 1970", date.name)
		}
		if seconds > maxNumericDate {
			return refuse("%q lies beyond the year 9999; is it in milliseconds?", date.name)
		}
		*date.to = time.Unix(seconds, 0)
	}

	// Zero would be "never expires" to a reader that takes it for unset.
	if c.Expiry.IsZero() || c.Expiry.Unix() == 0 {
		return refuse("\"exp\" is missing or zero")
	}

	return nil
}

func checkSubject(sub string) error {
	switch {
	case sub == "":
		return refuse("\"sub\" is empty")
	case utf8.RuneCountInString(sub) > maxSubjectRunes:
		return refuse("\"sub\" is longer than %d characters", maxSubjectRunes)
	case strings.TrimSpace(sub) != sub:
		return refuse("\"sub\" begins or ends with white space")
	case hasControl(sub):
		return refuse("\"sub\" has control characters")
	}

	return nil
}

func audienceOf(value any) ([]string, bool) {
	switch value := value.(type) {
	case string:
		return []string{value}, value != ""
	case []any:
		audience, ok := stringsOf(value)
		return audience, ok && len(audience) > 0 && !slices.Contains(audience, "")
	}

	return nil, false
}

func hasControl(s string) bool {
	return !oneline.Is(s)
}
