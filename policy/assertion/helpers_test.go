package assertion

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"math/big"
	"strings"
	"sync"
	"testing"
)

// files is a storage that several replicas share and that can fail.
type files struct {
	lock chan struct{}

	mu       sync.Mutex
	content  []byte
	loadErr  error
	storeErr error
	loads    int
	stores   int
	locked   bool
}

func newFiles() *files { return &files{lock: make(chan struct{}, 1)} }

func (f *files) Load(_ context.Context, key string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loads++
	switch {
	case f.loadErr != nil:
		return nil, f.loadErr
	case key != StorageKey || f.content == nil:
		return nil, fs.ErrNotExist
	}
	return f.content, nil
}

func (f *files) Store(_ context.Context, _ string, value []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.locked {
		panic("stored without the lock")
	}
	if f.storeErr != nil {
		return f.storeErr
	}
	f.content, f.stores = value, f.stores+1
	return nil
}

func (f *files) Lock(ctx context.Context, _ string) error {
	select {
	case f.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locked = true
	return nil
}

func (f *files) Unlock(context.Context, string) error {
	f.mu.Lock()
	f.locked = false
	f.mu.Unlock()
	<-f.lock
	return nil
}

// fail makes the storage fail from now on.
func (f *files) fail(load, store error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loadErr, f.storeErr = load, store
}

func (f *files) counts() (loads, stores int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loads, f.stores
}

// held is the keys in the storage.
func (f *files) held(t *testing.T) keySet {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := parseKeySet(f.content)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func alice() Claims {
	return Claims{Resource: "https://gw.example/mcp", Issuer: "https://id.example/", Subject: "alice"}
}

func sign(t *testing.T, k *Keys) string {
	t.Helper()
	assertion, err := k.Sign(t.Context(), alice())
	if err != nil {
		t.Fatal(err)
	}
	return assertion
}

// published is the key set of one moment, as a verifier keeps it.
func published(t *testing.T, k *Keys) map[string]jwk {
	t.Helper()
	raw, err := k.JWKS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Keys []jwk }
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	keys := map[string]jwk{}
	for _, k := range document.Keys {
		keys[k.ID] = k
	}
	return keys
}

// kidOf is the key that an assertion names.
func kidOf(t *testing.T, assertion string) string {
	t.Helper()
	var h header
	part(t, assertion, 0, &h)
	return h.KeyID
}

func part(t *testing.T, assertion string, i int, into any) {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(assertion, ".")[i])
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// verify checks the signature with nothing but a published key.
func verify(t *testing.T, assertion string, keys map[string]jwk) {
	t.Helper()
	k, ok := keys[kidOf(t, assertion)]
	if !ok {
		t.Fatal("signed by a key that is not published")
	}
	point := []byte{4}
	for _, text := range []string{k.X, k.Y} {
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || len(raw) != 32 {
			t.Fatalf("coordinate %q", text)
		}
		point = append(point, raw...)
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndex(assertion, ".")
	signature, err := base64.RawURLEncoding.DecodeString(assertion[last+1:])
	if err != nil || len(signature) != 64 {
		t.Fatalf("signature of %d bytes, %v", len(signature), err)
	}
	digest := sha256.Sum256([]byte(assertion[:last]))
	if !ecdsa.Verify(public, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Fatal("the signature is wrong")
	}
}
