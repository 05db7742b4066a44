package mcp

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"
)

// SealKeySize is the size of a sealing key in bytes.
const SealKeySize = chacha20poly1305.KeySize

// ErrUnsealed is returned for text that was not sealed with a known key for the
// same purpose and holder. Nobody is told which of these it was.
var ErrUnsealed = errors.New("not sealed for this caller")

// Sealer turns what a server hands to one caller (session ids, cursors, task
// ids) into text that works for that caller only and tells nobody what is in
// it: some servers write the name of the last listed item into a cursor. It
// keeps no state, so that every replica with the same keys understands the
// text. It is safe for concurrent use.
type Sealer struct {
	keys []sealKey
}

type sealKey struct {
	aead   cipher.AEAD
	nonces []byte // a key of its own, for the making of nonces
	secret []byte // what other keys are derived from
}

// Key derives a key for a use that needs its own form of sealing. Only the
// current key is used.
func (s *Sealer) Key(use string) []byte { return derive(s.keys[0].secret, use) }

// Purpose keeps text sealed for one use from being accepted for another.
type Purpose string

// The purposes.
const (
	PurposeSession Purpose = "session"
	PurposeCursor  Purpose = "cursor"
	PurposeTask    Purpose = "task"
)

// Holder identifies who may use sealed text: a hash of endpoint, issuer, subject
// and tenant.
type Holder [sha256.Size]byte

// NewSealer takes the current key and, after a rotation, the keys before it,
// each of [SealKeySize] bytes. New text is sealed with the first.
func NewSealer(keys ...[]byte) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("no sealing key")
	}
	s := &Sealer{}
	for _, key := range keys {
		aead, err := chacha20poly1305.NewX(key)
		if err != nil {
			return nil, fmt.Errorf("sealing key: %w", err)
		}
		s.keys = append(s.keys, sealKey{aead, derive(key, "nonces"), key})
	}
	return s, nil
}

// Seal returns text for holder. It consists of unreserved URL characters, and so
// fits into headers and JSON as it is.
func (s *Sealer) Seal(purpose Purpose, holder Holder, text string) string {
	key := s.keys[0]
	context := associated(purpose, holder)
	// The nonce is made from what is sealed, so that equal ids stay equal:
	// clients compare the task id of a notification with the one they hold.
	mac := hmac.New(sha256.New, key.nonces)
	mac.Write(context)
	mac.Write([]byte(text))
	nonce := mac.Sum(nil)[:chacha20poly1305.NonceSizeX]
	return base64.RawURLEncoding.EncodeToString(key.aead.Seal(nonce, nonce, []byte(text), context))
}

// Unseal is the inverse of [Sealer.Seal]; the only error is [ErrUnsealed].
func (s *Sealer) Unseal(purpose Purpose, holder Holder, sealed string) (string, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil {
		return "", ErrUnsealed
	}
	if len(raw) < chacha20poly1305.NonceSizeX {
		return "", ErrUnsealed
	}
	nonce, box := raw[:chacha20poly1305.NonceSizeX], raw[chacha20poly1305.NonceSizeX:]
	for _, key := range s.keys {
		if text, err := key.aead.Open(nil, nonce, box, associated(purpose, holder)); err == nil {
			return string(text), nil
		}
	}
	return "", ErrUnsealed
}

func derive(key []byte, use string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("mcp-app " + use))
	return mac.Sum(nil)
}

func associated(purpose Purpose, holder Holder) []byte {
	return append([]byte("mcp-app "+purpose+"\x00"), holder[:]...)
}
