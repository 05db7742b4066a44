package token

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAttacksAreRefused holds every trick known to have worked against some
// verifier. The issuer allows all algorithms and types, so that only the trick
// itself can be the reason for the refusal, and a good twin must pass.
func TestAttacksAreRefused(t *testing.T) {
	evil := newKeyServer(t, testKey{"k1", RS256, otherRSAKey()})
	server := newKeyServer(t, k1(), e1(), o1(), testKey{"e384", ES384, ec384Key()})
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))

	exp := time.Now().Add(time.Minute).Unix()
	payload := fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":"u1","exp":%d}`, testIssuer, testAudience, exp)
	with := func(members string) string { return strings.TrimSuffix(payload, "}") + "," + members + "}" }
	without := func(member string) string { return strings.Replace(payload, member, "x_"+member, 1) }
	expiring := func(value string) string { return strings.Replace(payload, fmt.Sprint(exp), value, 1) }
	header := func(members string) string { return `{"alg":"RS256","kid":"k1"` + members + `}` }
	good := k1().signRaw(RS256, header(""), payload)
	part := strings.Split(good, ".")
	signed := func(payload string) string { return k1().signRaw(RS256, header(""), payload) }
	headed := func(header string) string { return k1().signRaw(RS256, header, payload) }
	other := testKey{"k1", RS256, otherRSAKey()}

	attacks := []struct{ name, token string }{
		// The algorithm.
		{"alg none, no signature", b64([]byte(`{"alg":"none"}`)) + "." + part[1] + "."},
		{"alg none, signature kept", b64([]byte(`{"alg":"none","kid":"k1"}`)) + "." + part[1] + "." + part[2]},
		{"alg nOnE", headed(`{"alg":"nOnE","kid":"k1"}`)},
		{"HS256 with the public key", signHMAC(`{"alg":"HS256","kid":"k1"}`, payload)},
		{"HS256 signature under RS256", strings.Replace(signHMAC(header(""), payload), "HS", "RS", 1)},
		{"alg in lower case", headed(`{"alg":"rs256","kid":"k1"}`)},
		{"alg with a space", headed(`{"alg":"RS256 ","kid":"k1"}`)},
		{"alg empty", headed(`{"alg":"","kid":"k1"}`)},
		{"alg missing", headed(`{"kid":"k1"}`)},
		{"alg null", headed(`{"alg":null,"kid":"k1"}`)},
		{"alg an array", headed(`{"alg":["RS256"],"kid":"k1"}`)},
		{"alg as Alg", headed(`{"Alg":"RS256","kid":"k1"}`)},
		{"PS256 named, RS256 signed", headed(`{"alg":"PS256","kid":"k1"}`)},
		{"RS512 named, RS256 signed", headed(`{"alg":"RS512","kid":"k1"}`)},
		{"ES256K", headed(`{"alg":"ES256K","kid":"k1"}`)},
		{"ES256 with a P-384 key", testKey{"e384", ES384, ec384Key()}.signRaw(ES256, `{"alg":"ES256","kid":"e384"}`, payload)},
		{"ES384 with a P-256 key", e1().signRaw(ES384, `{"alg":"ES384","kid":"e1"}`, payload)},
		{"Ed25519 key under RS256", o1().signRaw(RS256, `{"alg":"RS256","kid":"o1"}`, payload)},
		{"RSA key under EdDSA", k1().signRaw(RS256, `{"alg":"EdDSA","kid":"k1"}`, payload)},
		{"EC key under RS256", e1().signRaw(ES256, `{"alg":"RS256","kid":"e1"}`, payload)},

		// The key.
		{"signed by another key", other.signRaw(RS256, header(""), payload)},
		{"embedded jwk", other.signRaw(RS256, header(`,"jwk":`+string(must(json.Marshal(other.jwk())))), payload)},
		{"embedded jwk, no kid", other.signRaw(RS256, `{"alg":"RS256","jwk":`+string(must(json.Marshal(other.jwk())))+`}`, payload)},
		{"embedded jwk, well signed", headed(header(`,"jwk":` + string(must(json.Marshal(k1().jwk())))))},
		{"jku", other.signRaw(RS256, header(fmt.Sprintf(`,"jku":%q`, evil.URL)), payload)},
		{"jku, well signed", headed(header(fmt.Sprintf(`,"jku":%q`, evil.URL)))},
		{"x5u", headed(header(fmt.Sprintf(`,"x5u":%q`, evil.URL)))},
		{"x5c of another key", other.signRaw(RS256, header(`,"x5c":["MIIB"]`), payload)},
		{"no kid where several keys fit none", testKey{"", RS256, otherRSAKey()}.signRaw(RS256, `{"alg":"RS256"}`, payload)},
		{"kid unknown", headed(`{"alg":"RS256","kid":"k9"}`)},
		{"kid empty", headed(`{"alg":"RS256","kid":""}`)},
		{"kid null", headed(`{"alg":"RS256","kid":null}`)},
		{"kid a number", headed(`{"alg":"RS256","kid":1}`)},
		{"kid with a path", headed(`{"alg":"RS256","kid":"../../../../dev/null"}`)},
		{"kid with SQL", headed(`{"alg":"RS256","kid":"k1' OR '1'='1"}`)},
		{"kid with a nul", headed(`{"alg":"RS256","kid":"k1\u0000"}`)},
		{"kid very long", headed(`{"alg":"RS256","kid":"` + strings.Repeat("k", 257) + `"}`)},
		{"kid in another case", headed(`{"alg":"RS256","kid":"K1"}`)},

		// The header.
		{"crit", headed(header(`,"crit":["exp"]`))},
		{"crit empty", headed(header(`,"crit":[]`))},
		{"crit unknown extension", headed(header(`,"crit":["x-mine"],"x-mine":1`))},
		{"b64 false", headed(header(`,"b64":false,"crit":["b64"]`))},
		{"b64 true", headed(header(`,"b64":true`))},
		{"zip", headed(header(`,"zip":"DEF"`))},
		{"duplicate alg", headed(`{"alg":"none","alg":"RS256","kid":"k1"}`)},
		{"duplicate alg, escaped", headed(`{"alg":"RS256","\u0061lg":"none","kid":"k1"}`)},
		{"duplicate kid", headed(`{"alg":"RS256","kid":"k1","kid":"k1"}`)},
		{"header with trailing bytes", headed(header("") + "{}")},
		{"header an array", "W10." + part[1] + "." + part[2]},
		{"header with a BOM", headed("\ufeff" + header(""))},
		{"header not UTF-8", headed(header(",\"x\":\"\xff\""))},
		{"header cut off", headed(`{"alg":"RS256"`)},
		{"typ a number", headed(header(`,"typ":1`))},

		// The form.
		{"empty", ""},
		{"dots", ".."},
		{"two parts", part[0] + "." + part[1]},
		{"four parts", good + "." + part[2]},
		{"trailing dot", good + "."},
		{"leading dot", "." + good},
		{"no signature", part[0] + "." + part[1] + "."},
		{"no payload", part[0] + ".." + part[2]},
		{"five parts like a JWE", strings.Join([]string{part[0], part[1], part[2], part[1], part[2]}, ".")},
		{"padding", good + "="},
		{"padding in the payload", part[0] + "." + base64.URLEncoding.EncodeToString([]byte(payload+strings.Repeat(" ", 3-(len(payload)+1)%3))) + "=." + part[2]},
		{"stray bits at the end", strayBits(good)},
		{"standard base64 alphabet", strings.NewReplacer("-", "+", "_", "/").Replace(findDashed(signed, payload))},
		{"white space before", " " + good},
		{"white space after", good + " "},
		{"line break inside", part[0] + ".\n" + part[1] + "." + part[2]},
		{"line break in the signature", good[:len(good)-4] + "\r\n" + good[len(good)-4:]},
		{"nul after", good + "\x00"},
		{"Bearer in the token", "Bearer " + good},
		{"signature cut off", good[:len(good)-4]},
		{"signature of another token", part[0] + "." + b64([]byte(with(`"scope":"all"`))) + "." + part[2]},
		{"too long", k1().signRaw(RS256, header(""), with(`"x":"`+strings.Repeat("x", MaxTokenBytes)+`"`))},
		{"JSON serialization, flattened", fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q}`, part[1], part[0], part[2])},
		{"JSON serialization, general", fmt.Sprintf(`{"payload":%q,"signatures":[{"protected":%q,"signature":%q}]}`, part[1], part[0], part[2])},

		// The claims.
		{"exp zero", signed(expiring("0"))},
		{"exp missing", signed(without(`"exp`))},
		{"exp null", signed(expiring("null"))},
		{"exp a fraction", signed(expiring(fmt.Sprint(exp) + ".5"))},
		{"exp an exponent", signed(expiring("1e12"))},
		{"exp a string", signed(expiring(fmt.Sprintf(`"%d"`, exp)))},
		{"exp negative", signed(expiring("-1"))},
		{"exp in milliseconds", signed(expiring(fmt.Sprint(exp) + "000"))},
		{"exp beyond int64", signed(expiring("9223372036854775808"))},
		{"exp past", signed(expiring(fmt.Sprint(time.Now().Add(-time.Hour).Unix())))},
		{"nbf in the future", signed(with(fmt.Sprintf(`"nbf":%d`, exp)))},
		{"nbf a string", signed(with(`"nbf":"0"`))},
		{"iat in the future", signed(with(fmt.Sprintf(`"iat":%d`, exp)))},
		{"duplicate sub", signed(with(`"sub":"admin"`))},
		{"duplicate iss", signed(`{"iss":"https://evil.example/",` + payload[1:])},
		{"duplicate exp, escaped", signed(with(`"\u0065xp":99999999999`))},
		{"duplicate in a nested claim", signed(with(`"org":{"id":"a","id":"b"}`))},
		{"iss an array", signed(strings.Replace(payload, `"`+testIssuer+`"`, `["`+testIssuer+`"]`, 1))},
		{"iss missing", signed(without(`"iss`))},
		{"iss with another path", signed(strings.Replace(payload, testIssuer, testIssuer+"tenant", 1))},
		{"iss in upper case", signed(strings.Replace(payload, testIssuer, strings.ToUpper(testIssuer), 1))},
		{"sub missing", signed(without(`"sub`))},
		{"sub empty", signed(strings.Replace(payload, `"u1"`, `""`, 1))},
		{"sub a number", signed(strings.Replace(payload, `"u1"`, `1`, 1))},
		{"sub with a line break", signed(strings.Replace(payload, `"u1"`, `"u1\r\nX-Admin: 1"`, 1))},
		{"sub with a C1 control", signed(strings.Replace(payload, `"u1"`, `"u\u0085x"`, 1))},
		{"sub with no-break space around", signed(strings.Replace(payload, `"u1"`, `"\u00a0u1"`, 1))},
		{"sub with half a surrogate pair", signed(strings.Replace(payload, `"u1"`, `"u\ud800"`, 1))},
		{"aud missing", signed(without(`"aud`))},
		{"aud empty array", signed(strings.Replace(payload, `"`+testAudience+`"`, `[]`, 1))},
		{"aud with a number", signed(strings.Replace(payload, `"`+testAudience+`"`, `["`+testAudience+`",1]`, 1))},
		{"aud an object", signed(strings.Replace(payload, `"`+testAudience+`"`, `{"0":"`+testAudience+`"}`, 1))},
		{"aud a prefix", signed(strings.Replace(payload, testAudience, testAudience+"/", 1))},
		{"scope with a tab", signed(with(`"scope":"a\tb"`))},
		{"scope with a quote", signed(with(`"scope":"a\"b"`))},
		{"scope null", signed(with(`"scope":null`))},
		{"scope an object", signed(with(`"scope":{"a":true}`))},
		{"scope array with a number", signed(with(`"scope":["a",1]`))},
		{"scope array with a space inside", signed(with(`"scope":["a b"]`))},
		{"scp with a double space", signed(with(`"scp":"a  b"`))},
		{"jti a number", signed(with(`"jti":1`))},
		{"client_id an array", signed(with(`"client_id":["c"]`))},
		{"azp with a line break", signed(with(`"azp":"c\nd"`))},
		{"claims an array", signed(`[` + payload + `]`)},
		{"claims a string", signed(`"eyJ"`)},
		{"claims empty", signed(`{}`)},
		{"claims with trailing bytes", signed(payload + "{}")},
		{"claims not UTF-8", signed(with("\"x\":\"\xff\""))},
		{"claims nested too deep", signed(with(`"x":` + strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40)))},
		{"claims with a NaN", signed(with(`"x":NaN`))},
		{"claims with a comment", signed(with(`/**/"x":1`))},
	}

	seen := map[string]bool{}
	for _, tc := range attacks {
		if seen[tc.name] {
			t.Errorf("%s: named twice", tc.name)
		}
		seen[tc.name] = true
		t.Run(tc.name, func(t *testing.T) {
			claims, err := v.Verify(t.Context(), tc.token)
			e := wantKind(t, err, InvalidToken)
			if claims != nil {
				t.Error("claims were returned with the refusal")
			}
			for p := range strings.SplitSeq(tc.token, ".") {
				if len(p) > 8 && strings.Contains(e.Error(), p) {
					t.Errorf("the reason %q holds a part of the token", e.Reason)
				}
			}
		})
	}
	if n := evil.fetches.Load(); n != 0 {
		t.Errorf("a token made the verifier fetch keys from its own URL %d times", n)
	}
	// The attacks with unknown kids and bad signatures share one refetch.
	if n := server.fetches.Load(); n > 2 {
		t.Errorf("%d fetches of the key set, want at most 2", n)
	}

	t.Run("good twin", func(t *testing.T) {
		if _, err := v.Verify(t.Context(), good); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGoodTokensPass holds what strictness must not lock out.
func TestGoodTokensPass(t *testing.T) {
	keys := []testKey{
		k1(), e1(), o1(),
		{"ps", PS256, rsaKey()},
		{"ps5", PS512, rsaKey()},
		{"rs3", RS384, rsaKey()},
		{"e384", ES384, ec384Key()},
		{"e521", ES512, ec521Key()},
	}
	server := newKeyServer(t, keys...)
	v := verifierFor(t, newHolder(t, KeyConfig{JWKSURL: server.URL}))
	pass := func(name, token string) {
		t.Run(name, func(t *testing.T) {
			if _, err := v.Verify(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		})
	}

	for _, k := range keys {
		pass(string(k.alg)+" "+k.kid, k.token())
	}
	pass("kid missing where one key fits", testKey{"", ES384, ec384Key()}.token())
	pass("x5t and x5c are ignored", k1().tokenWith(map[string]any{"x5t": "abc", "x5c": []string{"MIIB"}}))
	pass("unknown header parameter", k1().tokenWith(map[string]any{"nonce": "n", "cty": "x"}))
	pass("iat and nbf a little ahead", k1().token(map[string]any{"iat": time.Now().Unix() + 20, "nbf": time.Now().Unix() + 20}))
	pass("expired a little", k1().token(map[string]any{"exp": time.Now().Unix() - 20}))
	pass("nbf zero", k1().token(map[string]any{"nbf": 0}))
	pass("sub of 1024 characters", k1().token(map[string]any{"sub": strings.Repeat("ü", 1024)}))
	pass("spaces around the JSON", k1().signRaw(RS256, `{"alg":"RS256","kid":"k1"} `, fmt.Sprintf("\n{\"iss\":%q,\"aud\":%q,\"sub\":\"u1\",\"exp\":%d}\n", testIssuer, testAudience, time.Now().Unix()+60)))
}

func TestAlgorithmOutsideTheListIsRefusedBeforeKeysAreFetched(t *testing.T) {
	server := newKeyServer(t, k1(), e1())
	v := newTestVerifier(t, Config{
		Issuers:   []IssuerConfig{{Issuer: testIssuer, Keys: newHolder(t, KeyConfig{JWKSURL: server.URL}), Algorithms: []Algorithm{RS256}}},
		Audiences: []string{testAudience},
	})
	_, err := v.Verify(t.Context(), e1().token())
	wantKind(t, err, InvalidToken)
	_, err = v.Verify(t.Context(), k1().token(map[string]any{"iss": "https://evil.example/"}))
	wantKind(t, err, InvalidToken)
	_, err = v.Verify(t.Context(), k1().token(map[string]any{"exp": 1}))
	wantKind(t, err, InvalidToken)
	if n := server.fetches.Load(); n != 0 {
		t.Fatalf("%d fetches for tokens that no key could have saved", n)
	}
}

// TestBadFormIsRefusedBeforeKeysAreLookedUp covers what the key set would
// refuse as well, only later.
func TestBadFormIsRefusedBeforeKeysAreLookedUp(t *testing.T) {
	for _, header := range []string{
		`{"alg":"RS256","kid":"` + strings.Repeat("k", 257) + `"}`, `{"alg":"RS256","kid":"k1\u0000"}`,
		`{"alg":"RS256","kid":""}`, `{"alg":"RS256","kid":1}`, `{"alg":"none"}`, `{"alg":"HS256"}`,
	} {
		if parsed, err := parseCompact(k1().signRaw(RS256, header, "{}")); err == nil {
			t.Errorf("%s gave %+v", header, parsed)
		}
	}
	for _, exp := range []string{`0`, `-1`, `-0`, `1.0`, `1e3`, `"1"`, `null`, `true`, `[1]`, `253402300800`} {
		if claims, err := mapClaims([]byte(`{"iss":"i","aud":"a","sub":"s","exp":` + exp + `}`)); err == nil {
			t.Errorf("exp %s gave %+v", exp, claims)
		}
	}
}

func TestTokenInTheQueryIsNotLookedAt(t *testing.T) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://gw.example/mcp?access_token="+k1().token(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if token, err := Bearer(r.Header); token != "" || err == nil {
		t.Fatalf("got %q, %v", token, err)
	}
}

// strayBits changes bits of the last character that carry no data: another
// spelling of the same signature.
func strayBits(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])

	return token[:len(token)-1] + string(alphabet[last^1])
}

// findDashed returns a token whose text differs between the two alphabets.
func findDashed(sign func(string) string, payload string) string {
	for i := 0; ; i++ {
		token := sign(strings.TrimSuffix(payload, "}") + fmt.Sprintf(`,"n":%d}`, i))
		if strings.ContainsAny(token, "-_") {
			return token
		}
	}
}
