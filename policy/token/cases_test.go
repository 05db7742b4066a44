package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// contradicted names the cases that this package answers otherwise, and why.
var contradicted = map[string]string{
	"auth.token/scope array":            "issuers do send arrays; scope is accepted as a string or as an array of strings",
	"auth.config/https remote in local": "there are no profiles: https is right everywhere",
}

type behaviourCase struct {
	Feature, Name, Expect, Why string
	Input                      json.RawMessage
}

// TestBehaviourCases runs the accept/reject table of the product against a real
// key server.
func TestBehaviourCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []behaviourCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}

	run := map[string]func(*testing.T, json.RawMessage) error{
		"auth.header": headerCase, "auth.token": tokenCase, "auth.config": configCase,
	}
	used := 0
	for _, tc := range cases {
		t.Run(tc.Feature+"/"+tc.Name, func(t *testing.T) {
			err := run[tc.Feature](t, tc.Input)
			accept := tc.Expect == "accept"
			if _, ok := contradicted[tc.Feature+"/"+tc.Name]; ok {
				used++
				accept = !accept
			}
			if accept != (err == nil) {
				t.Fatalf("got error %v, want %s: %s", err, tc.Expect, tc.Why)
			}
		})
	}
	if used != len(contradicted) {
		t.Errorf("%d contradicted cases were met, %d are listed", used, len(contradicted))
	}
}

func headerCase(t *testing.T, input json.RawMessage) error {
	t.Helper()
	var in struct{ Authorization *string }
	if err := json.Unmarshal(input, &in); err != nil {
		t.Fatal(err)
	}
	server := newKeyServer(t, k1())
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))

	h := http.Header{}
	if in.Authorization != nil {
		h.Set("Authorization", strings.ReplaceAll(*in.Authorization, "<valid>", k1().token()))
	}
	token, err := Bearer(h)
	if err != nil {
		return err
	}
	_, err = v.Verify(t.Context(), token)

	return err
}

func tokenCase(t *testing.T, input json.RawMessage) error {
	t.Helper()
	var in struct {
		Config struct {
			Issuer, Resource, TokenType string
			Algorithms                  []Algorithm
			Scopes                      []string
		}
		Header, Claims map[string]any
		SignedBy, Env  string
	}
	if err := json.Unmarshal(input, &in); err != nil {
		t.Fatal(err)
	}

	server := newKeyServer(t, k1(), e1())
	if in.Env == "jwks-keys-not-array" {
		server.publish([]byte(`{"keys":{"kid":"k1"}}`))
	}
	holder := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := newTestVerifier(t, Config{
		Issuers: []IssuerConfig{{
			Issuer: in.Config.Issuer, Keys: holder, Algorithms: in.Config.Algorithms, TokenType: TokenType(in.Config.TokenType),
		}},
		Audiences: []string{in.Config.Resource},
	})
	k2 := testKey{"k2", RS256, otherRSAKey()}
	if in.Env == "jwks-now-has-k2" {
		if _, err := v.Verify(t.Context(), k1().token()); err != nil {
			t.Fatal(err)
		}
		server.publish(jwks(k2, e1()))
	}

	header := string(must(json.Marshal(concrete(in.Header))))
	claims := string(must(json.Marshal(concrete(in.Claims))))
	var token string
	switch in.SignedBy {
	case "k1":
		token = k1().signRaw(RS256, header, claims)
	case "e1":
		token = e1().signRaw(ES256, header, claims)
	case "k2", "other":
		token = k2.signRaw(RS256, header, claims)
	case "hmac-of-public-key":
		token = signHMAC(header, claims)
	default:
		t.Fatalf("unknown signer %q", in.SignedBy)
	}

	granted, err := v.Verify(t.Context(), token)
	if err != nil {
		return err
	}
	if missing := granted.MissingScopes(in.Config.Scopes); len(missing) > 0 {
		return errors.New("insufficient scope, missing " + strings.Join(missing, " "))
	}

	return nil
}

func configCase(t *testing.T, input json.RawMessage) error {
	t.Helper()
	var in struct {
		URL        string
		Algorithms []string
	}
	if err := json.Unmarshal(input, &in); err != nil {
		t.Fatal(err)
	}
	for _, name := range in.Algorithms {
		if _, err := ParseAlgorithm(name); err != nil {
			return err
		}
	}
	if in.URL == "" {
		return nil
	}
	_, err := NewKeyHolder(KeyConfig{JWKSURL: in.URL})

	return err
}

// concrete resolves the generators of the case file: null is absent, "now+300"
// a time, {"$repeat":s,"count":n} a long string.
func concrete(object map[string]any) map[string]any {
	out := make(map[string]any)
	for name, value := range object {
		if s, ok := value.(string); ok {
			if seconds, ok := strings.CutPrefix(s, "now+"); ok {
				value = time.Now().Unix() + int64(must(strconv.Atoi(seconds)))
			}
		}
		if m, ok := value.(map[string]any); ok && m["$repeat"] != nil {
			value = strings.Repeat(m["$repeat"].(string), int(m["count"].(float64)))
		}
		if value != nil {
			out[name] = value
		}
	}

	return out
}

// signHMAC uses the text of the published RSA key as a shared secret.
func signHMAC(header, claims string) string {
	der := must(x509.MarshalPKIXPublicKey(rsaKey().Public()))
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	input := b64([]byte(header)) + "." + b64([]byte(claims))
	mac.Write([]byte(input))

	return input + "." + b64(mac.Sum(nil))
}
