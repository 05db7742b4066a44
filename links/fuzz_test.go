package links

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const dummyOrigin = "https://app.invalid"

// FuzzParseAppURL compares our verdict with three readers that know nothing of
// it: net/url, a WHATWG parser where Node is installed, and repeated decoding
// with path cleaning. Whatever we accept stays on its origin, stays in its path,
// and comes back unchanged out of a link.
func FuzzParseAppURL(f *testing.F) {
	seedCases(f)

	b := browserFor(f)

	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseAppURL(s)
		if err != nil {
			checkFault(t, err, s)

			return
		}

		if string(u) != s || len(s) > MaxAppURL || !utf8.ValidString(s) {
			t.Fatalf("ParseAppURL(%q) = %q", s, u)
		}

		rawPath, rawQuery, _ := strings.Cut(s, "?")
		checkCleaning(t, rawPath)

		base, _ := url.Parse(dummyOrigin)

		ref, err := url.Parse(s)
		if err != nil {
			t.Fatalf("net/url refuses %q: %v", s, err)
		}

		got := base.ResolveReference(ref)
		if got.Scheme+"://"+got.Host != dummyOrigin || got.User != nil || got.Fragment != "" ||
			got.Path != u.Path() || got.RawQuery != rawQuery {
			t.Fatalf("net/url reads %q as %q", s, got)
		}

		asked := []string{s, join(t, u)}
		for _, p := range []Platform{Desktop, Mobile, Web} {
			asked = append(asked, roundTrip(t, AppLink{PluginID: "p", Tool: "t", Path: u, Platform: p}))
		}

		query, _ := unescape(rawQuery)
		for i, got := range b.parse(t, asked...) {
			ok := got.Href == asked[i] && got.Param == s // a link, unchanged

			switch i {
			case 0:
				ok = got.Origin == dummyOrigin && got.Path == u.Path() && strings.TrimPrefix(got.Search, "?") == query
			case 1:
				ok = got.Origin == dummyOrigin && (u == "/" || got.Path == "/shop"+u.Path())
			}

			if !ok {
				t.Fatalf("browser reads %q as %+v", asked[i], got)
			}
		}
	})
}

// FuzzAppLinkParse: whatever parses builds, and the built link is the same link.
func FuzzAppLinkParse(f *testing.F) {
	for _, s := range []string{
		"codex://plugins/bits-and-bolts/app/cad.library?path=%2Fparts%3Ftag%3Dbolt%26sort%3Dasc",
		"chatgpt://plugins/a%40b/app/x%2Fy?path=/a/b",
		"https://chatgpt.com/plugins/a/app/b",
		"codex://plugins/a@b/app/c?path=%2F",
		"codex://plugins/%2e%2e/app/c",
		"codex://plugins/a/app/b?path=/parts?tag=bolt&sort=asc",
	} {
		f.Add(s)
	}

	b := browserFor(f)

	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseAppLink(s)
		if errors.Is(err, ErrNotAppLink) {
			return
		}

		if err != nil {
			checkFault(t, err, s)

			return
		}

		link := roundTrip(t, l)

		plugin := l.PluginID
		if l.Marketplace != "" {
			plugin += "@" + l.Marketplace
		}

		// In the other two schemes "plugins" is the host.
		want := "/" + plugin + "/app/" + l.Tool
		if l.Platform == Web {
			want = "/plugins" + want
		}

		for _, got := range b.parse(t, s, link) {
			if got.Path != want || got.Param != "" && got.Param != string(l.Path) {
				t.Fatalf("browser reads %q as %+v, we read %+v", s, got, l)
			}
		}
	})
}

// FuzzAppLinkBuild: whatever builds parses to what it was built from.
func FuzzAppLinkBuild(f *testing.F) {
	f.Add("inv", "acme", "board", "/a?b=c", "desktop")
	f.Add("a/b", "", "x/y", "/", "web")
	f.Add("..", "@", "a%2Fb", "//", "mobile")

	b := browserFor(f)

	f.Fuzz(func(t *testing.T, id, marketplace, tool, path, platform string) {
		l := AppLink{PluginID: id, Marketplace: marketplace, Tool: tool, Path: AppURL(path), Platform: Platform(platform)}

		if _, err := l.Build(); err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("error = %v, want *Error", err)
			}

			return
		}

		if l.Path == "" {
			l.Path = "/"
		}

		link := roundTrip(t, l)
		for _, got := range b.parse(t, link) {
			if got.Href != link || got.Param != string(l.Path) {
				t.Fatalf("browser reads %q as %+v", link, got)
			}
		}
	})
}

// FuzzNavigateArguments: a lenient reader sees one member and the same URL.
func FuzzNavigateArguments(f *testing.F) {
	f.Add([]byte(`{"url":"/a?b=c"}`))
	f.Add([]byte(`{"url":"/a","URL":"/b"}`))
	f.Add([]byte(`{"ur\u006c":"/\u00e9"} `))

	f.Fuzz(func(t *testing.T, raw []byte) {
		u, err := NavigateArguments(raw)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("error = %v, want *Error", err)
			}

			return
		}

		var members map[string]string
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", raw, err)
		}

		if len(members) != 1 || members["url"] != string(u) {
			t.Fatalf("encoding/json reads %q as %v, we read %q", raw, members, u)
		}

		if _, err := ParseAppURL(string(u)); err != nil {
			t.Fatalf("passed %q: %v", u, err)
		}
	})
}

