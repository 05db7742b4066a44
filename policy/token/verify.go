package token

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"
)

// Verify judges a token and returns its claims, which are shared and must not
// be changed. If audiences are given they replace the configured ones, for
// resources whose name depends on the request.
//
// It waits, for at most 3 seconds, only for signing keys that are not there.
// The error is always an *Error, of kind InvalidToken or Unavailable.
func (v *Verifier) Verify(ctx context.Context, token string, audiences ...string) (*Claims, error) {
	if len(token) > MaxTokenBytes {
		return nil, refuse("the token is longer than 16 KiB")
	}

	key := hashToken(token)
	entry, hit := v.remembered(key)
	if !hit {
		var err error
		if entry, err = v.verify(ctx, token); err != nil {
			return nil, err
		}
	}

	if len(audiences) == 0 {
		audiences = entry.issuer.audiences
	}
	for _, audience := range entry.claims.Audience {
		if slices.Contains(audiences, audience) {
			if !hit {
				v.cache.put(key, entry, v.now())
			}
			return entry.claims, nil
		}
	}

	return nil, mismatch("aud", entry.issuer.name, entry.claims.Audience, audiences)
}

// remembered returns the token's entry if everything but its signature, judged
// again, is still as it was.
func (v *Verifier) remembered(key [sha256.Size]byte) (*verified, bool) {
	entry := v.cache.get(key)
	if entry == nil || !v.now().Before(entry.until) {
		return nil, false
	}
	s := entry.issuer.keys.usable()
	if s == nil || s.generation != entry.generation || v.checkTimes(entry.claims) != nil {
		return nil, false
	}

	return entry, true
}

// verify judges everything but the audience. What costs nothing comes first:
// an expired token, or one of a stranger, must not be able to cause a fetch.
// The type comes last, because only a signed token is worth a hint.
func (v *Verifier) verify(ctx context.Context, token string) (*verified, error) {
	t, err := parseCompact(token)
	if err != nil {
		return nil, err
	}
	claims, err := mapClaims(t.payload)
	if err != nil {
		return nil, err
	}
	is, err := v.issuerOf(claims)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(is.algorithms, t.alg) {
		return nil, refuse("algorithm %s is not allowed for issuer %q (allowed: %q)", t.alg, is.name, is.algorithms)
	}
	if err := v.checkTimes(claims); err != nil {
		return nil, err
	}

	generation, err := is.checkSignature(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := is.checkType(t.typ); err != nil {
		return nil, err
	}

	return &verified{
		claims:     claims,
		issuer:     is,
		generation: generation,
		until:      v.now().Add(maxCacheTTL),
		size:       len(token),
	}, nil
}

func (v *Verifier) issuerOf(claims *Claims) (*issuer, error) {
	if is, ok := v.issuers[claims.Issuer]; ok {
		return is, nil
	}
	for name := range v.issuers {
		if strings.TrimSuffix(name, "/") == strings.TrimSuffix(claims.Issuer, "/") {
			return nil, refuse("issuer %q differs from the configured %q by a final slash", claims.Issuer, name)
		}
	}

	return nil, refuse("issuer %q is not configured", shorten(claims.Issuer))
}

// checkTimes judges the claims of RFC 7519 §4.1.4 to §4.1.6.
func (v *Verifier) checkTimes(c *Claims) error {
	now := v.now()
	switch {
	case !now.Before(c.Expiry.Add(v.leeway)):
		return refuse("the token expired at %s", c.Expiry.UTC().Format(time.RFC3339))
	case c.NotBefore.After(now.Add(v.leeway)):
		return refuse("the token is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	case c.IssuedAt.After(now.Add(v.leeway)):
		return refuse("the token was issued in the future, at %s", c.IssuedAt.UTC().Format(time.RFC3339))
	case v.maxTokenAge == 0:
		return nil
	case c.IssuedAt.IsZero():
		return refuse("\"iat\" is missing, and a longest token age is configured")
	case now.Sub(c.IssuedAt) > v.maxTokenAge+v.leeway:
		return refuse("the token was issued at %s, longer than %s ago", c.IssuedAt.UTC().Format(time.RFC3339), v.maxTokenAge)
	}

	return nil
}

// checkSignature returns the generation of the keys that verified the token.
func (is *issuer) checkSignature(ctx context.Context, t *compactToken) (uint64, error) {
	keys, s, err := is.keys.find(ctx, t.kid, t.alg)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			e.Reason = "issuer " + is.name + ": " + e.Reason
			return 0, e
		}
		return 0, refuse("issuer %q: %v", is.name, err)
	}
	if t.signedByOne(keys) {
		return s.generation, nil
	}

	if keys, s = is.keys.findAfter(ctx, s.generation, t.kid, t.alg); t.signedByOne(keys) {
		return s.generation, nil
	}

	return 0, refuse("the signature is not by key %q of issuer %q", t.kid, is.name)
}

func (t *compactToken) signedByOne(keys []*publicKey) bool {
	for _, k := range keys {
		if verifySignature(t.alg, k.key, t.signed, t.signature) == nil {
			return true
		}
	}

	return false
}

func (is *issuer) checkType(typ string) error {
	want := "at+jwt"
	switch is.tokenType {
	case TypeAny:
		return nil
	case TypeJWT:
		want = "JWT"
	}
	if strings.EqualFold(bareType(typ), want) {
		return nil
	}

	var seen []string
	if typ != "" {
		seen = []string{typ}
	}

	return mismatch("typ", is.name, seen, []string{want})
}

// bareType drops "application/", which may be left out if no other slash
// follows (RFC 7515 §4.1.9).
func bareType(typ string) string {
	const prefix = "application/"
	if len(typ) > len(prefix) && strings.EqualFold(typ[:len(prefix)], prefix) && !strings.Contains(typ[len(prefix):], "/") {
		return typ[len(prefix):]
	}

	return typ
}
