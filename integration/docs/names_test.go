package docs

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPublishedNamesAreInTheReadme compares the placeholders, access-log fields
// and metrics of the module with those the README names, in both directions.
func TestPublishedNamesAreInTheReadme(t *testing.T) {
	set := make(map[string]bool)
	sources(t, "caddymodule", func(text string) {
		for _, match := range regexp.MustCompile(`"(http\.(?:mcp_app|auth\.user)\.[a-z_]+)"`).FindAllStringSubmatch(text, -1) {
			set["{"+match[1]+"}"] = true
		}
		for _, match := range regexp.MustCompile(`enc\.AddString\("(mcp_[^"]+)"`).FindAllStringSubmatch(text, -1) {
			set[match[1]] = true
		}
		for _, match := range regexp.MustCompile(`Namespace: "(\w+)", Subsystem: "(\w+)", Name: "(\w+)"`).FindAllStringSubmatch(text, -1) {
			set[strings.Join(match[1:], "_")] = true
		}
	})
	named := make(map[string]bool)
	readme := parseDocument("README.md", read(t, "README.md"))
	for _, line := range readme.section(t, "## Placeholders, log fields and metrics") {
		if strings.HasPrefix(line, "| `") {
			named[codeSpan.FindStringSubmatch(line)[1]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !named[name] {
			t.Errorf("README.md, Placeholders, log fields and metrics: %s is set by the module and not named", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !set[name] {
			t.Errorf("README.md, Placeholders, log fields and metrics: nothing sets %s", name)
		}
	}
}

// TestTranscriptIsOfTheDemo keeps the README from showing expectations that the
// demo does not check.
func TestTranscriptIsOfTheDemo(t *testing.T) {
	var demo strings.Builder
	sources(t, "integration/demo", func(text string) { demo.WriteString(text) })
	shown := 0
	readme := parseDocument("README.md", read(t, "README.md"))
	for _, b := range readme.blocks {
		for line := range strings.Lines(b.text) {
			expectation, ok := strings.CutPrefix(strings.TrimSpace(line), "✓ ")
			if !ok {
				continue
			}
			shown++
			if !strings.Contains(demo.String(), `"`+expectation+`"`) {
				t.Errorf("README.md: the demo does not say %q", expectation)
			}
		}
	}
	if shown == 0 {
		t.Error("README.md shows nothing of the demo")
	}
}

// sources hands out the Go files of a package of ours, without its tests.
func sources(t *testing.T, dir string, each func(text string)) {
	t.Helper()
	for _, path := range files(t, func(name string) bool {
		return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
	}) {
		if strings.HasPrefix(path, dir+"/") {
			each(read(t, path))
		}
	}
}
