package token

import (
	"encoding/base64"
	"strings"
)

// maxKeyIDBytes bounds "kid". Real ones are fingerprints, UUIDs or URLs.
const maxKeyIDBytes = 256

// compactToken is a JWS in compact serialization (RFC 7515 §3.1) whose form
// and header have been checked and whose signature has not.
type compactToken struct {
	alg       Algorithm
	kid       string // "" if absent
	typ       string // "" if absent
	payload   []byte
	signed    []byte // what the signature covers: header, dot, payload
	signature []byte
}

// parseCompact takes a token apart and reads its header. It looks at nothing
// but the bytes, so that rubbish is refused before any key is looked up.
func parseCompact(token string) (*compactToken, error) {
	if len(token) > MaxTokenBytes {
		return nil, refuse("the token is longer than 16 KiB")
	}
	parts := strings.SplitN(token, ".", 4)
	if len(parts) != 3 {
		return nil, refuse("the token is not a JWT in compact form: it does not have three parts")
	}
	// Every encoded JSON object begins with `{`, which is "e" in base64url.
	// This also names the JSON serialization (RFC 7515 §7.2) and JWE forms.
	if token[0] != 'e' {
		return nil, refuse("the token is not a JWT in compact form: its header is not a JSON object")
	}

	var raw [3][]byte
	for i, name := range []string{"header", "payload", "signature"} {
		b, ok := decodeBase64URL(parts[i])
		if !ok {
			return nil, refuse("the token's %s is empty or not base64url without padding", name)
		}
		raw[i] = b
	}

	t := &compactToken{
		payload:   raw[1],
		signed:    []byte(token[:len(parts[0])+1+len(parts[1])]),
		signature: raw[2],
	}
	if err := t.readHeader(raw[0]); err != nil {
		return nil, err
	}

	return t, nil
}

// refusedHeaders are header parameters that would change what is verified or
// with which key. "x5c", "x5t" and "x5t#S256" are common, harmless and
// ignored: keys come from the issuer's key set and nowhere else.
var refusedHeaders = []string{
	"crit", // RFC 7515 §4.1.11: extensions that must be understood; none is
	"b64",  // RFC 7797: unencoded payload
	"jku",  // RFC 7515 §4.1.2: URL of a key set
	"x5u",  // RFC 7515 §4.1.5: URL of a certificate
	"jwk",  // RFC 7515 §4.1.3: the key itself
	"zip",  // RFC 7516 §4.1.3: compressed content
	"enc",  // RFC 7516 §4.1.2: encrypted content
}

func (t *compactToken) readHeader(data []byte) error {
	header, err := strict.Object(data)
	if err != nil {
		return refuse("reading the token's header: %v", err)
	}
	for _, name := range refusedHeaders {
		if _, ok := header[name]; ok {
			return refuse("the token's header carries %q", name)
		}
	}

	name, ok := header["alg"].(string)
	if !ok {
		return refuse("the token's header has no \"alg\" of type string")
	}
	if t.alg, err = ParseAlgorithm(name); err != nil {
		return refuse("the token's header: %v", err)
	}
	if t.typ, ok = optionalString(header, "typ"); !ok {
		return refuse("the token's \"typ\" is empty or not a string")
	}
	if t.kid, ok = optionalString(header, "kid"); !ok {
		return refuse("the token's \"kid\" is empty or not a string")
	}
	if len(t.kid) > maxKeyIDBytes {
		return refuse("the token's \"kid\" is longer than %d bytes", maxKeyIDBytes)
	}
	if hasControl(t.kid) {
		return refuse("the token's \"kid\" has control characters")
	}

	return nil
}

// decodeBase64URL reads one non-empty part. The standard decoder skips line
// breaks and, unless strict, ignores stray bits at the end; both would let one
// token be written in many ways.
func decodeBase64URL(s string) ([]byte, bool) {
	if s == "" || strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)

	return b, err == nil
}

// optionalString returns "" for an absent member and false for one that is not
// a non-empty string.
func optionalString(object map[string]any, name string) (string, bool) {
	value, present := object[name]
	if !present {
		return "", true
	}
	s, ok := value.(string)

	return s, ok && s != ""
}
