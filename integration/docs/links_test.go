package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	// inlineLink finds [text](target) and ![text](target "title").
	inlineLink = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?[^)]*\)`)
	// referenceLink finds [name]: target.
	referenceLink = regexp.MustCompile(`^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)`)
	heading       = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
)

// TestLinksResolve follows every link that stays in the repository. Addresses
// elsewhere are left alone: tests run offline.
func TestLinksResolve(t *testing.T) {
	all := make(map[string]document)
	for _, d := range documents(t) {
		all[d.path] = d
	}
	for _, d := range all {
		for i, line := range d.prose {
			for _, target := range targets(line) {
				if problem := follow(all, d.path, target); problem != "" {
					t.Errorf("%s:%d: %s: %s", d.path, i+1, target, problem)
				}
			}
		}
	}
}

// targets lists where a line of prose links to.
func targets(line string) []string {
	line = inlineCode.ReplaceAllString(line, "")
	var found []string
	for _, match := range inlineLink.FindAllStringSubmatch(line, -1) {
		found = append(found, match[1])
	}
	if match := referenceLink.FindStringSubmatch(line); match != nil {
		found = append(found, match[1])
	}
	return found
}

// follow says what is wrong with a link, empty if nothing is.
func follow(all map[string]document, from, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	resolved := from
	if file != "" {
		if strings.HasPrefix(file, "/") {
			return "begins with a slash, which works on one site only; write it from this file"
		}
		resolved = path.Join(path.Dir(from), file)
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(resolved))); err != nil {
			return "no such file"
		}
	}
	if d, ok := all[resolved]; ok && anchor != "" && !d.anchors()[anchor] {
		return fmt.Sprintf("%s has no such heading", resolved)
	}
	return ""
}

// anchors returns the fragments under which a page of GitHub shows its headings:
// lower case, blanks as hyphens, punctuation left out, repeats numbered.
func (d document) anchors() map[string]bool {
	found := make(map[string]bool)
	for _, line := range d.prose {
		match := heading.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, match[1])
		name := slug
		for n := 1; found[name]; n++ {
			name = fmt.Sprintf("%s-%d", slug, n)
		}
		found[name] = true
	}
	return found
}

func TestFollowFindsWhatIsWrong(t *testing.T) {
	all := map[string]document{"README.md": parseDocument("README.md", "# `auth`, and Limits\n## Same\n## Same\n")}
	for target, wantOK := range map[string]bool{
		"#auth-and-limits":            true,
		"#same-1":                     true,
		"#same-2":                     false,
		"README.md#auth-and-limits":   true,
		"README.md#elsewhere":         false,
		"go.mod":                      true,
		"no-such-file.md":             false,
		"/go.mod":                     false,
		"https://unreachable.invalid": true,
	} {
		if problem := follow(all, "README.md", target); (problem == "") != wantOK {
			t.Errorf("%s: %q", target, problem)
		}
	}
}
