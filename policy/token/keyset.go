package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

const (
	// maxKeySetBytes bounds a JWKS document; real ones are below 20 KiB.
	maxKeySetBytes = 1 << 20
	// maxKeys bounds the usable keys of one set; real ones have two to ten.
	maxKeys = 100
	// maxKeysPerID bounds how many signatures one token can cost. Sets do
	// repeat a kid across key types, and while rotating in place.
	maxKeysPerID = 4
	// maxRSABits bounds the cost of one RSA verification.
	minRSABits, maxRSABits = 2048, 8192
	// maxSkippedNotes bounds what Stats and Event tell of unusable keys.
	maxSkippedNotes = 10
)

// publicKey is a key that may verify tokens.
type publicKey struct {
	kid string    // "" if the set gives none
	alg Algorithm // the only one allowed, or "" for any that fits
	key crypto.PublicKey
}

// keySet is the usable part of a JWKS document. It never changes.
type keySet struct {
	keys        []*publicKey
	byID        map[string][]*publicKey
	fingerprint [sha256.Size]byte // over the usable keys, whatever their order
	skipped     []string          // why other members are not used
}

// find returns the keys that may have made a signature of this algorithm under
// this kid. A token without kid is served only if exactly one key of the set
// fits: guessing among several would hide a misconfigured issuer.
func (s *keySet) find(kid string, alg Algorithm) []*publicKey {
	candidates := s.byID[kid]
	if kid == "" {
		candidates = s.keys
	}

	var fitting []*publicKey
	for _, k := range candidates {
		if (k.alg == "" || k.alg == alg) && alg.fits(k.key) {
			fitting = append(fitting, k)
		}
	}
	if kid == "" && len(fitting) > 1 {
		return nil
	}

	return fitting
}

// parseKeySet reads a JWKS document (RFC 7517 §5). Members that cannot verify
// tokens are skipped with a note; a set without any usable key is an error, so
// that it cannot replace one that works.
func parseKeySet(data []byte) (*keySet, error) {
	document, err := strict.Object(data)
	if err != nil {
		return nil, fmt.Errorf("reading key set: %w", err)
	}
	members, ok := document["keys"].([]any)
	if !ok {
		return nil, errors.New("reading key set: \"keys\" is not an array")
	}

	s := &keySet{byID: make(map[string][]*publicKey)}
	for i, member := range members {
		key, err := usableKey(member)
		if err == nil {
			err = s.add(key)
		}
		if err != nil && len(s.skipped) < maxSkippedNotes {
			s.skipped = append(s.skipped, fmt.Sprintf("key %d: %v", i, err))
		}
	}
	if len(s.keys) == 0 {
		if len(s.skipped) > 0 {
			return nil, fmt.Errorf("the key set has no usable key (%s)", s.skipped[0])
		}
		return nil, errors.New("the key set is empty")
	}

	return s, s.seal()
}

func (s *keySet) add(key *publicKey) error {
	switch {
	case len(s.keys) == maxKeys:
		return fmt.Errorf("the set already has %d usable keys", maxKeys)
	case len(s.byID[key.kid]) == maxKeysPerID && key.kid != "":
		return fmt.Errorf("more than %d keys have the same kid", maxKeysPerID)
	}
	s.keys = append(s.keys, key)
	if key.kid != "" {
		s.byID[key.kid] = append(s.byID[key.kid], key)
	}

	return nil
}

// seal computes the fingerprint by which a refetched set is recognised.
func (s *keySet) seal() error {
	prints := make([][]byte, 0, len(s.keys))
	for _, k := range s.keys {
		der, err := x509.MarshalPKIXPublicKey(k.key)
		if err != nil {
			return fmt.Errorf("encoding key: %w", err)
		}
		print := binary.AppendUvarint(nil, uint64(len(k.kid)))
		print = append(print, k.kid...)
		print = binary.AppendUvarint(print, uint64(len(k.alg)))
		print = append(print, k.alg...)
		print = binary.AppendUvarint(print, uint64(len(der)))
		prints = append(prints, append(print, der...))
	}
	slices.SortFunc(prints, slices.Compare)
	s.fingerprint = sha256.Sum256(slices.Concat(prints...))

	return nil
}

