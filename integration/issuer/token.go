package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const (
	// defaultTTL is long enough to read the demo's tokens and use them by hand.
	defaultTTL = time.Hour

	defaultType      = "at+jwt" // RFC 9068 §2.1
	defaultAlgorithm = ES256
	defaultClient    = "demo"
)

// Grant says what a token shall claim. Its zero value gives a well-formed token
// for nobody in particular; nothing in it is checked, since wrong tokens are half
// of what an issuer for tests is for.
type Grant struct {
	Subject  string        // "sub", left out if empty
	Audience []string      // "aud": a string if one, an array if several, left out if none
	Scopes   []string      // "scope", separated by spaces, left out if none
	TTL      time.Duration // "exp" after now; zero means an hour, negative is expired
	Type     string        // "typ"; default "at+jwt"

	// Algorithm is RS256, ES256 or EdDSA. Default: that of KeyID, or ES256.
	Algorithm string
	// KeyID is the signing key. Default: the newest published of the algorithm.
	KeyID string

	// Claims are added last and replace claims of the same name. A nil value
	// removes the claim: {"exp": nil} makes a token that never says when it ends.
	Claims map[string]any
	// Header does the same for the header: {"kid": nil}, {"alg": "none"}. It
	// changes what the header says, not how the token is signed.
	Header map[string]any
}

// Issue returns a signed token in compact form. It fails if there is no such key
// or if a claim cannot be written as JSON.
func (i *Issuer) Issue(g Grant) (string, error) {
	alg := g.Algorithm
	if alg == "" && g.KeyID == "" {
		alg = defaultAlgorithm
	}

	i.mu.Lock()
	k, err := i.signingKeyLocked(g.KeyID, alg)
	var signer key
	if err == nil {
		signer = *k // Replace may change it while we sign
	}
	i.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("issuing token: %w", err)
	}

	header := map[string]any{"alg": signer.alg, "kid": signer.id, "typ": defaultType}
	if g.Type != "" {
		header["typ"] = g.Type
	}
	override(header, g.Header)

	claims := i.claims(g, time.Now())
	override(claims, g.Claims)

	signed, err := signingInput(header, claims)
	if err != nil {
		return "", fmt.Errorf("issuing token: %w", err)
	}

	signature, err := signer.sign([]byte(signed))
	if err != nil {
		return "", fmt.Errorf("issuing token: %w", err)
	}

	return signed + "." + encode(signature), nil
}

// claims are the claims of RFC 9068 §2.2 for a grant.
func (i *Issuer) claims(g Grant, now time.Time) map[string]any {
	ttl := g.TTL
	if ttl == 0 {
		ttl = defaultTTL
	}

	claims := map[string]any{
		"iss":       i.url,
		"client_id": defaultClient,
		"iat":       now.Unix(),
		"exp":       now.Add(ttl).Unix(),
		"jti":       rand.Text(),
	}
	if g.Subject != "" {
		claims["sub"] = g.Subject
	}
	switch len(g.Audience) {
	case 0:
	case 1:
		claims["aud"] = g.Audience[0]
	default:
		claims["aud"] = g.Audience
	}
	if len(g.Scopes) > 0 {
		claims["scope"] = strings.Join(g.Scopes, " ")
	}

	return claims
}

func override(members, with map[string]any) {
	for name, value := range with {
		if value == nil {
			delete(members, name)
			continue
		}
		members[name] = value
	}
}

// signingInput is what a signature covers (RFC 7515 §5.1).
func signingInput(header, claims map[string]any) (string, error) {
	h, err := json.Marshal(header)
	if err != nil {
		return "", fmt.Errorf("encoding header: %w", err)
	}

	c, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("encoding claims: %w", err)
	}

	return encode(h) + "." + encode(c), nil
}

// sign returns the signature in the form RFC 7518 §3 and RFC 8037 ask for.
func (k *key) sign(message []byte) ([]byte, error) {
	digest := sha256.Sum256(message)

	switch private := k.private.(type) {
	case *rsa.PrivateKey:
		return rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, digest[:])
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
		if err != nil {
			return nil, err
		}
		// Not ASN.1: R and S, each filled up to the size of the curve.
		const size = 32
		signature := make([]byte, 2*size)
		r.FillBytes(signature[:size])
		s.FillBytes(signature[size:])

		return signature, nil
	case ed25519.PrivateKey:
		return ed25519.Sign(private, message), nil
	}

	return nil, fmt.Errorf("key %q cannot sign", k.id)
}
