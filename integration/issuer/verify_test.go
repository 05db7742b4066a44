package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
)

type keySet struct {
	Keys []jwk `json:"keys"`
}

// verify checks a token against a published key set with the standard library
// alone and returns its header and claims.
func verify(t *testing.T, set keySet, token string) (header, claims map[string]any, err error) {
	t.Helper()

	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("token %q is not compact", token)
	}
	for i, to := range []*map[string]any{&header, &claims} {
		if err := json.Unmarshal(decode(t, parts[i]), to); err != nil {
			t.Fatal(err)
		}
	}

	message, signature := []byte(parts[0]+"."+parts[1]), decode(t, parts[2])
	i := slices.IndexFunc(set.Keys, func(k jwk) bool { return k.ID == header["kid"] })
	if i < 0 {
		return header, claims, fmt.Errorf("key %v is not published", header["kid"])
	}
	if !verifies(t, set.Keys[i], message, signature) {
		return header, claims, fmt.Errorf("the signature is not by key %v", header["kid"])
	}

	return header, claims, nil
}

func verifies(t *testing.T, k jwk, message, signature []byte) bool {
	t.Helper()

	digest := sha256.Sum256(message)
	switch k.KeyType + " " + k.Algorithm + k.Curve {
	case "RSA RS256":
		n := new(big.Int).SetBytes(decode(t, k.N))
		e := new(big.Int).SetBytes(decode(t, k.E))
		if n.BitLen() != 2048 {
			t.Errorf("key %s has %d bits", k.ID, n.BitLen())
		}

		return rsa.VerifyPKCS1v15(&rsa.PublicKey{N: n, E: int(e.Int64())}, crypto.SHA256, digest[:], signature) == nil
	case "EC ES256P-256":
		x, y := decode(t, k.X), decode(t, k.Y)
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
		if err != nil || len(signature) != 64 {
			t.Errorf("key %s: %v, signature of %d bytes", k.ID, err, len(signature))
			return false
		}
		r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])

		return ecdsa.Verify(public, digest[:], r, s)
	case "OKP EdDSAEd25519":
		return ed25519.Verify(decode(t, k.X), message, signature)
	}
	t.Errorf("key %+v is of no known kind", k)

	return false
}

func decode(t *testing.T, s string) []byte {
	t.Helper()

	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		t.Fatalf("decoding %q: %v", s, err)
	}

	return b
}
