package token

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// readIntrospection reads an answer about a token (RFC 7662 §2.2). The error is
// a *callError if the answer cannot be understood, and an *Error of kind
// InvalidToken if the token is not active or not one that opens a resource.
// Times and audience are left to the caller: "aud" may be missing.
func readIntrospection(body []byte, issuer string, now time.Time) (*Claims, error) {
	raw, err := strict.Object(body)
	if err != nil {
		return nil, &callError{reason: fmt.Sprintf("reading the answer: %v", err), status: http.StatusOK}
	}
	active, ok := raw["active"].(bool)
	if !ok {
		return nil, &callError{reason: "the answer does not say \"active\": true or false", status: http.StatusOK}
	}
	if !active {
		return nil, refuse("issuer %q says that the token is not active", issuer)
	}

	if iss, ok := raw["iss"]; ok && iss != issuer {
		text, _ := iss.(string)
		return nil, refuse("the token is of issuer %q, asked was %q", shorten(text), issuer)
	}
	if err := checkTokenUse(raw); err != nil {
		return nil, err
	}

	c := &Claims{Issuer: issuer, Raw: raw}
	if c.Subject, ok = raw["sub"].(string); !ok {
		return nil, refuse("\"sub\" is missing or not a string")
	}
	if err := checkSubject(c.Subject); err != nil {
		return nil, err
	}
	if c.Audience, ok = optionalAudience(raw["aud"]); !ok {
		return nil, refuse("\"aud\" is neither a string nor an array of strings")
	}
	if c.ID, ok = optionalString(raw, "jti"); !ok || hasControl(c.ID) {
		return nil, refuse("\"jti\" is not a string, empty, or has control characters")
	}
	if c.ClientID, ok = optionalString(raw, "client_id"); !ok || hasControl(c.ClientID) {
		return nil, refuse("\"client_id\" is not a string, empty, or has control characters")
	}
	if _, ok := raw["exp"]; !ok {
		c.Expiry = now.Add(assumedLifetime) // "exp" is optional here
	}
	if err := c.readDates(); err != nil {
		return nil, err
	}
	if c.Scopes, err = scopesOf(raw); err != nil {
		return nil, refuse("%v", err)
	}

	return c, nil
}

// optionalAudience is empty if there is no audience, however that is written.
func optionalAudience(value any) ([]string, bool) {
	if list, ok := value.([]any); value == nil || ok && len(list) == 0 {
		return nil, true
	}

	return audienceOf(value)
}

// checkTokenUse refuses what is active without being an access token. A server
// answers for its refresh tokens too (RFC 7662 §2.1), and neither they nor
// tokens bound to a key (RFC 9449) may be used as a bearer token.
func checkTokenUse(raw map[string]any) error {
	for _, rule := range []struct {
		member string
		allow  []string // or anything but
		refuse []string
	}{
		// RFC 7662 §2.2; the second is what some servers write.
		{member: "token_type", allow: []string{"bearer", "access_token"}},
		// Common extensions.
		{member: "token_use", allow: []string{"access_token", "access"}},
		{member: "typ", refuse: []string{"refresh", "offline", "id"}},
	} {
		value, ok := raw[rule.member]
		if !ok {
			continue
		}
		text, ok := value.(string)
		if !ok || rule.allow != nil && !containsFold(rule.allow, text) || containsFold(rule.refuse, text) {
			return refuse("the token is no access token for use as a bearer token: %q is %q", rule.member, shorten(text))
		}
	}

	return nil
}

func containsFold(list []string, s string) bool {
	for _, entry := range list {
		if strings.EqualFold(entry, s) {
			return true
		}
	}

	return false
}
