package links

import (
	"errors"
	"strings"
	"testing"
)

// TestNavigateArgumentsAreExactlyOneURL: an argument the guard overlooked could
// carry a tenant or a second URL to a server that reads JSON less strictly.
func TestNavigateArgumentsAreExactlyOneURL(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name, in string
		want     fault
	}{
		{"nothing", "", fault{"arguments", 0, "one whole JSON value"}},
		{"null", "null", fault{"arguments", 0, "an object"}},
		{"string", ` "/a"`, fault{"arguments", 1, "an object"}},
		{"array", `["/a"]`, fault{"arguments", 0, "an object"}},
		{"empty object", "{}", fault{"arguments", 1, "must hold url"}},
		{"upper case", `{"URL":"/a"}`, fault{"arguments", 1, "nothing but url"}},
		{"other member first", `{ "x": 1, "url": "/a"}`, fault{"arguments", 2, "nothing but url"}},
		{"other member last", `{"url":"/a", "x":1}`, fault{"arguments", 13, "nothing but one url"}},
		{"case variant beside it", `{"url":"/a","Url":"/b"}`, fault{"arguments", 12, "nothing but one url"}},
		{"twice", `{"url":"/a","url":"/b"}`, fault{"arguments", 12, "nothing but one url"}},
		{"twice with an escape", `{"url":"/a","ur\u006c":"/b"}`, fault{"arguments", 12, "nothing but one url"}},
		{"number", `{"url":7}`, fault{"arguments", 7, "as a string"}},
		{"null url", `{"url": null}`, fault{"arguments", 8, "as a string"}},
		{"object url", `{"url":{"url":"/"}}`, fault{"arguments", 7, "as a string"}},
		{"truncated", `{"url":"/a"`, fault{"arguments", 11, "one whole JSON value"}},
		{"trailing value", `{"url":"/a"} {}`, fault{"arguments", 13, "nothing after it"}},
		{"trailing comma", `{"url":"/a",}`, fault{"arguments", 11, "strict JSON"}},
		{"byte order mark", "\uFEFF{\"url\":\"/a\"}", fault{"arguments", 0, "strict JSON"}},
		{"not UTF-8", "{\"url\":\"/\xFF\"}", fault{"arguments", 9, "strict JSON"}},
		{"lone surrogate", `{"url":"/\uD800"}`, fault{"arguments", 9, "strict JSON"}},
		{"too long", `{"url":"/` + strings.Repeat("a", 1<<14) + `"}`, fault{"arguments", 1 << 14, "at most 16384 bytes"}},
		{"bad URL", `{"url":"/a\u002f../b"}`, fault{"path", 3, "dot segment"}},
		{"control", `{"url":"/a\n"}`, fault{"path", 2, "control"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			u, err := NavigateArguments([]byte(tt.in))
			wantFault(t, err, tt.want)

			if u != "" {
				t.Errorf("URL = %q beside an error, want none", u)
			}
		})
	}

	longest := "/" + strings.Repeat("a", MaxAppURL-1)
	escaped := strings.ReplaceAll(longest, "a", `\u0061`)

	for in, want := range map[string]AppURL{
		` { "url" : "/a?b=c" } `:     "/a?b=c",
		`{"ur\u006c":"\/caf\u00e9"}`: "/café",
		`{"url":"` + escaped + `"}`:  AppURL(longest),
	} {
		if got, err := NavigateArguments([]byte(in)); err != nil || got != want {
			t.Errorf("NavigateArguments(%.40q) = %.40q, %v, want %.40q", in, got, err, want)
		}
	}
}

func TestHostContextURL(t *testing.T) {
	t.Parallel()

	const good = `{"theme":{"url":[1,{"a":null}]},"openai/deepLink":{"url":"/a"},"locale":"en"}`
	if u, found, err := HostContextURL([]byte(good)); u != "/a" || !found || err != nil {
		t.Errorf("HostContextURL = %q, %v, %v, want /a", u, found, err)
	}

	for _, tt := range []struct {
		name, in string
		want     fault
	}{
		{"array", "[]", fault{"context", 0, "an object"}},
		{"truncated", `{"theme":"dark"`, fault{"context", 15, "one whole JSON value"}},
		{"trailing", `{} 1`, fault{"context", 3, "nothing after it"}},
		{"two links", `{"openai/deepLink":{"url":"/"},"openai/deepLink":{"url":"/a"}}`, fault{"context", 31, "strict JSON"}},
		{"duplicate elsewhere", `{"a":{"b":1,"b":2}}`, fault{"context", 12, "strict JSON"}},
		{"null link", `{"openai/deepLink":null}`, fault{"context", 19, "an object"}},
		{"bad URL", `{"openai/deepLink":{"url":"/#"},"a":1}`, fault{"path", 1, "fragment"}},
		{"too long", strings.Repeat(" ", 1<<20) + "{}", fault{"context", 1 << 20, "at most 1048576 bytes"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			u, found, err := HostContextURL([]byte(tt.in))
			wantFault(t, err, tt.want)

			if u != "" || found {
				t.Errorf("got %q, %v beside an error", u, found)
			}
		})
	}
}

func TestNavigateToolIsReadOnlyAndKnown(t *testing.T) {
	t.Parallel()

	catalog := []Target{{Name: "open", ReadOnly: true}, {Name: "write"}}
	args := []byte(`{"url":"/a"}`)

	if u, err := CheckNavigate("open", catalog, args); u != "/a" || err != nil {
		t.Errorf("CheckNavigate = %q, %v, want /a", u, err)
	}

	_, err := CheckNavigate("write", catalog, args)
	wantFault(t, err, fault{"tool", 0, "read-only"})

	if _, err := CheckNavigate("OPEN", catalog, args); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("error = %v, want ErrUnknownTool", err)
	}
}
