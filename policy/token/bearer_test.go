package token

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestBearerTellsNoCredentialsFromMalformedOnes(t *testing.T) {
	const valid = "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"
	for _, tc := range []struct {
		name  string
		lines []string
		token string // if accepted
		none  bool   // ErrNoToken; otherwise invalid_request
	}{
		{name: "no header", none: true},
		{name: "empty header", lines: []string{""}, none: true},
		{name: "other scheme", lines: []string{"Basic dTpw"}, none: true},
		{name: "other scheme alone", lines: []string{"Negotiate"}, none: true},
		{name: "other scheme with parameters", lines: []string{`Digest username="u", realm="r"`}, none: true},
		{name: "token without scheme", lines: []string{valid}, none: true},
		{name: "one space", lines: []string{"Bearer " + valid}, token: valid},
		{name: "many spaces, any case", lines: []string{"bEaReR    " + valid}, token: valid},
		{name: "opaque", lines: []string{"Bearer abc123"}, token: "abc123"},
		{name: "padded", lines: []string{"Bearer YWI+/~._-=="}, token: "YWI+/~._-=="},
		{name: "scheme alone", lines: []string{"Bearer"}},
		{name: "scheme and space", lines: []string{"Bearer "}},
		{name: "no separator", lines: []string{"Bearer" + valid}},
		{name: "tab", lines: []string{"Bearer\t" + valid}},
		{name: "space and tab", lines: []string{"Bearer \t" + valid}},
		{name: "colon", lines: []string{"Bearer: " + valid}},
		{name: "quoted", lines: []string{`Bearer "` + valid + `"`}},
		{name: "trailing text", lines: []string{"Bearer " + valid + " x"}},
		{name: "trailing space", lines: []string{"Bearer " + valid + " "}},
		{name: "two tokens", lines: []string{"Bearer " + valid + ", Bearer " + valid}},
		{name: "comma", lines: []string{"Bearer " + valid + ","}},
		{name: "JSON serialization", lines: []string{`Bearer {"payload":"e30","signatures":[]}`}},
		{name: "only padding", lines: []string{"Bearer ="}},
		{name: "padding inside", lines: []string{"Bearer a=b"}},
		{name: "line break", lines: []string{"Bearer " + valid + "\r\nX-Evil: 1"}},
		{name: "nul", lines: []string{"Bearer " + valid + "\x00"}},
		{name: "not ASCII", lines: []string{"Bearer tök"}},
		{name: "percent", lines: []string{"Bearer a%20b"}},
		{name: "no scheme but a quote", lines: []string{`"Bearer" ` + valid}},
		{name: "leading space", lines: []string{" Bearer " + valid}},
		{name: "repeated", lines: []string{"Bearer " + valid, "Bearer " + valid}},
		{name: "repeated, other schemes", lines: []string{"Basic dTpw", "Bearer " + valid}},
		{name: "repeated, one empty", lines: []string{"", "Bearer " + valid}},
		{name: "longest", lines: []string{"Bearer " + strings.Repeat("a", MaxTokenBytes-7)}, token: strings.Repeat("a", MaxTokenBytes-7)},
		{name: "too long", lines: []string{"Bearer " + strings.Repeat("a", MaxTokenBytes-6)}},
		{name: "too long, other scheme", lines: []string{"Negotiate " + strings.Repeat("a", MaxTokenBytes)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := http.Header{}
			for _, line := range tc.lines {
				h.Add("Authorization", line)
			}
			token, err := Bearer(h)
			switch {
			case tc.token != "":
				if err != nil || token != tc.token {
					t.Fatalf("got %q, %v", token, err)
				}
			case tc.none:
				if !errors.Is(err, ErrNoToken) {
					t.Fatalf("got %q, %v, want ErrNoToken", token, err)
				}
			default:
				e := wantKind(t, err, InvalidRequest)
				if token != "" || strings.Contains(e.Reason, valid) {
					t.Fatalf("token %q or reason %q gives the token away", token, e.Reason)
				}
			}
		})
	}
}

func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"", "Bearer abc", "bearer  a.b.c", "Bearer\ta", "Basic dTpw", "Bearer a, Bearer b", "Bearer a=", "\"", "Bearer =\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		token, err := Bearer(http.Header{"Authorization": {value}})
		if err == nil {
			if !strings.EqualFold(value[:6], "bearer") || !strings.HasSuffix(value, " "+token) || !isB64Token(token) {
				t.Fatalf("%q gave token %q", value, token)
			}
			if strings.Trim(value[6:len(value)-len(token)], " ") != "" {
				t.Fatalf("%q: something else than spaces before the token", value)
			}
			return
		}
		if token != "" {
			t.Fatalf("%q: token %q with error %v", value, token, err)
		}
		if !errors.Is(err, ErrNoToken) {
			wantKind(t, err, InvalidRequest)
		}
	})
}
