package issuer

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// Names of RFC 8693 §2.1 and §3.
const (
	exchangeGrant   = "urn:ietf:params:oauth:grant-type:token-exchange"
	tokenTypePrefix = "urn:ietf:params:oauth:token-type:" //nolint:gosec // a name, not a credential
)

// exchangedTTL bounds the life of exchanged tokens, which also end with the token
// they were made from.
const exchangedTTL = 5 * time.Minute

// exchange is the answer to a token exchange (RFC 8693 §2.2): a JWT for the
// audiences and resources asked for, with the subject of the token given and at
// most its scopes. "client_id" and "act" name the client that asked.
func (i *Issuer) exchange(form url.Values, client string) (map[string]any, error) {
	if form.Get("grant_type") != exchangeGrant {
		return nil, badRequest("unsupported_grant_type")
	}
	if t := form.Get("subject_token_type"); t != tokenTypePrefix+"access_token" && t != tokenTypePrefix+"jwt" {
		return nil, badRequest("invalid_request")
	}
	issued := form.Get("requested_token_type")
	switch issued {
	case "":
		issued = tokenTypePrefix + "access_token"
	case tokenTypePrefix + "access_token", tokenTypePrefix + "jwt":
	default:
		return nil, badRequest("invalid_request")
	}

	now := time.Now()
	claims := i.activeClaims(form.Get("subject_token"), now)
	if claims == nil {
		return nil, badRequest("invalid_request") // RFC 8693 §2.2.2
	}
	target := slices.Concat(form["audience"], form["resource"])
	if len(target) == 0 {
		return nil, badRequest("invalid_target")
	}
	granted := scopesOf(claims)
	scopes := granted
	if asked := strings.Fields(form.Get("scope")); len(asked) > 0 {
		scopes = asked
	}
	for _, scope := range scopes {
		if !slices.Contains(granted, scope) {
			return nil, badRequest("invalid_scope")
		}
	}

	ttl := exchangedTTL
	if end, ok := seconds(claims["exp"]); ok {
		ttl = min(ttl, time.Unix(end, 0).Sub(now).Truncate(time.Second))
	}
	subject, _ := claims["sub"].(string)
	token, err := i.Issue(Grant{
		Subject: subject, Audience: target, Scopes: scopes, TTL: max(ttl, time.Second),
		Claims: map[string]any{"client_id": client, "act": map[string]any{"sub": client}},
	})
	if err != nil {
		return nil, err
	}

	return map[string]any{
		"access_token":      token,
		"issued_token_type": issued,
		"token_type":        "Bearer",
		"expires_in":        int64(max(ttl, time.Second) / time.Second),
		"scope":             strings.Join(scopes, " "),
	}, nil
}

// scopesOf reads "scope" in the forms that grants give it.
func scopesOf(claims map[string]any) []string {
	switch scope := claims["scope"].(type) {
	case string:
		return strings.Fields(scope)
	case []string:
		return scope
	}

	return nil
}
