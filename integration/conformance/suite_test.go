package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/node"
)

// check is one verdict of the suite.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

// report is what one run of the suite found.
type report struct {
	scenarios map[string][]check // by name, each sorted by check
	unscored  map[string]bool    // scenarios that do not decide about conformance
	passed    bool               // the suite's own verdict about the scored ones
}

var (
	// server-<scenario>-<time>
	resultDir = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	// A line of the list at the end of the output.
	unscoredLine = regexp.MustCompile(`(?m)^  [✓✗] (\S+) \([a-z-]+\)$`)
)

// run runs the scenarios of a revision against a server.
func run(t *testing.T, tools *node.Tools, url, revision string) report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	suite := tools.Command(ctx, node.Conformance, "server", "--url", url, "--requirements", revision, "-o", dir)
	suite.Env = append(os.Environ(), "NO_COLOR=1", "FORCE_COLOR=0")
	output, err := suite.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && (!errors.As(err, &failed) || ctx.Err() != nil) {
		t.Fatalf("running the suite at %s: %v\n%s", url, err, output)
	}
	r := report{scenarios: map[string][]check{}, unscored: map[string]bool{}, passed: err == nil}
	for _, line := range unscoredLine.FindAllSubmatch(output, -1) {
		r.unscored[string(line[1])] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		match := resultDir.FindStringSubmatch(entry.Name())
		if match == nil {
			t.Fatalf("the suite wrote %q, which is no result of a scenario", entry.Name())
		}
		r.scenarios[match[1]] = readChecks(t, filepath.Join(dir, entry.Name(), "checks.json"))
	}
	return r
}

func readChecks(t *testing.T, file string) []check {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var checks []check
	if err := json.Unmarshal(data, &checks); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	slices.SortStableFunc(checks, func(a, b check) int {
		return strings.Compare(a.ID+" "+a.Status, b.ID+" "+b.Status)
	})
	return checks
}

// count returns how many checks have a status.
func (r report) count(status string) (n int) {
	for _, checks := range r.scenarios {
		for _, c := range checks {
			if c.Status == status {
				n++
			}
		}
	}
	return n
}

// scored returns how many scenarios decide about conformance, and which of
// their checks failed, by scenario and check.
func (r report) scored() (scenarios int, failed map[string]check) {
	failed = map[string]check{}
	for name, checks := range r.scenarios {
		if r.unscored[name] {
			continue
		}
		scenarios++
		for _, c := range checks {
			if c.Status == "FAILURE" {
				failed[name+" "+c.ID] = c
			}
		}
	}
	return scenarios, failed
}

// difference is a check whose verdict is another one through the gateway.
type difference struct {
	scenario, id    string
	direct, through []check // all verdicts under that id
}

// compare returns the checks in which two runs differ.
func compare(direct, through report) []difference {
	byID := func(r report) map[[2]string][]check {
		all := map[[2]string][]check{}
		for scenario, checks := range r.scenarios {
			for _, c := range checks {
				key := [2]string{scenario, c.ID}
				all[key] = append(all[key], c)
			}
		}
		return all
	}
	sameStatus := func(a, b check) bool { return a.Status == b.Status }
	before, after := byID(direct), byID(through)
	var found []difference
	for key, checks := range before {
		if !slices.EqualFunc(checks, after[key], sameStatus) {
			found = append(found, difference{key[0], key[1], checks, after[key]})
		}
	}
	for key, checks := range after {
		if _, ok := before[key]; !ok {
			found = append(found, difference{key[0], key[1], nil, checks})
		}
	}
	return found
}

// failures are checks that are expected to fail, as "variant revision scenario
// check", each true as soon as it was seen to.
type failures map[string]bool

func readExpected(t *testing.T) failures {
	t.Helper()
	data, err := os.ReadFile("expected-failures.txt")
	if err != nil {
		t.Fatal(err)
	}
	expected := failures{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(strings.Fields(line)) != 4 {
			t.Fatalf("expected-failures.txt: %q is not variant, revision, scenario and check-id", line)
		}
		expected[strings.Join(strings.Fields(line), " ")] = false
	}
	return expected
}

// expects reports whether a failure is listed, and remembers that it was seen.
func (f failures) expects(fields ...string) bool {
	key := strings.Join(fields, " ")
	_, listed := f[key]
	if listed {
		f[key] = true
	}
	return listed
}
