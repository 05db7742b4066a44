package links

import (
	"errors"
	"strings"
	"testing"
)

// TestBuildMatchesPublishedForms: the links are the ones the extension shows,
// byte for byte.
func TestBuildMatchesPublishedForms(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		link AppLink
		want string
	}{
		{
			AppLink{PluginID: "bits-and-bolts", Tool: "cad.library", Path: "/parts?tag=bolt&sort=asc", Platform: Desktop},
			"codex://plugins/bits-and-bolts/app/cad.library?path=%2Fparts%3Ftag%3Dbolt%26sort%3Dasc",
		},
		{
			AppLink{PluginID: "inv", Marketplace: "acme", Tool: "board", Platform: Desktop},
			"codex://plugins/inv@acme/app/board?path=%2F",
		},
		{AppLink{PluginID: "inv", Tool: "board", Platform: Mobile}, "chatgpt://plugins/inv/app/board?path=%2F"},
		{AppLink{PluginID: "inv", Tool: "board", Platform: Web}, "https://chatgpt.com/plugins/inv/app/board?path=%2F"},
		{AppLink{PluginID: "a/b", Tool: "x/y", Platform: Mobile}, "chatgpt://plugins/a%2Fb/app/x%2Fy?path=%2F"},
		{
			AppLink{PluginID: "a@b", Marketplace: "c@d e", Tool: "é(1)", Path: "/?q=1+1%20", Platform: Desktop},
			"codex://plugins/a%40b@c%40d%20e/app/%C3%A9%281%29?path=%2F%3Fq%3D1%2B1%2520",
		},
	} {
		got, err := tt.link.Build()
		if err != nil || got != tt.want {
			t.Errorf("%+v.Build() = %q, %v, want %q", tt.link, got, err, tt.want)

			continue
		}

		again, err := ParseAppLink(got)
		if tt.link.Path == "" {
			tt.link.Path = "/"
		}

		if err != nil || again != tt.link {
			t.Errorf("ParseAppLink(%q) = %+v, %v, want %+v", got, again, err, tt.link)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		edit func(*AppLink)
		want fault
	}{
		{"ordinary application", func(l *AppLink) { l.Platform = App }, fault{"platform", 0, "not one of"}},
		{"no plugin", func(l *AppLink) { l.PluginID = "" }, fault{"plugin id", 0, "empty"}},
		{"long plugin", func(l *AppLink) { l.PluginID = strings.Repeat("p", 257) }, fault{"plugin id", 256, "256 bytes"}},
		{"long tool", func(l *AppLink) { l.Tool = strings.Repeat("p", 129) }, fault{"tool", 128, "128 bytes"}},
		{"long marketplace", func(l *AppLink) { l.Marketplace = strings.Repeat("p", 129) }, fault{"marketplace", 128, "128 bytes"}},
		{"blank tool", func(l *AppLink) { l.Tool = " \u3000" }, fault{"tool", 0, "blank"}},
		{"dots", func(l *AppLink) { l.PluginID = ".." }, fault{"plugin id", 0, "dot segment"}},
		{"dots with parameter", func(l *AppLink) { l.Tool = "..;x" }, fault{"tool", 0, "dot segment"}},
		{"dots inside", func(l *AppLink) { l.Tool = "a/../b" }, fault{"tool", 2, "dot segment"}},
		{"dot marketplace", func(l *AppLink) { l.Marketplace = "." }, fault{"marketplace", 0, "dot segment"}},
		{"backslash", func(l *AppLink) { l.Tool = `..\a` }, fault{"tool", 2, "backslash"}},
		{"encoded already", func(l *AppLink) { l.PluginID = "a%2Fb" }, fault{"plugin id", 1, "plain name"}},
		{"control", func(l *AppLink) { l.Tool = "a\nb" }, fault{"tool", 1, "control character U+000A"}},
		{"bidi", func(l *AppLink) { l.Tool = "a\u202Eb" }, fault{"tool", 1, "bidirectional"}},
		{"not UTF-8", func(l *AppLink) { l.Tool = "a\xFF" }, fault{"tool", 1, "UTF-8"}},
		{"bad path", func(l *AppLink) { l.Path = "/a/.." }, fault{"path", 3, "dot segment"}},
		{"web with marketplace", func(l *AppLink) { l.Platform, l.Marketplace = Web, "m" }, fault{"marketplace", 0, "web link"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			l := AppLink{PluginID: "inv", Tool: "board", Path: "/", Platform: Desktop}
			tt.edit(&l)

			_, err := l.Build()
			wantFault(t, err, tt.want)
		})
	}
}

