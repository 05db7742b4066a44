package token

import (
	"strings"
	"testing"
)

// Whatever is wrong with a URL, and however it is spelled, the error keeps the
// password to itself.
func TestURLErrorsNeverTellAPassword(t *testing.T) {
	for _, raw := range []string{
		"https://u:s3cret@id.example/", "http://u:s3cret@id.example/", "ftp://u:s3cret@id.example/", "https://u:s3cret@/", "https://u:s3cret@id.example/#x",
		"https://u:s3cret@id.example:port/", "https://u:s3cret@id .example/", "https://u:s3cret@id.example/%zz", "https://u:s3cret@[::1/", "u:s3cret@id.example",
		"https://u:s3cret%@id.example/", "https://u:s3cret @id.example/", `https://u:s3cret"@id.example/`, "https://u:@s3cret@id.example/", "https:u:s3cret@id.example",
		"//u:s3cret@id.example/", "https://u:s3cret@id.example/?a=1", "http://id.example/keys?token=s3cret", "ftp://id.example?s3cret", "://u:s3cret@x",
		"https://id.ex%61mple/?key=s3cret", "https://id.example/?key=s3cret#x",
	} {
		_, keys := NewKeyHolder(KeyConfig{JWKSURL: raw})
		_, discovered := NewKeyHolder(KeyConfig{Issuer: raw})
		_, issuer := NewVerifier(Config{Issuers: []IssuerConfig{{Issuer: raw}}})
		_, introspector := NewIntrospector(IntrospectConfig{URL: raw, Issuer: "https://id.example"})
		for name, err := range map[string]error{"CheckURL": CheckURL(raw, false), "key set": keys, "discovery": discovered, "issuer": issuer, "introspection": introspector} {
			if err == nil {
				t.Errorf("%s: %q is accepted", name, raw)
			} else if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
