package docs

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/caddymodule"
)

// TestReferenceNamesWhatTheParserKnows compares the tables of the reference with
// the parser, block by block and in both directions: a word that is missing is
// one nobody finds, and one too many is a promise nobody keeps.
func TestReferenceNamesWhatTheParserKnows(t *testing.T) {
	known, documented := parserWords(t), referenceWords(t)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !documented[name] {
			t.Errorf("README.md, Reference: %q is not in the table of its block", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if !known[name] {
			t.Errorf("README.md, Reference: the parser does not know %q", name)
		}
	}
}

// codeSpan finds inline code.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// referenceWords reads the reference: a heading names a block by its path, such
// as `auth issuer`, or several blocks that are alike; the first cell of a row
// names the word that begins a line.
func referenceWords(t *testing.T) map[string]bool {
	t.Helper()
	readme := parseDocument("README.md", read(t, "README.md"))
	words := make(map[string]bool)
	var blocks []string
	for _, line := range readme.section(t, "## Reference") {
		if strings.HasPrefix(line, "### ") {
			blocks = nil
			for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
				blocks = append(blocks, span[1])
			}
			continue
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cell, _, _ := strings.Cut(line[2:], " | ")
		for _, span := range codeSpan.FindAllStringSubmatch(cell, -1) {
			for _, path := range blocks {
				words[path+" "+strings.Fields(span[1])[0]] = true
			}
		}
	}
	return words
}

// parserWords finds all words of the directive by asking the parser: for a word
// it does not know it answers with those it knows.
func parserWords(t *testing.T) map[string]bool {
	t.Helper()
	words := make(map[string]bool)
	var visit func(path, head, tail string)
	visit = func(path, head, tail string) {
		for _, word := range expected(head + "?" + tail) {
			words[cmp.Or(path, "mcp_app")+" "+word] = true
			below := strings.TrimSpace(path + " " + word)
			if strings.Count(below, " ") > 4 {
				t.Fatalf("blocks nest too deep at %q", below)
			}
			// What stands between a word and its block differs.
			for _, arguments := range []string{"", " x", " x y", " https://a.example", " http https://a.example", " ui://a/*"} {
				inner := head + word + arguments + " {\n"
				if expected(inner+"?\n}"+tail) != nil {
					visit(below, inner, "\n}"+tail)
					break
				}
			}
		}
	}
	visit("", "mcp_app /mcp {\n", "\n}")
	if len(words) == 0 {
		t.Fatal("the parser does not say which words it expects")
	}
	return words
}

// expectation is how the parser answers to an unknown word.
var expectation = regexp.MustCompile(`unrecognized subdirective "\?", expected one of: (.*?), at Testfile:`)

// expected parses a Caddyfile with an unknown word and returns the words that
// could stand there, nil if the parser stops for another reason.
func expected(text string) []string {
	err := new(caddymodule.Handler).UnmarshalCaddyfile(caddyfile.NewTestDispenser(text))
	if err == nil {
		return nil
	}
	found := expectation.FindStringSubmatch(err.Error())
	if found == nil {
		return nil
	}
	return strings.Split(found[1], ", ")
}
