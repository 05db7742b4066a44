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
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/docs/reference/pages"
)

// TestReferenceNamesWhatTheParserKnows compares the tables of the reference with
// the parser, block by block and in both directions: a word that is missing is
// one nobody finds, and one too many is a promise nobody keeps.
func TestReferenceNamesWhatTheParserKnows(t *testing.T) {
	known, documented := parserWords(t), referenceWords(t)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !documented[name] {
			t.Errorf("docs/reference.md: %q is not in the table of its block; write it into %s", name, tables)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if !known[name] {
			t.Errorf("docs/reference.md: the parser does not know %q; correct %s", name, tables)
		}
	}
}

// tables is where the rows of the reference are written by hand.
const tables = "integration/docs/reference/pages/caddyfile.txt and run go run ./integration/docs/reference"

// TestGeneratedPagesAreFresh makes every generated document again.
func TestGeneratedPagesAreFresh(t *testing.T) {
	for name, write := range pages.Generated {
		want, err := write(root)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if read(t, name) != string(want) {
			t.Errorf("%s is stale: run go run ./integration/docs/reference", name)
		}
	}
}

// TestRowsNameFieldsThatThereAre compares the last column of the tables with the
// JSON fields that the code has.
func TestRowsNameFieldsThatThereAre(t *testing.T) {
	reference := parseDocument("docs/reference.md", read(t, "docs/reference.md"))
	fields := make(map[string]bool)
	for _, line := range reference.section(t, "## JSON") {
		if match := regexp.MustCompile("^\\| `([^`]+)` \\|").FindStringSubmatch(line); match != nil {
			fields[match[1][strings.LastIndex(match[1], ".")+1:]] = true
		}
	}
	rows := 0
	for _, line := range reference.section(t, "## Caddyfile") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, " |"), " | ")
		for _, span := range codeSpan.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			rows++
			if !fields[span[1]] {
				t.Errorf("docs/reference.md: no JSON field is called %q: %s", span[1], line)
			}
		}
	}
	if rows < 100 {
		t.Errorf("only %d fields are named in the tables", rows)
	}
}

// codeSpan finds inline code.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// referenceWords reads the reference: a heading names a block by its path, such
// as `auth issuer`, or several blocks that are alike; the first cell of a row
// names the word that begins a line.
func referenceWords(t *testing.T) map[string]bool {
	t.Helper()
	reference := parseDocument("docs/reference.md", read(t, "docs/reference.md"))
	words := make(map[string]bool)
	var blocks []string
	for _, line := range reference.section(t, "## Caddyfile") {
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
