package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"
	"slices"
)

// Algorithm is a JWS signature algorithm (RFC 7518 §3, RFC 8037 §3.1). Only
// asymmetric ones exist here: whoever can check a token must not thereby be
// able to make one, and "none" is no algorithm.
type Algorithm string

// The algorithms that may be configured.
const (
	RS256 Algorithm = "RS256"
	RS384 Algorithm = "RS384"
	RS512 Algorithm = "RS512"
	PS256 Algorithm = "PS256"
	PS384 Algorithm = "PS384"
	PS512 Algorithm = "PS512"
	ES256 Algorithm = "ES256"
	ES384 Algorithm = "ES384"
	ES512 Algorithm = "ES512"
	EdDSA Algorithm = "EdDSA"
)

var allAlgorithms = []Algorithm{RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA}

// DefaultAlgorithms returns what an issuer may use unless configured
// otherwise.
func DefaultAlgorithms() []Algorithm { return []Algorithm{RS256, ES256, EdDSA, PS256} }

// ParseAlgorithm returns the algorithm of that exact name; names are
// case-sensitive (RFC 7515 §4.1.1).
func ParseAlgorithm(name string) (Algorithm, error) {
	if a := Algorithm(name); slices.Contains(allAlgorithms, a) {
		return a, nil
	}
	return "", fmt.Errorf("unsupported signature algorithm %q (one of %q)", shorten(name), allAlgorithms)
}

// fits reports whether a key of this type, and for EC of this curve, is the
// kind of key the algorithm is defined for. It is what keeps an EC or Ed25519
// key from being tried under an RSA name and the other way round.
func (a Algorithm) fits(key crypto.PublicKey) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return a != "" && (a[0] == 'R' || a[0] == 'P')
	case *ecdsa.PublicKey:
		switch key.Curve.Params().BitSize {
		case 256:
			return a == ES256
		case 384:
			return a == ES384
		case 521:
			return a == ES512
		}
	case ed25519.PublicKey:
		return a == EdDSA
	}

	return false
}
