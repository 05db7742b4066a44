package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this package.
var root = filepath.Join("..", "..")

// block is one fenced block of a Markdown file.
type block struct {
	info string // what stands behind the fence, such as "caddyfile fragment"
	line int    // of its first line, from 1
	text string
}

// document is one Markdown file, taken apart.
type document struct {
	path   string   // from root, with slashes
	prose  []string // its lines; those of fenced blocks are empty
	blocks []block
}

// fence opens or closes a block: three or more backticks, maybe indented.
var fence = regexp.MustCompile("^ {0,3}(`{3,})([^`]*)$")

// parseDocument separates prose from fenced blocks (CommonMark 0.31, "Fenced
// code blocks").
func parseDocument(path, text string) document {
	d := document{path: path}
	var open string
	var current block
	for i, line := range strings.Split(text, "\n") {
		found := fence.FindStringSubmatch(line)
		kept := ""
		switch {
		case open == "" && found != nil:
			open = found[1]
			current = block{info: strings.TrimSpace(found[2]), line: i + 2}
		case open != "" && found != nil && len(found[1]) >= len(open) && strings.TrimSpace(found[2]) == "":
			open = ""
			d.blocks = append(d.blocks, current)
		case open != "":
			current.text += line + "\n"
		default:
			kept = line
		}
		d.prose = append(d.prose, kept)
	}
	return d
}

// files lists the files of the repository that match, from root, leaving out
// what no reader is meant to find.
func files(t *testing.T, match func(name string) bool) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "testdata", "node_modules", "dist", ".cache"}, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if match(entry.Name()) {
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			found = append(found, filepath.ToSlash(relative))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// read returns the text of a file, given from root.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// documents returns all Markdown files of the repository.
func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	for _, path := range files(t, func(name string) bool { return strings.HasSuffix(name, ".md") }) {
		all = append(all, parseDocument(path, read(t, path)))
	}
	if len(all) == 0 {
		t.Fatal("no Markdown files found")
	}
	return all
}

// section returns the lines of a document below a heading, up to the next
// heading of the same or a higher level.
func (d document) section(t *testing.T, heading string) []string {
	t.Helper()
	start := slices.Index(d.prose, heading)
	if start < 0 {
		t.Fatalf("%s has no heading %q", d.path, heading)
	}
	level := len(heading) - len(strings.TrimLeft(heading, "#"))
	var lines []string
	for _, line := range d.prose[start+1:] {
		if depth := len(line) - len(strings.TrimLeft(line, "#")); depth > 0 && depth <= level {
			break
		}
		lines = append(lines, line)
	}
	return lines
}

func TestParseDocumentTakesFencesApart(t *testing.T) {
	d := parseDocument("x.md", "# A\n```caddyfile fragment\na {\n}\n```\nb\n````md\n```sh\n```\n````\n")
	if len(d.blocks) != 2 || d.blocks[0].info != "caddyfile fragment" || d.blocks[0].line != 3 || d.blocks[0].text != "a {\n}\n" {
		t.Errorf("blocks: %+v", d.blocks)
	}
	if prose := strings.Join(d.prose, "|"); prose != "# A|||||b|||||" {
		t.Errorf("prose: %q", prose)
	}
}
