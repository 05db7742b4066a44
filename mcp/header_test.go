package mcp

import (
	"net/http"
	"testing"
)

func TestMirroredArgumentsFollowTheirArgument(t *testing.T) {
	h := header("Mcp-Param-Item", "=?base64?c2VhbGVk?=", "Mcp-Param-Region", "eu", "Mcp-Param-Bad", "=?base64?x", "Mcp-Name", "sealed")
	MapParamHeaders(h, func(text string) string {
		if text == "sealed" {
			return "täglich"
		}
		return text
	})
	if got, _ := DecodeHeaderValue(h.Get("Mcp-Param-Item")); got != "täglich" {
		t.Errorf("changed argument: header says %q", got)
	}
	if h.Get("Mcp-Param-Region") != "eu" || h.Get("Mcp-Param-Bad") != "=?base64?x" || h.Get("Mcp-Name") != "sealed" {
		t.Errorf("other headers changed: %v", h)
	}
}

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
