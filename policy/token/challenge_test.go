package token

import (
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

func TestChallengeHeader(t *testing.T) {
	const meta = "https://gw.example/.well-known/oauth-protected-resource/mcp"
	for _, tc := range []struct {
		name string
		c    Challenge
		want string
	}{
		{"bare", Challenge{}, `Bearer`},
		{"no credentials", Challenge{ResourceMetadata: meta, Scopes: []string{"a", "b"}}, `Bearer resource_metadata="` + meta + `", scope="a b"`},
		{
			"everything",
			Challenge{ResourceMetadata: meta, Scopes: []string{"a"}, Error: InsufficientScope, Description: "more scopes are needed"},
			`Bearer resource_metadata="` + meta + `", scope="a", error="insufficient_scope", error_description="more scopes are needed"`,
		},
		{"error alone", Challenge{Error: string(InvalidToken)}, `Bearer error="invalid_token"`},
		{"repeated and bad scopes", Challenge{Scopes: []string{"a", "a", "b c", "", `d"`, "e\r\n", "f"}}, `Bearer scope="a f"`},
		{"quotes in the URL", Challenge{ResourceMetadata: `https://h/"\ä` + "\r\n"}, `Bearer resource_metadata="https://h/%22%5C%C3%A4%0D%0A"`},
		{"quotes in the description", Challenge{Description: " say \"no\\\r\nX-Evil: 1\" ä "}, `Bearer error_description="say 'no/  X-Evil: 1'"`},
		{"bad error", Challenge{Error: `x", realm="y`}, `Bearer`},
	} {
		if got := tc.c.Header(); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

func TestChallengeIsBounded(t *testing.T) {
	var scopes []string
	for range 1000 {
		scopes = append(scopes, strings.Repeat("s", len(scopes)%90+1)+strings.Repeat("x", len(scopes)/90))
	}
	c := Challenge{Scopes: append([]string{"needed"}, scopes...), Description: strings.Repeat("long ", 1000)}
	header := c.Header()
	if len(header) > maxScopeBytes+maxDescription+100 || !strings.Contains(header, `scope="needed s `) {
		t.Fatalf("%d bytes: %.60s", len(header), header)
	}
}

func TestParseChallenge(t *testing.T) {
	for _, tc := range []struct {
		value string
		want  Challenge
	}{
		{`Bearer`, Challenge{}},
		{`bearer error=invalid_token`, Challenge{Error: "invalid_token"}},
		{`Bearer realm="a, b", scope = "x y" ,error="e"`, Challenge{Scopes: []string{"x", "y"}, Error: "e"}},
		{`Bearer error_description="say \"no\""`, Challenge{Description: `say "no"`}},
		{`Basic realm="x", Bearer error="e"`, Challenge{Error: "e"}},
		{`Negotiate YWJj==, Bearer scope="a"`, Challenge{Scopes: []string{"a"}}},
		{`Negotiate, Bearer, Basic realm="y"`, Challenge{}},
		{`DPoP algs="ES256", Bearer resource_metadata="https://h/m", DPoP error="x"`, Challenge{ResourceMetadata: "https://h/m"}},
		{` , Bearer error="e",`, Challenge{Error: "e"}},
	} {
		got, err := ParseChallenge(tc.value)
		if err != nil || len(got.Scopes) != len(tc.want.Scopes) || got.Header() != tc.want.Header() || got.Description != tc.want.Description {
			t.Errorf("%s gave %+v, %v", tc.value, got, err)
		}
	}
	for _, value := range []string{
		"", "Basic", `Basic realm="Bearer"`, `Bearer error="e`, `Bearer error="e\`, `Bearer error="e" scope="s"`,
		`Bearer error="a", error="b"`, `Bearer "x"`, `Bearer =x`, `Bearer/error="e"`, `"Bearer"`,
	} {
		if got, err := ParseChallenge(value); err == nil {
			t.Errorf("%q gave %+v", value, got)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add("https://h/m", "a b", "invalid_token", "text")
	f.Add("https://h/\"\\\r\n", "a\"b \\", "x\", y=\"z", "say \"no\", \\ \x00\xff ä")
	f.Add("", " ", "", ",=\"")
	f.Fuzz(func(t *testing.T, meta, scopes, code, description string) {
		c := Challenge{meta, strings.Split(scopes, " "), code, description}
		header := c.Header()
		for i := range len(header) {
			if header[i] < ' ' || header[i] > '~' || header[i] == '\\' {
				t.Fatalf("%q holds byte %#x", header, header[i])
			}
		}

		ours, err := ParseChallenge(header)
		if err != nil {
			t.Fatalf("%q: %v", header, err)
		}
		if ours.Header() != header {
			t.Fatalf("%q was read as %+v", header, ours)
		}
		theirs, err := oauthex.ParseWWWAuthenticate([]string{header})
		if err != nil || len(theirs) != 1 || theirs[0].Scheme != "bearer" {
			t.Fatalf("%q: the client reads %+v, %v", header, theirs, err)
		}
		want := map[string]string{}
		for name, value := range map[string]string{
			"resource_metadata": ours.ResourceMetadata, "scope": strings.Join(ours.Scopes, " "),
			"error": ours.Error, "error_description": ours.Description,
		} {
			if value != "" {
				want[name] = value
			}
		}
		if got := theirs[0].Params; len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: the client reads %q, we read %q", header, got, want)
		}
	})
}

func FuzzParseChallenge(f *testing.F) {
	for _, seed := range []string{`Bearer`, `Basic realm="x", Bearer error="e"`, `Negotiate YWJj==, Bearer scope="a"`, `Bearer a="\"`, `Bearer a=b,,c=d`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if c, err := ParseChallenge(value); err == nil {
			// What was understood can be written again.
			if _, err := ParseChallenge(c.Header()); err != nil {
				t.Fatalf("%q was read as %+v, whose header does not parse: %v", value, c, err)
			}
		}
	})
}
