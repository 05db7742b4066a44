package token

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// exchangeMargin is how long before its end an exchanged token is replaced,
	// but at most a quarter of its life.
	exchangeMargin = 30 * time.Second
	// unknownLifetimeTTL is how long one without "expires_in" is used.
	unknownLifetimeTTL = 30 * time.Second
	// maxExchangedTTL bounds how long any is.
	maxExchangedTTL = time.Hour
	// maxLifetime is a year in seconds: more is not looked at.
	maxLifetime = 366 * 24 * 60 * 60
)

// UpstreamToken is a token for the upstream. It prints without the token.
type UpstreamToken struct {
	// Token is a b64token (RFC 6750 §2.1), to be sent as a bearer token.
	Token string
	// Type is AccessTokenType or JWTType.
	Type string
	// Expiry is zero if the server does not tell.
	Expiry time.Time
	// Scopes are those granted; nil if they are the ones asked for.
	Scopes []string
}

func (t UpstreamToken) String() string {
	return fmt.Sprintf("upstream token of type %q until %s for scopes %q", t.Type, t.Expiry.UTC().Format(time.RFC3339), t.Scopes)
}

// GoString keeps the token out of %#v too.
func (t UpstreamToken) GoString() string { return t.String() }

// readExchange reads the answer to a token exchange (RFC 8693 §2.2.1) that was
// asked for at a time. The error is a *callError: an answer that cannot be
// used says nothing about the caller. A refresh token in it is dropped.
func readExchange(body []byte, callers, requested string, asked time.Time) (kept[*UpstreamToken], error) {
	unusable := func(format string, args ...any) (kept[*UpstreamToken], error) {
		return kept[*UpstreamToken]{}, &callError{
			reason: "the answer cannot be used: " + fmt.Sprintf(format, args...), status: http.StatusOK,
		}
	}

	raw, err := strict.Object(body)
	if err != nil {
		return unusable("%v", err)
	}
	t := &UpstreamToken{}
	t.Token, _ = raw["access_token"].(string)
	switch {
	case len(t.Token) > MaxTokenBytes || !isB64Token(t.Token):
		return unusable("\"access_token\" is missing or not a bearer token of at most 16 KiB")
	case t.Token == callers:
		// Passing it on is what the exchange is to avoid.
		return unusable("it holds the caller's own token")
	}
	if use, _ := raw["token_type"].(string); !strings.EqualFold(use, "Bearer") {
		return unusable("\"token_type\" is not Bearer")
	}
	t.Type, _ = raw["issued_token_type"].(string)
	switch {
	case t.Type != AccessTokenType && t.Type != JWTType:
		return unusable("\"issued_token_type\" is neither %s nor %s", AccessTokenType, JWTType)
	case requested != "" && t.Type != requested:
		return unusable("\"issued_token_type\" is not the requested %s", requested)
	}
	if t.Scopes, err = scopesOf(map[string]any{"scope": scopeOrNone(raw)}); err != nil {
		return unusable("%v", err)
	}

	ttl := unknownLifetimeTTL
	if value, ok := raw["expires_in"]; ok {
		seconds, ok := value.(int64)
		if !ok || seconds <= 0 {
			return unusable("\"expires_in\" is not a positive number of seconds")
		}
		life := time.Duration(min(seconds, maxLifetime)) * time.Second
		t.Expiry = asked.Add(life)
		ttl = min(life-min(exchangeMargin, life/4), maxExchangedTTL)
	}

	return kept[*UpstreamToken]{value: t, until: asked.Add(ttl), size: len(body)}, nil
}

// scopeOrNone takes a missing "scope" for an empty one.
func scopeOrNone(raw map[string]any) any {
	if scope, ok := raw["scope"]; ok {
		return scope
	}

	return ""
}
