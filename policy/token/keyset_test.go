package token

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestKeySetKeepsOnlyKeysThatMayVerify(t *testing.T) {
	with := func(k testKey, changes map[string]any) string {
		jwk := k.jwk()
		merge(jwk, changes)
		return string(must(json.Marshal(jwk)))
	}
	weak := testKey{"weak", RS256, weakRSA()}
	offCurve := e1().jwk()
	offCurve["y"] = offCurve["x"]

	for _, tc := range []struct {
		name, jwk string
		skipped   string // "" if the key is used
	}{
		{"RSA", with(k1(), nil), ""},
		{"RSA with alg", with(k1(), map[string]any{"alg": "PS512"}), ""},
		{"RSA with a certificate", with(k1(), map[string]any{"x5c": []string{"not a certificate"}, "x5t": "x"}), ""},
		{"EC", with(e1(), nil), ""},
		{"P-384", with(testKey{"k", ES384, ec384Key()}, nil), ""},
		{"P-521", with(testKey{"k", ES512, ec521Key()}, nil), ""},
		{"Ed25519", with(o1(), map[string]any{"alg": "EdDSA"}), ""},
		{"Ed25519 by its full name", with(o1(), map[string]any{"alg": "Ed25519"}), ""},
		{"no use", with(k1(), map[string]any{"use": nil}), ""},
		{"no kid", with(k1(), map[string]any{"kid": nil}), ""},
		{"key_ops verify", with(k1(), map[string]any{"use": nil, "key_ops": []string{"verify"}}), ""},
		{"key_ops empty", with(k1(), map[string]any{"key_ops": []string{}}), ""},

		{"use enc", with(k1(), map[string]any{"use": "enc"}), `"use"`},
		{"use not a string", with(k1(), map[string]any{"use": []string{"sig"}}), `"use"`},
		{"key_ops sign", with(k1(), map[string]any{"key_ops": []string{"sign"}}), `"key_ops"`},
		{"key_ops not an array", with(k1(), map[string]any{"key_ops": "verify"}), `"key_ops"`},
		{"private", with(k1(), map[string]any{"d": "AQ"}), "private"},
		{"oct", `{"kty":"oct","kid":"o","k":"c2VjcmV0"}`, "key type"},
		{"unknown type", `{"kty":"AKP","kid":"pq","alg":"ML-DSA-44","pub":"AA"}`, "key type"},
		{"no type", `{"kid":"k"}`, "key type"},
		{"type in lower case", with(k1(), map[string]any{"kty": "rsa"}), "key type"},
		{"not an object", `"k"`, "not an object"},
		{"null", `null`, "not an object"},
		{"weak RSA", with(weak, nil), "1024 bits"},
		{"huge RSA", with(k1(), map[string]any{"n": b64([]byte(strings.Repeat("\xff", 1025)))}), "8200 bits"},
		{"even modulus", with(k1(), map[string]any{"n": b64([]byte(strings.Repeat("\xfe", 256)))}), "even"},
		{"exponent one", with(k1(), map[string]any{"e": "AQ"}), "exponent"},
		{"no modulus", with(k1(), map[string]any{"n": nil}), `"n"`},
		{"modulus not a string", with(k1(), map[string]any{"n": 3}), `"n"`},
		{"modulus not base64", with(k1(), map[string]any{"n": "!!!"}), "key"},
		{"off the curve", string(must(json.Marshal(offCurve))), ""},
		{"secp256k1", with(e1(), map[string]any{"crv": "secp256k1"}), "curve"},
		{"X25519", with(o1(), map[string]any{"crv": "X25519"}), "curve"},
		{"P-256 point as P-384", with(e1(), map[string]any{"crv": "P-384"}), ""},
		{"short Ed25519", with(o1(), map[string]any{"x": "AQID"}), "key"},
		{"alg of another type", with(k1(), map[string]any{"alg": "ES256"}), "does not fit"},
		{"alg of another curve", with(e1(), map[string]any{"alg": "ES384"}), "does not fit"},
		{"alg for encryption", with(k1(), map[string]any{"alg": "RSA-OAEP"}), "unsupported"},
		{"alg HS256", with(k1(), map[string]any{"alg": "HS256"}), "unsupported"},
		{"kid a number", with(k1(), map[string]any{"kid": 1}), `"kid"`},
		{"kid too long", with(k1(), map[string]any{"kid": strings.Repeat("k", 257)}), `"kid"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "off the curve" || tc.name == "P-256 point as P-384" {
				tc.skipped = "key" // the text is the library's
			}
			// A second key shows that one bad member does not spoil the set.
			second := with(newEC("second"), nil)
			set, err := parseKeySet([]byte(`{"keys":[` + tc.jwk + `,` + second + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			if tc.skipped == "" {
				if len(set.keys) != 2 || len(set.skipped) != 0 {
					t.Fatalf("%d keys, skipped %q", len(set.keys), set.skipped)
				}
				return
			}
			if len(set.keys) != 1 || len(set.skipped) != 1 || !strings.Contains(set.skipped[0], tc.skipped) {
				t.Fatalf("%d keys, skipped %q, want a note with %q", len(set.keys), set.skipped, tc.skipped)
			}

			if _, err := parseKeySet([]byte(`{"keys":[` + tc.jwk + `]}`)); err == nil {
				t.Fatal("a set without any usable key was accepted")
			}
		})
	}
}

func TestBrokenKeySetsAreErrors(t *testing.T) {
	for name, body := range map[string]string{
		"empty answer": "", "empty set": `{"keys":[]}`, "null": `{"keys":null}`, "no keys": `{}`,
		"object": `{"keys":{}}`, "array": `[]`, "HTML": `<!doctype html><title>Sign in</title>`,
		"cut off": string(jwks(k1())[:100]), "two documents": string(jwks(k1())) + string(jwks(k1())),
		"duplicate keys":   `{"keys":[],"keys":[` + string(must(json.Marshal(k1().jwk()))) + `]}`,
		"duplicate member": strings.Replace(string(jwks(k1())), `"kid":`, `"kid":"a","kid":`, 1),
		"PEM":              "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
	} {
		if set, err := parseKeySet([]byte(body)); err == nil {
			t.Errorf("%s: accepted with %d keys", name, len(set.keys))
		}
	}
}

func TestKeySetIsBounded(t *testing.T) {
	jwk := e1().jwk()
	var all []any
	for i := range 150 {
		m := maps.Clone(jwk)
		m["kid"] = fmt.Sprint("k", i)
		all = append(all, m)
	}
	set, err := parseKeySet(must(json.Marshal(map[string]any{"keys": all})))
	if err != nil {
		t.Fatal(err)
	}
	if len(set.keys) != maxKeys || len(set.skipped) != maxSkippedNotes {
		t.Fatalf("%d keys and %d notes", len(set.keys), len(set.skipped))
	}

	all = all[:0]
	for range 50 {
		all = append(all, jwk)
	}
	set, err = parseKeySet(must(json.Marshal(map[string]any{"keys": all})))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(set.find("e1", ES256)); n != maxKeysPerID {
		t.Fatalf("one token can cost %d verifications", n)
	}
}

func TestFingerprintIgnoresOrderAndSpelling(t *testing.T) {
	a := must(parseKeySet(jwks(k1(), e1())))
	b := must(parseKeySet([]byte(strings.ReplaceAll(string(jwks(e1(), k1())), ",", " ,\n"))))
	c := must(parseKeySet(jwks(k1(), newEC("e1"))))
	limited := k1().jwk()
	limited["alg"] = "RS256"
	d := must(parseKeySet(must(json.Marshal(map[string]any{"keys": []any{limited, e1().jwk()}}))))
	if a.fingerprint != b.fingerprint {
		t.Error("the same keys have two fingerprints")
	}
	if a.fingerprint == c.fingerprint || a.fingerprint == d.fingerprint {
		t.Error("different keys have one fingerprint")
	}
}

func TestFindNeverGuessesAmongKeys(t *testing.T) {
	limited := k1().jwk()
	limited["alg"] = "PS256"
	set := must(parseKeySet(must(json.Marshal(map[string]any{"keys": []any{limited, e1().jwk(), newEC("e2").jwk(), o1().jwk()}}))))
	for _, tc := range []struct {
		kid  string
		alg  Algorithm
		want int
	}{
		{"k1", PS256, 1},
		{"k1", RS256, 0},
		{"k1", ES256, 0},
		{"e1", ES256, 1},
		{"e1", ES384, 0},
		{"o1", EdDSA, 1},
		{"nope", ES256, 0},
		{"", EdDSA, 1},
		{"", ES256, 0},
		{"", PS256, 1},
		{"", RS256, 0},
		{"k1", "", 0},
	} {
		if got := set.find(tc.kid, tc.alg); len(got) != tc.want {
			t.Errorf("find(%q, %s) gave %d keys, want %d", tc.kid, tc.alg, len(got), tc.want)
		}
	}
}

func FuzzKeySet(f *testing.F) {
	f.Add(jwks(k1(), e1(), o1()))
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"","e":""},{"kty":"EC","crv":"P-256","x":"AA","y":"AA"},{"kty":"OKP","crv":"Ed25519","x":""}]}`))
	f.Add([]byte(`{"keys":null}`))
	signed, signature := []byte("a.b"), make([]byte, 256)
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := parseKeySet(data)
		if err != nil {
			return
		}
		if len(set.keys) == 0 || len(set.keys) > maxKeys {
			t.Fatalf("%d keys", len(set.keys))
		}
		for _, k := range set.keys {
			if err := checkKey(k.key); err != nil {
				t.Fatal(err)
			}
			for _, alg := range allAlgorithms {
				if alg.fits(k.key) && verifySignature(alg, k.key, signed, signature) == nil {
					t.Fatalf("a key verifies a signature of zeros under %s", alg)
				}
			}
		}
	})
}

// weakRSA is below the length that the standard library still generates.
func weakRSA() *rsa.PrivateKey {
	return must(rsa.GenerateKey(rand.Reader, 1024))
}
