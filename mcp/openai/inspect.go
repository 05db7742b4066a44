package openai

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Limits of names, in characters.
const (
	maxToolName = 128
	maxTitle    = 256
)

// checkToolName refuses what cannot be one tool's exact name.
func checkToolName(name string) error {
	switch {
	case !visibleText(name, maxToolName):
		return fmt.Errorf("tool name %q: write the name as tools/list gives it, 1 to %d characters", name, maxToolName)
	case strings.Contains(name, "*"):
		return fmt.Errorf("tool name %q: a pattern cannot stand here, write one line for each tool", name)
	}
	return nil
}

// visibleText reports whether s holds between one and max characters, is valid
// UTF-8 without control characters, and shows at least one of them: spaces and
// zero-width characters alone do not count.
func visibleText(s string, max int) bool {
	if !printable(s) || utf8.RuneCountInString(s) > max {
		return false
	}
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) })
}

// printable reports whether s is valid UTF-8 without control characters.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// foldTitle reduces a title to what users tell titles apart by: letters and
// digits in lower case, with & read as "and". A title without either stays as
// it is.
func foldTitle(title string) string {
	folded := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, strings.ReplaceAll(title, "&", "and"))
	if folded == "" {
		return strings.TrimSpace(title)
	}
	return folded
}

// shownTitle is the title under which a host shows a tool.
// (Extensions, Titles.)
func shownTitle(tool rawjson.Value) string {
	for _, path := range [][]string{{"title"}, {"annotations", "title"}, {"name"}} {
		if title, _ := tool.Get(path...).Text(); title != "" {
			return title
		}
	}
	return ""
}

// uiResource finds the address of a tool's UI resource in any of its three
// spellings, the standard one first.
func uiResource(tool rawjson.Value) (string, bool) {
	for _, path := range [][]string{{"_meta", "ui", "resourceUri"}, {"_meta", "ui/resourceUri"}, {"_meta", "openai/outputTemplate"}} {
		if uri, ok := tool.Get(path...).Text(); ok {
			return uri, isUI(uri)
		}
	}
	return "", false
}

// isUI reports whether uri is a ui:// address without credentials.
func isUI(uri string) bool {
	rest, ok := strings.CutPrefix(uri, "ui://")
	if !ok || rest == "" || !printable(uri) {
		return false
	}
	u, err := url.Parse(uri)
	return err == nil && u.User == nil
}

// isHTML reports whether a content item is, or may be, an HTML document.
func isHTML(item rawjson.Value) bool {
	mime := item.Get("mimeType")
	text, _ := mime.Text()
	_, html := cutPrefixFold(text, "text/html")
	return !mime.Exists() || html
}

// closed reports an error unless v is an object with no members but these.
func closed(v rawjson.Value, names ...string) error {
	if v.Kind() != rawjson.Object {
		return errors.New("must be an object")
	}
	for name := range v.Members() {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unknown member %q", clip(name))
		}
	}
	return nil
}

// texts returns the strings of an array, and false if v is not an array of
// strings.
func texts(v rawjson.Value) ([]string, bool) {
	if v.Kind() != rawjson.Array {
		return nil, false
	}
	list := make([]string, 0, 4)
	for element := range v.Elements() {
		text, ok := element.Text()
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// equal reports whether two values mean the same: the order of object members
// does not matter, that of array elements does. Numbers are equal if they are
// written alike.
func equal(a, b rawjson.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	if bytes.Equal(a, b) {
		return true
	}
	switch a.Kind() {
	case rawjson.Object:
		if a.Len() != b.Len() {
			return false
		}
		others := maps.Collect(b.Members()) // looking each name up in b would cost the square of its size
		for name, member := range a.Members() {
			if !equal(member, others[name]) {
				return false
			}
		}
		return true
	case rawjson.Array:
		others := slices.Collect(b.Elements())
		i := 0
		for element := range a.Elements() {
			if i >= len(others) || !equal(element, others[i]) {
				return false
			}
			i++
		}
		return i == len(others)
	case rawjson.String:
		x, _ := a.Text()
		y, _ := b.Text()
		return x == y
	default:
		return false
	}
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(other string) bool { return strings.EqualFold(other, s) })
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// clip shortens text from a message for use in an error.
func clip(s string) string {
	const most = 64
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