// publicMembers are the JWK members that make up a public key (RFC 7518 §6,
// RFC 8037 §2). Only these reach the JOSE library.
var publicMembers = map[string][]string{
	"RSA": {"n", "e"},
	"EC":  {"crv", "x", "y"},
	"OKP": {"crv", "x"},
}

func usableKey(member any) (*publicKey, error) {
	jwk, ok := member.(map[string]any)
	if !ok {
		return nil, errors.New("not an object")
	}
	kty, _ := jwk["kty"].(string)
	names, ok := publicMembers[kty]
	if !ok {
		return nil, fmt.Errorf("key type %q is not used here", shorten(kty))
	}
	// Whoever read the document can sign with such a key.
	if _, private := jwk["d"]; private {
		return nil, errors.New("a private key is published")
	}
	if err := checkUse(jwk); err != nil {
		return nil, err
	}

	kid, ok := optionalString(jwk, "kid")
	if !ok || len(kid) > maxKeyIDBytes || hasControl(kid) {
		return nil, fmt.Errorf("\"kid\" is not a string of 1 to %d bytes without control characters", maxKeyIDBytes)
	}
	key, err := keyOf(jwk, kty, names)
	if err != nil {
		return nil, err
	}
	alg, err := algorithmOf(jwk, key)
	if err != nil {
		return nil, err
	}

	return &publicKey{kid: kid, alg: alg, key: key}, nil
}

// checkUse honours "use" and "key_ops" (RFC 7517 §4.2, §4.3).
func checkUse(jwk map[string]any) error {
	if use, present := jwk["use"]; present && use != "sig" {
		return errors.New("\"use\" is not \"sig\"")
	}
	value, present := jwk["key_ops"]
	if !present {
		return nil
	}
	ops, ok := value.([]any)
	if !ok {
		return errors.New("\"key_ops\" is not an array")
	}
	if len(ops) > 0 && !slices.Contains(ops, any("verify")) {
		return errors.New("\"key_ops\" does not hold \"verify\"")
	}

	return nil
}

func keyOf(jwk map[string]any, kty string, names []string) (crypto.PublicKey, error) {
	public := map[string]string{"kty": kty}
	for _, name := range names {
		value, ok := jwk[name].(string)
		if !ok {
			return nil, fmt.Errorf("%q is missing or not a string", name)
		}
		public[name] = value
	}
	if crv := public["crv"]; kty == "EC" && crv != "P-256" && crv != "P-384" && crv != "P-521" ||
		kty == "OKP" && crv != "Ed25519" {
		return nil, fmt.Errorf("curve %q is not used here", shorten(crv))
	}

	data, err := json.Marshal(public)
	if err != nil {
		return nil, fmt.Errorf("encoding key: %w", err)
	}
	key, err := parseJWK(data)
	if err != nil {
		return nil, err
	}

	return key, checkKey(key)
}

// checkKey refuses keys that are weak, off their curve, or so large that a
// verification would be a denial of service.
func checkKey(key crypto.PublicKey) error {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return fmt.Errorf("RSA key of %d bits, need %d to %d", bits, minRSABits, maxRSABits)
		}
		if key.E < 3 || key.E%2 == 0 || key.N.Bit(0) == 0 {
			return errors.New("RSA key with an even modulus or a bad exponent")
		}
	case *ecdsa.PublicKey:
		if _, err := key.ECDH(); err != nil {
			return errors.New("EC key that is not on its curve")
		}
	case ed25519.PublicKey:
		if len(key) != ed25519.PublicKeySize {
			return fmt.Errorf("Ed25519 key of %d bytes", len(key))
		}
	}

	return nil
}

// algorithmOf returns the algorithm a key is limited to by "alg" (RFC 7517
// §4.4). "Ed25519" is the fully specified name of EdDSA (RFC 9864 §2.2).
func algorithmOf(jwk map[string]any, key crypto.PublicKey) (Algorithm, error) {
	name, ok := optionalString(jwk, "alg")
	if !ok {
		return "", errors.New("\"alg\" is empty or not a string")
	}
	if name == "" {
		return "", nil
	}
	if name == "Ed25519" {
		name = string(EdDSA)
	}
	alg, err := ParseAlgorithm(name)
	if err != nil {
		return "", err
	}
	if !alg.fits(key) {
		return "", fmt.Errorf("\"alg\" %s does not fit the key", alg)
	}

	return alg, nil
}