func TestParseAppLinkShowsTheFault(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name, in string
		want     fault
	}{
		{"upper case scheme", "Codex://plugins/a/app/b", fault{"link", 0, "lower case"}},
		{"upper case host", "https://ChatGPT.com/plugins/a/app/b", fault{"link", 8, "lower case"}},
		{"fragment", "codex://plugins/a/app/b?path=%2F#x", fault{"link", 32, "fragment"}},
		{"long", "codex://plugins/a/app/b?path=%2F" + strings.Repeat("x", 8192), fault{"link", 8192, "8192 bytes"}},
		{"no plugin", "codex://plugins//app/b", fault{"plugin id", 16, "empty"}},
		{"raw dots", "codex://plugins/../app/b", fault{"plugin id", 16, "dot segment"}},
		{"encoded dots", "https://chatgpt.com/plugins/%2e%2E/app/b", fault{"plugin id", 28, "dot segment"}},
		{"dots in an encoded tool", "codex://plugins/a/app/b%2F..%2Fc", fault{"tool", 26, "dot segment"}},
		{"colon", "codex://plugins/a:b/app/c", fault{"plugin id", 17, `':', which must be percent-encoded`}},
		{"not ASCII", "codex://plugins/é/app/c", fault{"plugin id", 16, "byte 0xC3, which must be percent-encoded"}},
		{"empty marketplace", "codex://plugins/a@/app/c", fault{"marketplace", 18, "empty"}},
		{"two marketplaces", "codex://plugins/a@b@c/app/d", fault{"marketplace", 19, "'@'"}},
		{"marketplace on the web", "https://chatgpt.com/plugins/a@b/app/c", fault{"marketplace", 29, "web link"}},
		{"not an app", "codex://plugins/a/tools/b", fault{"link", 18, "/app/"}},
		{"no tool", "codex://plugins/a/app", fault{"tool", 21, "missing"}},
		{"empty tool", "codex://plugins/a/app/?path=%2F", fault{"tool", 22, "empty"}},
		{"two segments", "codex://plugins/a/app/b/c", fault{"tool", 23, "more than one"}},
		{"malformed escape", "codex://plugins/a/app/b%2", fault{"tool", 23, "malformed"}},
		{"unencoded keys", "codex://plugins/a/app/b?path=/parts&sort=asc", fault{"query", 36, "key other than path"}},
		{"unencoded query", "codex://plugins/a/app/b?path=/parts?tag=bolt", fault{"path", 35, "'?'"}},
		{"plus", "codex://plugins/a/app/b?path=%2Fa+b", fault{"path", 33, "'+'"}},
		{"encoded key", "codex://plugins/a/app/b?p%61th=%2F", fault{"query", 24, "key other than"}},
		{"repeated path", "codex://plugins/a/app/b?path=%2F&path=%2Fa", fault{"query", 33, "twice"}},
		{"path without value", "codex://plugins/a/app/b?path", fault{"query", 28, "without a value"}},
		{"empty path", "codex://plugins/a/app/b?path=", fault{"url", 29, "empty"}},
		{"trailing ampersand", "codex://plugins/a/app/b?path=%2F&", fault{"query", 33, "key other than"}},
		{"host in the path", "codex://plugins/a/app/b?path=%2F%2Fevil", fault{"path", 32, "two slashes"}},
		{"traversal in the path", "codex://plugins/a/app/b?path=%2Fa%2F%252e%252e", fault{"path", 36, "dot segment"}},
		{"control in the query of the path", "codex://plugins/a/app/b?path=%2Fa%3Fb%0A", fault{"query", 37, "control"}},
		{"fragment in the path", "codex://plugins/a/app/b?path=%2Fa%23", fault{"path", 33, "fragment"}},
		{"not UTF-8", "codex://plugins/a/app/b?path=%2F%FF", fault{"path", 32, "UTF-8"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			l, err := ParseAppLink(tt.in)
			wantFault(t, err, tt.want)

			if l != (AppLink{}) {
				t.Errorf("link = %+v beside an error, want zero", l)
			}
		})
	}
}

func TestParseAppLinkDefaultsToRoot(t *testing.T) {
	t.Parallel()

	want := AppLink{PluginID: "a", Tool: "b", Path: "/", Platform: Web}

	for _, query := range []string{"", "?", "?path=%2F", "?path=/"} {
		got, err := ParseAppLink("https://chatgpt.com/plugins/a/app/b" + query)
		if err != nil || got != want {
			t.Errorf("with query %q: got %+v, %v, want %+v", query, got, err, want)
		}
	}
}

// TestOtherURLsAreNotAppLinks lets a scanner of results pass over them.
func TestOtherURLsAreNotAppLinks(t *testing.T) {
	t.Parallel()

	for _, in := range []string{
		"", "codex:", "codex://threads/a", "https://chatgpt.com/", "http://chatgpt.com/plugins/a/app/b",
		"https://chatgpt.com/plugins/a", "codex://plugins/a/", "codex://plugins/a?path=%2F",
		"https://chatgpt.com.evil.example/plugins/a/app/b", "https://chatgpt.com@evil.example/plugins/a/app/b",
	} {
		if _, err := ParseAppLink(in); !errors.Is(err, ErrNotAppLink) {
			t.Errorf("ParseAppLink(%q) error = %v, want ErrNotAppLink", in, err)
		}
	}
}

func TestLinkNeedsGlobalEntrypoint(t *testing.T) {
	t.Parallel()

	catalog := []Target{{Name: "board", Global: true}, {Name: "tray"}}

	if err := (AppLink{Tool: "board"}).CheckTarget(catalog); err != nil {
		t.Errorf("global tool: %v", err)
	}

	wantFault(t, AppLink{Tool: "tray"}.CheckTarget(catalog), fault{"tool", 0, "global entrypoint"})

	if err := (AppLink{Tool: "Board"}).CheckTarget(catalog); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("tool in another case: error = %v, want ErrUnknownTool", err)
	}
}
