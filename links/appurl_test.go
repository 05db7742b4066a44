package links

import (
	"errors"
	"strings"
	"testing"
)

// fault is what a test expects of an *Error. Reason is a part of it.
type fault struct {
	part   string
	offset int
	reason string
}

func wantFault(t *testing.T, err error, want fault) {
	t.Helper()

	got, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error = %v, want *Error %+v", err, want)
	}

	if got.Part != want.part || got.Offset != want.offset || !strings.Contains(got.Reason, want.reason) {
		t.Errorf("error = %q, want %+v", got, want)
	}
}

// TestFaultNamesReasonAndByte promises what a command line shows under the input.
func TestFaultNamesReasonAndByte(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name, in string
		want     fault
	}{
		{"empty", "", fault{"url", 0, "empty"}},
		{"long", "/" + strings.Repeat("a", 2048), fault{"url", 2048, "2048 bytes"}},
		{"long in bytes only", "/" + strings.Repeat("é", 1024), fault{"url", 2048, "2048 bytes"}},
		{"relative", "a", fault{"path", 0, "begin with a slash"}},
		{"two slashes", "//a", fault{"path", 1, "two slashes"}},
		{"encoded second slash", "/%2Fa", fault{"path", 1, "two slashes"}},
		{"two slashes after cutting", "/;x=1/a", fault{"path", 1, "path parameter is cut"}},
		{"fragment", "/ab#c", fault{"path", 3, "fragment"}},
		{"fragment before the question mark", "/a#b?c", fault{"path", 2, "fragment"}},
		{"fragment after the query", "/a?b#c", fault{"query", 4, "fragment"}},
		{"encoded fragment sign in path", "/%C3%A9%23", fault{"path", 7, "fragment sign U+0023"}},
		{"backslash", `/a\b`, fault{"path", 2, "backslash"}},
		{"raw space in path", "/a b", fault{"path", 2, "raw space"}},
		{"raw space in query", "/a?b c", fault{"query", 4, "raw space"}},
		{"dot segment at the end", "/a/b/..", fault{"path", 5, "dot segment"}},
		{"dot segment after escapes", "/%C3%A9/%2e%2E/b", fault{"path", 8, "dot segment"}},
		{"dot segment with parameter", "/a/..;v=1/b", fault{"path", 3, "dot segment"}},
		{"dot segment with encoded parameter", "/a/..%3Bv/b", fault{"path", 3, "dot segment"}},
		{"dot segment before encoded query", "/a/..%3Fb", fault{"path", 3, "dot segment"}},
		{"dot segment with outer space", "/a/..%20/b", fault{"path", 3, "dot segment"}},
		{"dot segment between encoded slashes", "/a%2f.%2fb", fault{"path", 5, "dot segment"}},
		{"double encoding", "/a/%252e", fault{"path", 3, "twice"}},
		{"double encoding of single bytes", "/%25%32%65", fault{"path", 1, "twice"}},
		{"double encoding of the u form", "/a%25u002e", fault{"path", 2, "twice"}},
		{"u form", "/a%u002e", fault{"path", 2, "malformed"}},
		{"overlong dot", "/a/%C0%AE", fault{"path", 3, "UTF-8"}},
		{"overlong slash, three bytes", "/a%E0%80%AFb", fault{"path", 2, "UTF-8"}},
		{"encoded surrogate", "/%ED%A0%80", fault{"path", 1, "UTF-8"}},
		{"raw surrogate", "/a\xED\xA0\x80", fault{"path", 2, "UTF-8"}},
		{"raw and encoded halves of one character", "/a\xC3%A9", fault{"path", 2, "UTF-8"}},
		{"C1", "/\u0085", fault{"path", 1, "control character U+0085"}},
		{"encoded C1", "/a%C2%9B", fault{"path", 2, "control character U+009B"}},
		{"raw line separator", "/a\u2028", fault{"path", 2, "line separator"}},
		{"bidi override", "/a\u202Eb", fault{"path", 2, "bidirectional control U+202E"}},
		{"encoded bidi isolate", "/%E2%81%A6", fault{"path", 1, "bidirectional control U+2066"}},
		{"tab in query", "/a?b\tc", fault{"query", 4, "control character"}},
		{"C1 in query", "/a?b\u0080", fault{"query", 4, "control character"}},
		{"encoded C1 in query", "/a?%C2%85", fault{"query", 3, "control character"}},
		{"encoded DEL in query", "/a?b=%7F", fault{"query", 5, "control character"}},
		{"encoded paragraph separator in query", "/a?b=%E2%80%A9", fault{"query", 5, "line separator"}},
		{"malformed escape in query", "/a?b=100%", fault{"query", 8, "malformed"}},
		{"control hidden in bad UTF-8", "/a?b=%85", fault{"query", 5, "UTF-8"}},
		{"control hidden in an overlong form", "/a?b=%C0%8A", fault{"query", 5, "UTF-8"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			_, err := ParseAppURL(tt.in)
			wantFault(t, err, tt.want)
		})
	}
}

