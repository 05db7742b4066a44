package issuer

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"strings"
	"time"
)

// IssueOpaque returns a token that says nothing by itself; introspection answers
// what [Issuer.Issue] would have written into it. Type, Algorithm, KeyID and
// Header of the grant do not count.
func (i *Issuer) IssueOpaque(g Grant) (string, error) {
	claims := i.claims(g, time.Now())
	override(claims, g.Claims)
	if _, err := json.Marshal(claims); err != nil {
		return "", fmt.Errorf("issuing token: %w", err)
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	token := "opaque_" + rand.Text()
	i.opaque[token] = claims

	return token, nil
}

// Revoke makes introspection and exchange refuse a token of either kind.
func (i *Issuer) Revoke(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()

	i.revoked[token] = true
}

// introspect is the answer about a token (RFC 7662 §2.2).
func (i *Issuer) introspect(form url.Values) (map[string]any, error) {
	token := form.Get("token")
	if token == "" {
		return nil, badRequest("invalid_request")
	}
	claims := i.activeClaims(token, time.Now())
	if claims == nil {
		return map[string]any{"active": false}, nil
	}

	answer := map[string]any{"active": true, "token_type": "Bearer"}
	maps.Copy(answer, claims)

	return answer, nil
}

// activeClaims returns what a token says, or nil unless it is one of ours and
// neither expired nor revoked.
func (i *Issuer) activeClaims(token string, now time.Time) map[string]any {
	i.mu.Lock()
	defer i.mu.Unlock()

	claims := i.opaque[token]
	if claims == nil {
		claims = i.signedClaimsLocked(token)
	}
	if claims == nil || i.revoked[token] {
		return nil
	}
	if end, ok := seconds(claims["exp"]); ok && now.Unix() >= end {
		return nil
	}

	return claims
}

// seconds reads a number that was put into a map by us, or by a JSON parser.
func seconds(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	}

	return 0, false
}

// signedClaimsLocked returns the claims of a JWT that one of our published keys
// has signed.
func (i *Issuer) signedClaimsLocked(token string) map[string]any {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	var raw [3][]byte
	for n, part := range parts {
		var err error
		if raw[n], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return nil
		}
	}

	var header struct{ Alg, Kid string }
	if json.Unmarshal(raw[0], &header) != nil {
		return nil
	}
	k, err := i.signingKeyLocked(header.Kid, header.Alg)
	if err != nil || k.retired || !k.signed([]byte(parts[0]+"."+parts[1]), raw[2]) {
		return nil
	}

	var claims map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw[1]))
	dec.UseNumber()
	if dec.Decode(&claims) != nil {
		return nil
	}

	return claims
}

// signed is the reverse of sign.
func (k *key) signed(message, signature []byte) bool {
	digest := sha256.Sum256(message)

	switch public := k.private.Public().(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], signature) == nil
	case *ecdsa.PublicKey:
		half := len(signature) / 2
		r, s := new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:])
		return len(signature) == 64 && ecdsa.Verify(public, digest[:], r, s)
	case ed25519.PublicKey:
		return ed25519.Verify(public, message, signature)
	}

	return false
}
