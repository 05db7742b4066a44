package issuer

import (
	"strings"
	"testing"
	"time"
)

func TestTokensVerifyWithPublishedKeys(t *testing.T) {
	i := running(t)
	set := get[keySet](t, i.JWKSURL())

	for _, alg := range []string{RS256, ES256, EdDSA} {
		token, err := i.Issue(Grant{
			Subject: "ada", Audience: []string{"https://mcp.example.com"}, Scopes: []string{"mcp.use", "cad.read"},
			TTL: time.Minute, Algorithm: alg, Claims: map[string]any{"org_id": "acme"},
		})
		if err != nil {
			t.Fatal(err)
		}

		header, claims, err := verify(t, set, token)
		if err != nil {
			t.Errorf("%s: %v", alg, err)
		}
		if header["alg"] != alg || header["typ"] != "at+jwt" {
			t.Errorf("%s: header %v", alg, header)
		}
		if claims["iss"] != i.URL || claims["sub"] != "ada" || claims["aud"] != "https://mcp.example.com" ||
			claims["scope"] != "mcp.use cad.read" || claims["org_id"] != "acme" || claims["jti"] == "" ||
			claims["exp"].(float64)-claims["iat"].(float64) != 60 {
			t.Errorf("%s: claims %v", alg, claims)
		}

		// A verification that takes anything would prove nothing.
		parts := strings.Split(token, ".")
		parts[1] = encode([]byte(`{"sub":"eve"}`))
		if _, _, err := verify(t, set, strings.Join(parts, ".")); err == nil {
			t.Errorf("%s: changed claims verify", alg)
		}
	}
}

func TestGrantShapesTheToken(t *testing.T) {
	i := running(t)
	set := get[keySet](t, i.JWKSURL())

	token, err := i.Issue(Grant{
		Audience: []string{"a", "b"}, TTL: -time.Minute, Type: "JWT",
		Claims: map[string]any{"iss": "https://elsewhere.example", "iat": nil, "nbf": 1},
		Header: map[string]any{"x-note": "kept", "typ": nil},
	})
	if err != nil {
		t.Fatal(err)
	}

	header, claims, err := verify(t, set, token)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := header["typ"]; ok || header["x-note"] != "kept" || header["alg"] != ES256 {
		t.Errorf("header %v", header)
	}
	for _, absent := range []string{"iat", "sub", "scope"} {
		if _, ok := claims[absent]; ok {
			t.Errorf("claim %s is there: %v", absent, claims)
		}
	}
	if aud, ok := claims["aud"].([]any); !ok || len(aud) != 2 {
		t.Errorf("aud is %v", claims["aud"])
	}
	if claims["iss"] != "https://elsewhere.example" || claims["nbf"] != 1.0 ||
		claims["exp"].(float64) >= float64(time.Now().Unix()) {
		t.Errorf("claims %v", claims)
	}

	for name, g := range map[string]Grant{
		"unknown algorithm":  {Algorithm: "HS256"},
		"unknown key":        {KeyID: "nobody"},
		"key of another alg": {KeyID: i.KeyIDs(RS256)[0], Algorithm: ES256},
		"unwritable claim":   {Claims: map[string]any{"f": func() {}}},
	} {
		if token, err := i.Issue(g); err == nil {
			t.Errorf("%s gave %s", name, token)
		}
	}
}
