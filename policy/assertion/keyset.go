package assertion

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// The life of a key.
const (
	// rotateAfter is how long a key is in use before the next one is.
	rotateAfter = 30 * 24 * time.Hour
	// publishAhead is how long every replica publishes a key before it is used.
	// Verifiers may keep a copy of the key set for half of that time (see
	// MaxAge).
	publishAhead = 10 * time.Minute
	// makeAhead is how long before its use a key is made: other replicas learn
	// of it a little later.
	makeAhead = publishAhead + mustRefresh
	// keepAfter is how long a key stays published after its last use: TTL, and
	// something for clocks that differ.
	keepAfter = TTL + 4*time.Minute
)

// key is one signing key.
type key struct {
	id      string // RFC 7638 thumbprint of the public key
	private *ecdsa.PrivateKey
	public  jwk
	useFrom time.Time
}

// jwk is a public key as it is published (RFC 7517, RFC 7518 §6.2.1).
type jwk struct {
	Type      string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	Y         string `json:"y"`
	ID        string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

// storedKey is a key in the storage, and nowhere else in this form.
type storedKey struct {
	// Private is PKCS #8.
	Private []byte    `json:"private"`
	UseFrom time.Time `json:"use_from"`
}

type storedKeys struct {
	Keys []storedKey `json:"keys"`
}

// keySet is keys in the order of their use.
type keySet []*key

// Format keeps private keys out of logs, whatever the verb.
func (*key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "assertion key") }

// signer is the key in use: the last that has begun. Where none has, a clock
// is wrong, and the first is as good as any.
func (s keySet) signer(now time.Time) *key {
	signer := s[0]
	for _, k := range s[1:] {
		if !now.Before(k.useFrom) {
			signer = k
		}
	}

	return signer
}

// maintain returns what the set should be now, and whether that is another one:
// without keys that have done their work, with the next one in time.
func (s keySet) maintain(now time.Time) (keySet, bool, error) {
	next := slices.Clone(s)
	for len(next) > 1 && now.After(next[1].useFrom.Add(keepAfter)) {
		next = next[1:]
	}
	changed := len(next) < len(s)
	var useFrom time.Time
	switch {
	case len(next) == 0:
		useFrom = now
	case now.Before(next[len(next)-1].useFrom.Add(rotateAfter - makeAhead)):
		return next, changed, nil
	default:
		useFrom = now.Add(makeAhead)
	}
	k, err := newKey(useFrom)
	if err != nil {
		return nil, false, err
	}

	return append(next, k), true, nil
}

// document is the public key set (RFC 7517 §5).
func (s keySet) document() ([]byte, error) {
	var document struct {
		Keys []jwk `json:"keys"`
	}
	for _, k := range s {
		document.Keys = append(document.Keys, k.public)
	}

	return json.Marshal(document)
}

func (s keySet) store() ([]byte, error) {
	var stored storedKeys
	for _, k := range s {
		private, err := x509.MarshalPKCS8PrivateKey(k.private)
		if err != nil {
			return nil, err
		}
		stored.Keys = append(stored.Keys, storedKey{Private: private, UseFrom: k.useFrom})
	}

	return json.Marshal(stored)
}

// parseKeySet reads what store wrote. Errors do not quote it.
func parseKeySet(raw []byte) (keySet, error) {
	var stored storedKeys
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, errors.New("it is not the JSON of a key set")
	}
	var s keySet
	for _, entry := range stored.Keys {
		parsed, err := x509.ParsePKCS8PrivateKey(entry.Private)
		private, ok := parsed.(*ecdsa.PrivateKey)
		if err != nil || !ok || private.Curve != elliptic.P256() {
			return nil, errors.New("it holds something else than P-256 keys")
		}
		k, err := keyOf(private, entry.UseFrom)
		if err != nil {
			return nil, err
		}
		s = append(s, k)
	}
	slices.SortStableFunc(s, func(a, b *key) int { return a.useFrom.Compare(b.useFrom) })

	return s, nil
}

func newKey(useFrom time.Time) (*key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}

	return keyOf(private, useFrom.UTC().Round(0))
}

func keyOf(private *ecdsa.PrivateKey, useFrom time.Time) (*key, error) {
	point, err := private.PublicKey.Bytes() // 4, X, Y
	if err != nil {
		return nil, fmt.Errorf("reading a key: %w", err)
	}
	x, y := encode(point[1:33]), encode(point[33:])
	thumbprint := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + x + `","y":"` + y + `"}`))
	id := encode(thumbprint[:])

	return &key{
		id: id, private: private, useFrom: useFrom,
		public: jwk{Type: "EC", Curve: "P-256", X: x, Y: y, ID: id, Use: "sig", Algorithm: "ES256"},
	}, nil
}