// TestQueryMaySayWhatItLikes keeps the strictness of paths away from data.
func TestQueryMaySayWhatItLikes(t *testing.T) {
	t.Parallel()

	for _, in := range []string{
		"/?",
		"/a?../..//x",
		`/a?p=C:\tmp`,
		"/a?%2e%2e%2f&x=..;y",
		"/a?next=%252F%250A",
		"/a?q=\u05D0\u200F\u202E",
		"/a?q=<script>\"'`{}|^",
		"/a??;&&==",
		"/what%3F",
		"/a;v=1/b",
		"/a/;/b",
		"/%E2%9C%93/50%25off",
		"/" + strings.Repeat("é", 1023) + "a",
	} {
		got, err := ParseAppURL(in)
		if err != nil || string(got) != in {
			t.Errorf("ParseAppURL(%q) = %q, %v, want it unchanged", in, got, err)
		}
	}
}

// TestMatchKeepsTenantsApart: a pattern per tenant is a boundary, so everything
// doubtful is outside.
func TestMatchKeepsTenantsApart(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		url     AppURL
		pattern string
		want    bool
	}{
		{"/t/acme", "/t/acme/*", true},
		{"/t/acme/", "/t/acme/*", true},
		{"/t/acme/x?y=/t/globex", "/t/acme/*", true},
		{"/t/%61cme/x", "/t/acme/*", true},
		{"/t/acme%2Fx", "/t/acme/*", true},
		{"/t/acmex", "/t/acme/*", false},
		{"/t/Acme/x", "/t/acme/*", false},
		{"/t/globex/x", "/t/acme/*", false},
		{"/t/acme;x/y", "/t/acme/*", false},
		{"/t//acme/x", "/t/acme/*", false},
		{"/?/t/acme/x", "/t/acme/*", false},
		{"/t/acme/../globex", "/t/acme/*", false},
		{"//t/acme/x", "/*", false},
		{"/x", "/t//*", false},
		{"/t/x", "/t//*", false},
		{"/t/globex", "/t/../t/globex/*", false},
		{"/t/globex", "/t/./*", false},
		{"/t/acme", "//*", false},
		{"/t/acme", "t/acme/*", false},
		{"/t/acme", "", false},
		{"/t/acme", "/", false},
		{"/", "/", true},
		{"/", "/*", true},
		{"/t/acme", "/*", true},
		{"/t/acme", "/t/acme", true},
		{"/t/acme/x", "/t/acme", false},
		{"/t/x/y", "/t/*/*", false},
	} {
		if got := tt.url.Match(tt.pattern); got != tt.want {
			t.Errorf("AppURL(%q).Match(%q) = %v, want %v", tt.url, tt.pattern, got, tt.want)
		}
	}
}
