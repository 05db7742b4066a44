package mcp

import (
	"net/http"
	"testing"
)

// FuzzHeaderValue proves that what is sent in a header comes back as it was, and
// that no encoded value can end the header it stands in.
func FuzzHeaderValue(f *testing.F) {
	for _, seed := range []string{"plain", "täglich", "=?base64?dA==?=", "=?base64?", " x ", "a\r\nX-Evil: 1", "\x00", "=?BASE64?dA==?="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		encoded := EncodeHeaderValue(text)
		for _, c := range []byte(encoded) {
			if c < ' ' && c != '\t' || c > '~' {
				t.Fatalf("%q is sent as %q", text, encoded)
			}
		}
		decoded, ok := DecodeHeaderValue(encoded)
		if valid := string([]rune(text)) == text; valid && (!ok || decoded != text) {
			t.Fatalf("%q sent as %q reads as %q, %v", text, encoded, decoded, ok)
		}
		// A value from outside is either understood or refused, never guessed.
		if guess, ok := DecodeHeaderValue(text); ok {
			h := http.Header{HeaderName: {text}}
			if again, ok := DecodeHeaderValue(h.Get(HeaderName)); !ok || again != guess {
				t.Fatalf("%q reads as %q and then %q", text, guess, again)
			}
		}
	})
}
