package token

import (
	"encoding/base64"
	"strings"
	"time"
)

// GivenClaims reads claims that nobody has signed, to find out what a token with
// them would do. It must not be used to let anybody in. What a token needs and
// says little about its holder may be left out: "iss" is then the given issuer,
// "aud" and "exp" are made up. Errors are *[Error] of kind [InvalidToken].
func GivenClaims(payload []byte, issuer string) (*Claims, error) {
	raw, err := strict.Object(payload)
	if err != nil {
		return nil, refuse("reading the claims: %v", err)
	}
	for name, value := range map[string]any{
		"iss": issuer, "aud": "given", "exp": time.Now().Add(time.Hour).Unix(),
	} {
		if _, ok := raw[name]; !ok && value != "" {
			raw[name] = value
		}
	}
	return claimsOf(raw)
}

// UnverifiedPayload returns what a JWT claims, before anybody has looked at its
// signature, and nil for other tokens. It is a hint and never a proof.
func UnverifiedPayload(raw string) []byte {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	return payload
}
