package token

import (
	"crypto"
	"fmt"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/lestrrat-go/jwx/v2/jws"
)

// This file is the only one that knows the JOSE library. It is asked for two
// things, both on input that has been checked before, so that moving to its
// next major version is a change of this file alone.

// parseJWK turns one JWK that holds nothing but public members into a key.
func parseJWK(data []byte) (crypto.PublicKey, error) {
	key, err := jwk.ParseKey(data)
	if err != nil {
		return nil, fmt.Errorf("parsing key: %w", err)
	}

	var raw any
	if err := key.Raw(&raw); err != nil {
		return nil, fmt.Errorf("converting key: %w", err)
	}

	return raw, nil
}

// verifySignature checks a signature over the signing input (RFC 7515 §5.2).
// The caller has made sure that the algorithm fits the key: the library does
// not compare an EC key's curve with the algorithm's.
func verifySignature(alg Algorithm, key crypto.PublicKey, signed, signature []byte) error {
	verifier, err := jws.NewVerifier(jwa.SignatureAlgorithm(alg))
	if err != nil {
		return fmt.Errorf("choosing verifier: %w", err)
	}
	if err := verifier.Verify(signed, signature, key); err != nil {
		return fmt.Errorf("verifying signature: %w", err)
	}

	return nil
}
