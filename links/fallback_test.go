package links

import (
	"errors"
	"strings"
	"testing"
)

func TestParseFallbackShowsTheFault(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		in   string
		want fault
	}{
		{"", fault{"fallback", 0, "https://"}},
		{"https:/shop.example", fault{"fallback", 0, "https://"}},
		{"https:shop.example", fault{"fallback", 0, "https://"}},
		{"https://", fault{"fallback", 8, "no host"}},
		{"https:///a", fault{"fallback", 8, "no host"}},
		{"https://:443/", fault{"fallback", 8, "no host"}},
		{"https://shop.example@evil.example", fault{"fallback", 8, "user information"}},
		{"https://@shop.example", fault{"fallback", 8, "user information"}},
		{`https://shop.example\@evil.example`, fault{"fallback", 20, "backslash"}},
		{"https://shop.example/?a", fault{"fallback", 21, "query"}},
		{"https://shop.example#a", fault{"fallback", 20, "fragment"}},
		{"https://shop.example:0", fault{"fallback", 21, "port"}},
		{"https://shop.example:65536", fault{"fallback", 21, "port"}},
		{"https://shop.example:+1", fault{"fallback", 21, "port"}},
		{"https://shop.example:", fault{"fallback", 21, "port"}},
		{"https://shöp.example", fault{"fallback", 10, "ASCII"}},
		{"https://shop%2eexample", fault{"fallback", 12, "ASCII"}},
		{"https://shop example", fault{"fallback", 12, "ASCII"}},
		{"https://shop..example", fault{"fallback", 12, "empty host label"}},
		{"https://[::1", fault{"fallback", 8, "IPv6"}},
		{"https://[fe80::1%25eth0]", fault{"fallback", 8, "IPv6"}},
		{"https://[127.0.0.1]", fault{"fallback", 8, "IPv6"}},
		{"https://shop.example//a", fault{"fallback", 21, "path begins with two slashes"}},
		{"https://shop.example/a/../b", fault{"fallback", 23, "path holds a dot segment"}},
		{"https://shop.example/" + strings.Repeat("a", 2048), fault{"fallback", 2048, "2048 bytes"}},
	} {
		f, err := ParseFallback(tt.in)
		wantFault(t, err, tt.want)

		if !f.IsZero() {
			t.Errorf("ParseFallback(%q) = %q beside an error", tt.in, f)
		}
	}
}

// TestJoinStaysWhereItWasSent: the opener redirects to what it returns, with a
// path that anyone may have written.
func TestJoinStaysWhereItWasSent(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		base string
		url  AppURL
		want string // empty means an *Error
	}{
		{"https://app.example.com", "/", "https://app.example.com"},
		{"https://app.example.com/", "/", "https://app.example.com/"},
		{"https://app.example.com", "/parts?tag=bolt", "https://app.example.com/parts?tag=bolt"},
		{"https://app.example.com/", "/parts", "https://app.example.com/parts"},
		{"https://app.example.com/shop", "/parts", "https://app.example.com/shop/parts"},
		{"https://app.example.com/shop/", "/?q=1", "https://app.example.com/shop/?q=1"},
		{"HTTPS://App.Example.com:8443", "/a", "https://app.example.com:8443/a"},
		{"https://[2001:db8::1]:8443", "/a", "https://[2001:db8::1]:8443/a"},
		{"https://app.example.com", "/a:b@c", "https://app.example.com/a:b@c"},
		{"https://app.example.com", "/?next=https://evil.example", "https://app.example.com/?next=https://evil.example"},
		{"https://app.example.com", "/café?q=\"<ü>\\", "https://app.example.com/caf%C3%A9?q=%22%3C%C3%BC%3E%5C"},
		{"https://app.example.com", "//evil.example", ""},
		{"https://app.example.com", "@evil.example", ""},
		{"https://app.example.com", ".evil.example", ""},
		{"https://app.example.com", ":443@evil.example/", ""},
		{"https://app.example.com/shop", "/../admin", ""},
		{"https://app.example.com", "", ""},
	} {
		f, err := ParseFallback(tt.base)
		if err != nil {
			t.Fatal(err)
		}

		got, err := f.Join(tt.url)
		if _, refused := errors.AsType[*Error](err); got != tt.want || refused != (tt.want == "") {
			t.Errorf("Fallback(%q).Join(%q) = %q, %v, want %q", tt.base, tt.url, got, err, tt.want)
		}
	}

	if _, err := (Fallback{}).Join("/"); !errors.Is(err, ErrNoLink) {
		t.Errorf("no fallback: error = %v, want ErrNoLink", err)
	}
}
