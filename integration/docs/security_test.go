package docs

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// minAttacks is how many attacks docs/security-model.md names at least.
const minAttacks = 60

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	codeSpans    = regexp.MustCompile("`([^`]+)`")
	rowNumber    = regexp.MustCompile(`^\| (\d+) \|`)
)

// testSources are the test files of one folder, together.
type testSources map[string]string

// testsOf returns the tests and fuzz targets of the repository with the sources
// of the folders they are in, and fuzz targets by folder.
func testsOf(t *testing.T) (tests map[string][]string, sources testSources, fuzz map[string]bool) {
	t.Helper()
	tests, sources, fuzz = map[string][]string{}, testSources{}, map[string]bool{}
	for _, file := range files(t, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		text, folder := read(t, file), path.Dir(file)
		sources[folder] += text
		for _, found := range testFunction.FindAllStringSubmatch(text, -1) {
			tests[found[1]] = append(tests[found[1]], folder)
			if strings.HasPrefix(found[1], "Fuzz") {
				fuzz[folder+" "+found[1]] = true
			}
		}
	}
	return tests, sources, fuzz
}

// proof says what is wrong with a test that a document names, as "TestX" or, for
// one case of it, "TestX/the case"; empty if nothing is.
func proof(tests map[string][]string, sources testSources, named string) string {
	function, sub, isCase := strings.Cut(named, "/")
	folders := tests[function]
	if len(folders) == 0 {
		return "there is no " + function
	}
	if !isCase {
		return ""
	}
	if !slices.ContainsFunc(folders, func(folder string) bool { return strings.Contains(sources[folder], fmt.Sprintf("%q", sub)) }) {
		return function + " has no case " + fmt.Sprintf("%q", sub)
	}
	return ""
}

// rows returns the rows of the tables of a section, without their heads.
func rows(lines []string) (found [][]string) {
	for i, line := range lines {
		if !strings.HasPrefix(line, "| ") || i > 0 && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "| ---") {
			continue
		}
		if strings.HasPrefix(line, "| ---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		found = append(found, cells)
	}
	return found
}

// TestEveryAttackHasItsTest holds the security model against the tests: whatever
// it says is defended names a test that is there.
func TestEveryAttackHasItsTest(t *testing.T) {
	const file = "docs/security-model.md"
	d := parseDocument(file, read(t, file))
	tests, sources, _ := testsOf(t)
	check := func(cells []string) {
		t.Helper()
		names := 0
		for _, named := range codeSpans.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			if !strings.HasPrefix(named[1], "Test") && !strings.HasPrefix(named[1], "Fuzz") {
				continue
			}
			names++
			if problem := proof(tests, sources, named[1]); problem != "" {
				t.Errorf("%s: %s: %s", file, cells[0], problem)
			}
		}
		if names == 0 {
			t.Errorf("%s: no test is named for %s", file, cells[0])
		}
	}
	for _, cells := range rows(d.section(t, "## Threats")) {
		check(cells)
	}
	attacks, seen := 0, map[string]bool{}
	for _, line := range d.section(t, "## Attacks") {
		number := rowNumber.FindStringSubmatch(line)
		if number == nil {
			continue
		}
		attacks++
		if number[1] != fmt.Sprint(attacks) {
			t.Errorf("%s: attack %d has the number %s", file, attacks, number[1])
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 4 {
			t.Errorf("%s: attack %d has %d cells", file, attacks, len(cells))
			continue
		}
		if seen[cells[1]] {
			t.Errorf("%s: %q is there twice", file, cells[1])
		}
		seen[cells[1]] = true
		check(cells[1:])
	}
	if attacks < minAttacks {
		t.Errorf("%s: %d attacks, want %d at least", file, attacks, minAttacks)
	}
}

// TestEveryFuzzTargetIsListed compares the fuzz targets of the repository with
// those of the security model, in both directions.
func TestEveryFuzzTargetIsListed(t *testing.T) {
	const file = "docs/security-model.md"
	d := parseDocument(file, read(t, file))
	_, _, fuzz := testsOf(t)
	listed := map[string]bool{}
	for _, cells := range rows(d.section(t, "## Fuzz targets")) {
		spans := codeSpans.FindAllStringSubmatch(strings.Join(cells, " "), -1)
		for _, target := range spans[1:] {
			if strings.HasPrefix(target[1], "Fuzz") {
				listed[spans[0][1]+" "+target[1]] = true
			}
		}
	}
	for _, target := range slices.Sorted(maps.Keys(fuzz)) {
		if !listed[target] {
			t.Errorf("%s does not list %s", file, target)
		}
	}
	for _, target := range slices.Sorted(maps.Keys(listed)) {
		if !fuzz[target] {
			t.Errorf("%s lists %s, which is not there", file, target)
		}
	}
}

func TestProofsAreLookedUp(t *testing.T) {
	tests, sources := map[string][]string{"TestA": {"x", "y"}}, testSources{"y": `{"a case", 1}`}
	for named, want := range map[string]bool{"TestA": true, "TestA/a case": true, "TestA/another": false, "TestB": false} {
		if problem := proof(tests, sources, named); (problem == "") != want {
			t.Errorf("%s: %q", named, problem)
		}
	}
}
