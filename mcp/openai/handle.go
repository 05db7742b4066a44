package openai

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// sealName is the parameter in the fragment of a handle that holds its seal.
const sealName = "mcp-app-seal="

// sealLength is that of a seal in the address: 16 bytes of MAC, base64url.
const sealLength = 22

// maxHandles bounds the handles opened in one call.
const maxHandles = 64

// ErrUnknownHandle is the answer to a handle that was not offered to this
// caller.
var ErrUnknownHandle = errors.New("unknown handle")

// Handles seals the handles of mentions to one caller, without any memory: a
// handle goes out with a MAC over itself and the binding, and comes back as it
// was only for the same binding. What is guessed, or was offered to somebody
// else, is unknown.
//
// The seal stands in the fragment, so that the handle stays readable to the
// model. It does not expire: whether the caller may still use the thing behind
// it is decided when it is used.
type Handles struct {
	key      []byte
	binding  []byte
	patterns []pattern
}

// Handles makes a sealer from a secret key and a binding, which must name
// issuer, subject and tenant of the caller without ambiguity.
func (o *Overlay) Handles(key, binding []byte) *Handles {
	return &Handles{key, binding, o.boundHandles}
}

// Bound reports whether handles of this form have to be sealed.
func (h *Handles) Bound(handle string) bool {
	for _, p := range h.patterns {
		if p.match(handle) {
			return true
		}
	}
	return false
}

// Seal answers the handle with its seal, or unchanged if it is not bound.
func (h *Handles) Seal(handle string) string {
	if !h.Bound(handle) {
		return handle
	}
	separator := "#"
	if strings.Contains(handle, "#") {
		separator = "&"
	}
	return handle + separator + sealName + h.mac(handle)
}

// Open answers the handle as the server gave it. The error is
// [ErrUnknownHandle] for a bound handle without the right seal.
func (h *Handles) Open(sealed string) (string, error) {
	at := strings.LastIndex(sealed, sealName)
	if at < 1 || len(sealed) != at+len(sealName)+sealLength || sealed[at-1] != '#' && sealed[at-1] != '&' {
		if h.Bound(sealed) {
			return "", ErrUnknownHandle
		}
		return sealed, nil
	}
	handle, mac := sealed[:at-1], sealed[at+len(sealName):]
	if subtle.ConstantTimeCompare([]byte(mac), []byte(h.mac(handle))) != 1 {
		return "", ErrUnknownHandle
	}
	return handle, nil
}

// OpenAll opens every handle among the strings of v, at any depth, such as the
// arguments of a call. Strings that are no bound handles stay as they are. More
// than 64 handles at once are [ErrTooLarge].
func (h *Handles) OpenAll(v rawjson.Value) (rawjson.Value, error) {
	left := maxHandles
	return h.openAll(v, &left)
}

func (h *Handles) openAll(v rawjson.Value, left *int) (rawjson.Value, error) {
	switch v.Kind() {
	case rawjson.String:
		text, _ := v.Text()
		opened, err := h.Open(text)
		if err != nil || opened == text {
			return v, err
		}
		if *left--; *left < 0 {
			return v, fmt.Errorf("%w: more than %d handles in one call", ErrTooLarge, maxHandles)
		}
		return rawjson.Quote(opened), nil
	case rawjson.Array:
		var failed error
		v = v.MapElements(func(element rawjson.Value) (rawjson.Value, bool) {
			opened, err := h.openAll(element, left)
			if failed == nil {
				failed = err
			}
			return opened, true
		})
		return v, failed
	case rawjson.Object:
		out := v
		for name, member := range v.Members() {
			opened, err := h.openAll(member, left)
			if err == nil && !same(opened, member) {
				out, err = out.Set(opened, name)
			}
			if err != nil {
				return v, err
			}
		}
		return out, nil
	}
	return v, nil
}

func (h *Handles) mac(handle string) string {
	mac := hmac.New(sha256.New, h.key)
	mac.Write([]byte("mention handle\x00"))
	mac.Write([]byte(base64.StdEncoding.EncodeToString(h.binding)))
	mac.Write([]byte{0})
	mac.Write([]byte(handle))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// sealItem seals the handle of one mention item.
func sealItem(item rawjson.Value, seal func(string) string) rawjson.Value {
	for _, name := range []string{"uri", "resourceUri"} {
		if handle, ok := item.Get(name).Text(); ok {
			item, _ = setText(item, seal(handle), name)
		}
	}
	return item
}
