package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// The algorithms a key can be made for.
const (
	RS256 = "RS256" // RSA, 2048 bits
	ES256 = "ES256" // P-256
	EdDSA = "EdDSA" // Ed25519
)

var algorithms = []string{RS256, ES256, EdDSA}

// key is one signing key.
type key struct {
	id      string
	alg     string
	private crypto.Signer
	retired bool // no longer published, though it can still sign
}

// jwk is a public key as RFC 7517 writes it.
type jwk struct {
	KeyType   string `json:"kty"`
	Use       string `json:"use"`
	ID        string `json:"kid"`
	Algorithm string `json:"alg"`
	Curve     string `json:"crv,omitempty"`
	N         string `json:"n,omitempty"`
	E         string `json:"e,omitempty"`
	X         string `json:"x,omitempty"`
	Y         string `json:"y,omitempty"`
}

// Rotate makes a new key for RS256, ES256 or EdDSA and returns its id. From now
// on it signs; the keys before it stay published until they are retired.
func (i *Issuer) Rotate(alg string) (kid string, err error) {
	private, err := generate(alg)
	if err != nil {
		return "", err
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	i.serial++
	kid = fmt.Sprintf("%s-%d", strings.ToLower(alg), i.serial)
	i.keys = append(i.keys, &key{id: kid, alg: alg, private: private})

	return kid, nil
}

// Retire takes a key out of the published set. A [Grant] that names it is still
// signed, which is how a test gets a token of a withdrawn key.
func (i *Issuer) Retire(kid string) error {
	i.mu.Lock()
	defer i.mu.Unlock()

	k, err := i.keyLocked(kid)
	if err != nil {
		return err
	}
	k.retired = true

	return nil
}

// Replace puts new key material under the id of a published key, as careless
// issuers do. Tokens signed before no longer verify.
func (i *Issuer) Replace(kid string) error {
	i.mu.Lock()
	defer i.mu.Unlock()

	k, err := i.keyLocked(kid)
	if err != nil {
		return err
	}
	if k.retired {
		return fmt.Errorf("replacing key %q: it is retired: %w", kid, ErrUnknownKey)
	}

	k.private, err = generate(k.alg)

	return err
}

// KeyIDs returns the ids of the published keys of one algorithm, or of all if it
// is empty, oldest first. The last one of an algorithm signs.
func (i *Issuer) KeyIDs(alg string) []string {
	i.mu.Lock()
	defer i.mu.Unlock()

	var ids []string
	for _, k := range i.keys {
		if !k.retired && (alg == "" || k.alg == alg) {
			ids = append(ids, k.id)
		}
	}

	return ids
}

// signingKeyLocked returns the key with an id, retired or not, or without an id
// the newest published key of an algorithm.
func (i *Issuer) signingKeyLocked(kid, alg string) (*key, error) {
	if kid != "" {
		k, err := i.keyLocked(kid)
		if err != nil {
			return nil, err
		}
		if alg != "" && alg != k.alg {
			return nil, fmt.Errorf("key %q is for %s, not for %s", kid, k.alg, alg)
		}

		return k, nil
	}

	for _, k := range slices.Backward(i.keys) {
		if k.alg == alg && !k.retired {
			return k, nil
		}
	}

	return nil, fmt.Errorf("no key for algorithm %q: %w", alg, ErrUnknownKey)
}

func (i *Issuer) keyLocked(kid string) (*key, error) {
	for _, k := range i.keys {
		if k.id == kid {
			return k, nil
		}
	}

	return nil, fmt.Errorf("key %q: %w", kid, ErrUnknownKey)
}

// publicKeysLocked returns the published keys.
func (i *Issuer) publicKeysLocked() ([]jwk, error) {
	keys := []jwk{}
	for _, k := range i.keys {
		if k.retired {
			continue
		}

		public, err := k.public()
		if err != nil {
			return nil, err
		}
		keys = append(keys, public)
	}

	return keys, nil
}

func (k *key) public() (jwk, error) {
	j := jwk{Use: "sig", ID: k.id, Algorithm: k.alg}
	switch public := k.private.Public().(type) {
	case *rsa.PublicKey:
		j.KeyType = "RSA"
		j.N = encode(public.N.Bytes())
		j.E = encode(big.NewInt(int64(public.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, X, Y (SEC 1 §2.3.3)
		if err != nil {
			return jwk{}, fmt.Errorf("encoding key %q: %w", k.id, err)
		}
		half := len(point) / 2
		j.KeyType, j.Curve = "EC", "P-256"
		j.X, j.Y = encode(point[1:1+half]), encode(point[1+half:])
	case ed25519.PublicKey:
		j.KeyType, j.Curve = "OKP", "Ed25519"
		j.X = encode(public)
	}

	return j, nil
}

func generate(alg string) (private crypto.Signer, err error) {
	switch alg {
	case RS256:
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	case ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		return nil, fmt.Errorf("making a key: algorithm %q is none of %s", alg, strings.Join(algorithms, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("making a key for %s: %w", alg, err)
	}

	return private, nil
}

// encode is base64url without padding, the only encoding JOSE has.
func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