// FuzzParseOpenRequest: whatever the opener accepts has links that are safe to
// redirect to.
func FuzzParseOpenRequest(f *testing.F) {
	f.Add("cad.library?path=%2Fparts&platform=web")
	f.Add("a?path=//evil.example")

	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseOpenRequest(s)
		if err != nil {
			checkFault(t, err, s)

			return
		}

		fallback, err := ParseFallback("https://app.example.com/shop")
		if err != nil {
			t.Fatal(err)
		}

		choices, err := Opener{PluginID: "p", Fallback: fallback}.Choices(r.Tool, r.Path)
		if err != nil || len(choices) != 4 {
			t.Fatalf("Choices(%+v) = %v, %v", r, choices, err)
		}

		for _, c := range choices {
			if strings.ContainsFunc(c.URL, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'<>\`, r) }) {
				t.Fatalf("unsafe link %q", c.URL)
			}
		}
	})
}

// FuzzParseFallback: the host is the one that net/url sees.
func FuzzParseFallback(f *testing.F) {
	f.Add("https://shop.example/settings", "/a")
	f.Add("https://[::1]:8443", "/?q")
	f.Add(`https://shop.example\@evil.example`, "//evil.example")

	f.Fuzz(func(t *testing.T, base, app string) {
		fallback, err := ParseFallback(base)
		if err != nil {
			checkFault(t, err, base)

			return
		}

		want, err := url.Parse(base)
		if err != nil || want.User != nil || want.RawQuery != "" || want.Fragment != "" {
			t.Fatalf("net/url reads %q as %v, %v", base, want, err)
		}

		joined, err := fallback.Join(AppURL(app))
		if err != nil {
			return
		}

		got, err := url.Parse(joined)
		if err != nil || got.Scheme != "https" || !strings.EqualFold(got.Host, want.Host) || got.User != nil || got.Fragment != "" ||
			!strings.HasPrefix(got.Path, strings.TrimSuffix(want.Path, "/")) {
			t.Fatalf("%q joined with %q is %q", base, app, joined)
		}
	})
}

var pathParameter = regexp.MustCompile(`;[^/]*`)

// checkCleaning decodes a path until it is stable and fails if any reading of it
// on the way holds a dot segment, leaves for another host, or is cleaned away.
func checkCleaning(t *testing.T, raw string) {
	t.Helper()

	for p := raw; ; {
		for _, reading := range []string{p, pathParameter.ReplaceAllString(p, "")} {
			reading, _, _ = strings.Cut(strings.ReplaceAll(reading, `\`, "/"), "?")

			if strings.HasPrefix(reading, "//") {
				t.Fatalf("%q names another host as %q", raw, reading)
			}

			var kept []string

			for segment := range strings.SplitSeq(reading, "/") {
				if segment != "" {
					kept = append(kept, segment)
				}
			}

			if got, want := path.Clean(reading), "/"+strings.Join(kept, "/"); got != want {
				t.Fatalf("%q cleans to %q as %q", raw, got, reading)
			}
		}

		next, err := url.PathUnescape(p)
		if err != nil || next == p {
			return
		}

		p = next
	}
}

// roundTrip builds, parses and builds again, and returns the link.
func roundTrip(t *testing.T, l AppLink) string {
	t.Helper()

	link, err := l.Build()
	if err != nil {
		t.Fatalf("%+v.Build(): %v", l, err)
	}

	again, err := ParseAppLink(link)
	if err != nil || again != l {
		t.Fatalf("ParseAppLink(%q) = %+v, %v, want %+v", link, again, err, l)
	}

	if relink, err := again.Build(); err != nil || relink != link {
		t.Fatalf("built %q, then %q, %v", link, relink, err)
	}

	return link
}

// join joins u with a fallback, asks net/url where that leads, and returns it.
func join(t *testing.T, u AppURL) string {
	t.Helper()

	joined, err := Fallback{origin: dummyOrigin, path: "/shop"}.Join(u)
	if err != nil {
		t.Fatalf("Join(%q): %v", u, err)
	}

	got, err := url.Parse(joined)
	if err != nil || got.Scheme+"://"+got.Host != dummyOrigin || u != "/" && got.Path != "/shop"+u.Path() {
		t.Fatalf("Join(%q) = %q, %v", u, joined, err)
	}

	return joined
}

// checkFault promises that the position lies in the input and that the text can
// be printed on a terminal.
func checkFault(t *testing.T, err error, in string) {
	t.Helper()

	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error = %v, want *Error", err)
	}

	if e.Offset < 0 || e.Offset > len(in) || e.Part == "" || e.Reason == "" {
		t.Fatalf("fault %+v of %q", e, in)
	}

	if i := strings.IndexFunc(e.Error(), func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		t.Fatalf("message %q is not plain ASCII", e.Error())
	}
}

// seedCases adds the URLs of the case file.
func seedCases(f *testing.F) {
	f.Helper()

	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		f.Fatal(err)
	}

	var cases []struct {
		Feature string
		Input   any
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		f.Fatal(err)
	}

	for _, c := range cases {
		if s, ok := c.Input.(string); ok && c.Feature == "deeplink.url" {
			f.Add(s)
		}
	}
}
