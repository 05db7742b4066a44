package docs

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

// TestShellBlocksAreAlive runs the blocks marked `sh run`, from the root of the
// repository with a folder of their own in $WORK, and checks the syntax of the
// others. All blocks of one document run in one shell, in their order.
func TestShellBlocksAreAlive(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("MCP_APP_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	ran := 0
	for _, d := range documents(t) {
		script := "set -euo pipefail\n"
		for _, b := range d.blocks {
			switch b.info {
			case "sh":
				check := exec.CommandContext(t.Context(), bash, "-n")
				check.Stdin = strings.NewReader(b.text)
				if output, err := check.CombinedOutput(); err != nil {
					t.Errorf("%s:%d: %v\n%s", d.path, b.line, err, output)
				}
			case "sh run":
				script += fmt.Sprintf("echo '# %s:%d'\n%s", d.path, b.line, b.text)
				ran++
			default:
				if slices.Contains([]string{"bash", "shell", "console"}, strings.Fields(b.info + " -")[0]) {
					t.Errorf("%s:%d: a block marked %q is checked by nobody; write sh, or sh run", d.path, b.line, b.info)
				}
			}
		}
		if !strings.Contains(script, "echo ") {
			continue
		}
		t.Run(d.path, func(t *testing.T) {
			if testing.Short() {
				t.Skip("builds Caddy and runs the demo")
			}
			work := t.TempDir()
			script := script
			if strings.Contains(script, "$WORK/caddy") && !strings.Contains(script, "go build") {
				script = "go build -o \"$WORK/caddy\" ./cmd/caddy\n" + script
			}
			run := exec.CommandContext(t.Context(), bash, "-c", script)
			run.Dir = root
			run.Env = append(os.Environ(), "WORK="+work, "HOME="+home(t), "XDG_DATA_HOME="+work, "XDG_CONFIG_HOME="+work, "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false")
			if output, err := run.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
	if ran < 2 {
		t.Errorf("only %d blocks are marked sh run", ran)
	}
}

// home is where Go keeps its caches.
func home(t *testing.T) string {
	t.Helper()
	dir, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestConnectingNamesFindingsThatThereAre holds the findings of docs/chatgpt.md
// to the rules of doctor.
func TestConnectingNamesFindingsThatThereAre(t *testing.T) {
	known := make(map[string]bool)
	for _, rule := range openai.Rules() {
		known[rule.ID] = true
	}
	own := 0
	sources(t, "mcp/doctor", func(text string) {
		for _, match := range regexp.MustCompile(`\brule\("([a-z0-9-]+)"`).FindAllStringSubmatch(text, -1) {
			known[match[1]] = true
			own++
		}
	})
	if own == 0 {
		t.Skip("there is no package mcp/doctor yet")
	}
	named := 0
	for _, line := range parseDocument("docs/chatgpt.md", read(t, "docs/chatgpt.md")).prose {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(line, " | ")
		for _, span := range codeSpan.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			if strings.ContainsAny(span[1], " {") {
				continue // a command or a line of the Caddyfile
			}
			named++
			if !known[span[1]] {
				t.Errorf("docs/chatgpt.md: doctor has no finding %q", span[1])
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d findings are named", named)
	}
}
