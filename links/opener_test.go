package links

import (
	"errors"
	"strings"
	"testing"
)

func TestParseOpenRequest(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		in   string
		want OpenRequest
	}{
		{"cad.library", OpenRequest{"cad.library", "/", ""}},
		{"cad.library?", OpenRequest{"cad.library", "/", ""}},
		{"cad.library?path=%2Fparts", OpenRequest{"cad.library", "/parts", ""}},
		{"x%2Fy?platform=web&path=/a/b", OpenRequest{"x/y", "/a/b", Web}},
		{"a?platform=app", OpenRequest{"a", "/", App}},
	} {
		if got, err := ParseOpenRequest(tt.in); err != nil || got != tt.want {
			t.Errorf("ParseOpenRequest(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
	}

	for _, tt := range []struct {
		in   string
		want fault
	}{
		{"", fault{"tool", 0, "empty"}},
		{"..", fault{"tool", 0, "dot segment"}},
		{"a/b", fault{"tool", 1, "'/'"}},
		{"a?path=//evil.example", fault{"path", 8, "two slashes"}},
		{"a?path=https://evil.example", fault{"path", 12, "':'"}},
		{"a?path=%2Fa&next=https://evil.example", fault{"query", 12, "other than path and platform"}},
		{"a?platform=tv", fault{"platform", 11, "not one of"}},
		{"a?platform=", fault{"platform", 11, "not one of"}},
		{"a?platform=web&platform=app", fault{"query", 15, "twice"}},
		{"a?path=%2F" + strings.Repeat("x", 8192), fault{"link", 8192, "too long"}},
	} {
		_, err := ParseOpenRequest(tt.in)
		wantFault(t, err, tt.want)
	}
}

func TestChoosePlatform(t *testing.T) {
	t.Parallel()

	const (
		windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
		mac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
		firefox = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:143.0) Gecko/20100101 Firefox/143.0"
		safari  = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15"
		iphone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1"
		android = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36"
		linux   = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
		preview = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"
	)

	for _, tt := range []struct {
		name, word string
		hints      Hints
		want       Platform
	}{
		{"word wins", "web", Hints{iphone, `"iOS"`}, Web},
		{"word for the ordinary application", "app", Hints{}, App},
		{"hint wins", "", Hints{windows, `"macOS"`}, Desktop},
		{"bare hint", "", Hints{"", "iOS"}, Mobile},
		{"hint Windows", "", Hints{"", `"Windows"`}, Desktop},
		{"hint Linux", "", Hints{windows, `"Linux"`}, Web},
		{"hint Chrome OS", "", Hints{"", `"Chrome OS"`}, Web},
		{"hint Android", "", Hints{linux, `"Android"`}, App},
		{"unknown hint leaves it to the agent", "", Hints{windows, `"Unknown"`}, Desktop},
		{"hint in another case is unknown", "", Hints{"", `"macos"`}, ""},
		{"Windows", "", Hints{UserAgent: windows}, Desktop},
		{"Chrome on a Mac", "", Hints{UserAgent: mac}, Desktop},
		{"Firefox on a Mac", "", Hints{UserAgent: firefox}, Desktop},
		{"Safari on a Mac or an iPad", "", Hints{UserAgent: safari}, ""},
		{"iPhone", "", Hints{UserAgent: iphone}, Mobile},
		{"Android", "", Hints{UserAgent: android}, App},
		{"Linux", "", Hints{UserAgent: linux}, Web},
		{"link preview", "", Hints{UserAgent: preview}, ""},
		{"nothing", "", Hints{}, ""},
		{"beyond the bound", "", Hints{UserAgent: strings.Repeat("x", 2000) + "iPhone"}, ""},
	} {
		if got, err := ChoosePlatform(tt.word, tt.hints); err != nil || got != tt.want {
			t.Errorf("%s: ChoosePlatform = %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}

	_, err := ChoosePlatform("Web", Hints{UserAgent: windows})
	wantFault(t, err, fault{"platform", 0, "not one of"})
}

// TestOpenerLinks covers what each platform gets when a form of link is missing.
func TestOpenerLinks(t *testing.T) {
	t.Parallel()

	fallback, err := ParseFallback("https://app.example.com")
	if err != nil {
		t.Fatal(err)
	}

	public := Opener{PluginID: "inv", Fallback: fallback}
	custom := Opener{PluginID: "inv", Marketplace: "acme", Fallback: fallback}
	bare := Opener{PluginID: "inv", Marketplace: "acme"}

	for _, tt := range []struct {
		name     string
		opener   Opener
		platform Platform
		want     string // empty means ErrNoLink
	}{
		{"desktop", custom, Desktop, "codex://plugins/inv@acme/app/board?path=%2Fa"},
		{"mobile", public, Mobile, "chatgpt://plugins/inv/app/board?path=%2Fa"},
		{"web", public, Web, "https://chatgpt.com/plugins/inv/app/board?path=%2Fa"},
		{"app", public, App, "https://app.example.com/a"},
		{"web of a custom marketplace", custom, Web, "https://app.example.com/a"},
		{"web of a custom marketplace without fallback", bare, Web, ""},
		{"app without fallback", bare, App, ""},
		{"unknown", public, "", ""},
	} {
		got, err := tt.opener.Link(tt.platform, "board", "/a")
		if got != tt.want || (tt.want == "") != errors.Is(err, ErrNoLink) {
			t.Errorf("%s: Link = %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}

	for _, tt := range []struct {
		opener Opener
		want   string
	}{
		{public, "desktop mobile web app"},
		{custom, "desktop mobile app"},
		{bare, "desktop mobile"},
	} {
		choices, err := tt.opener.Choices("board", "/a")
		if err != nil {
			t.Fatal(err)
		}

		var words []string
		for _, c := range choices {
			words = append(words, string(c.Platform))
		}

		if got := strings.Join(words, " "); got != tt.want {
			t.Errorf("Choices = %s, want %s", got, tt.want)
		}
	}

	_, err = public.Choices("board", "//evil.example")
	wantFault(t, err, fault{"path", 1, "two slashes"})
}
