package token

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Checker judges tokens of every form: JWTs of the Verifier's issuers by their
// signature, other tokens by asking servers about them. It is safe for
// concurrent use.
//
// The form of a token decides, and nothing about it is tried twice: a JWT of an
// issuer with configured keys never goes to an Introspector, however badly it is
// signed, and neither does anything else that looks like a JWT, unless an
// Introspector is configured to take the JWTs of just that issuer. An encrypted
// JWT shows nothing and counts as opaque.
type Checker struct {
	verifier      *Verifier
	introspectors []*Introspector
}

// NewChecker combines a Verifier, which may be nil, with Introspectors, each of
// another issuer. An opaque token does not say whose it is: if there are
// several, they are asked in this order until one knows it, so that each of them
// sees tokens of those behind it.
func NewChecker(verifier *Verifier, introspectors ...*Introspector) (*Checker, error) {
	if verifier == nil && len(introspectors) == 0 {
		return nil, errors.New("neither issuers nor introspection endpoints are configured")
	}

	seen := make(map[string]bool)
	for _, in := range introspectors {
		if seen[in.issuer] {
			return nil, fmt.Errorf("introspection for issuer %q is configured twice", in.issuer)
		}
		seen[in.issuer] = true
		if in.jwts && verifier != nil && verifier.issuers[in.issuer] != nil {
			return nil, fmt.Errorf("the JWTs of issuer %q are either verified by its keys or introspected, not both", in.issuer)
		}
	}

	return &Checker{verifier: verifier, introspectors: slices.Clone(introspectors)}, nil
}

// Close closes the Verifier and the Introspectors.
func (c *Checker) Close() {
	if c.verifier != nil {
		c.verifier.Close()
	}
	for _, in := range c.introspectors {
		in.Close()
	}
}

// Verify judges a token as Verifier.Verify and Introspector.Verify do.
func (c *Checker) Verify(ctx context.Context, token string, audiences ...string) (*Claims, error) {
	switch {
	case len(token) > MaxTokenBytes:
		return nil, refuse("the token is longer than 16 KiB")
	case len(c.introspectors) == 0:
		return c.verifier.Verify(ctx, token, audiences...)
	case !looksLikeJWT(token):
		return c.ask(ctx, token, audiences)
	}

	if in := c.introspectorOf(token); in != nil {
		return in.Verify(ctx, token, audiences...)
	}
	if c.verifier == nil {
		return nil, refuse("the token is a JWT, and JWTs of its issuer are not accepted")
	}

	return c.verifier.Verify(ctx, token, audiences...)
}

// introspectorOf returns the Introspector that takes a JWT, or nil.
func (c *Checker) introspectorOf(token string) *Introspector {
	if !slices.ContainsFunc(c.introspectors, func(in *Introspector) bool { return in.jwts }) {
		return nil
	}
	payload, ok := decodeBase64URL(strings.Split(token, ".")[1])
	if !ok {
		return nil
	}
	claims, err := strict.Object(payload)
	if err != nil {
		return nil
	}
	for _, in := range c.introspectors {
		if in.jwts && claims["iss"] == in.issuer {
			return in
		}
	}

	return nil
}

// ask asks about an opaque token, first where it is known.
func (c *Checker) ask(ctx context.Context, token string, audiences []string) (*Claims, error) {
	order := c.introspectors
	if len(order) > 1 {
		key := hashToken(token)
		if i := slices.IndexFunc(order, func(in *Introspector) bool { return in.inquiries.knows(key) }); i > 0 {
			order = slices.Concat(order[i:i+1], order[:i], order[i+1:])
		}
	}

	var worst *Error
	for _, in := range order {
		claims, err := in.Verify(ctx, token, audiences...)
		if err == nil {
			return claims, nil
		}
		refused, ok := errors.AsType[*Error](err)
		if !ok {
			return nil, err
		}
		if worst == nil || weight(refused) > weight(worst) {
			worst = refused
		}
	}

	return nil, worst
}

// weight orders refusals by what they tell: a server that could not be asked may
// know the token, and one that knows it says more than one that does not.
func weight(e *Error) int {
	switch {
	case e.Kind == Unavailable:
		return 2
	case e.Mismatch != nil:
		return 1
	}

	return 0
}

// looksLikeJWT reports whether a token is meant as a signed JWT: three parts of
// which the first begins, once decoded, like a JSON object with a member. It is
// generous, because what it says no to is shown to a server that may be.
func looksLikeJWT(token string) bool {
	header, rest, _ := strings.Cut(token, ".")
	if strings.Count(rest, ".") != 1 {
		return false
	}

	header = strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(header)
	decoded, _ := base64.RawURLEncoding.DecodeString(header) // as far as it goes
	const space = " \t\r\n"
	decoded, ok := bytes.CutPrefix(bytes.TrimLeft(decoded, space), []byte("{"))

	return ok && bytes.HasPrefix(bytes.TrimLeft(decoded, space), []byte(`"`))
}
