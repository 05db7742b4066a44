package caddymodule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

// runCommand runs caddy mcp-app in this process. The exit code is the one that
// Caddy makes of the error.
func runCommand(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runRoot(t, append([]string{"mcp-app"}, args...)...)
}

// runRoot runs caddy, as far as it is ours.
func runRoot(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	root := &cobra.Command{Use: "caddy", SilenceUsage: true}
	cmd := &cobra.Command{Use: "mcp-app <verb>"}
	setUpCommand(cmd)
	root.AddCommand(cmd)
	var out, errs bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	switch {
	case err == nil:
	case errors.Is(err, errFindings):
		code = exitFindings
	case err.Error() == "exiting with status 2":
		code = exitUsage
	default:
		t.Fatalf("%q: unexpected error %v", args, err)
	}
	return code, out.String(), errs.String()
}

// golden compares a run with what is written down in testdata. With
// UPDATE_GOLDEN=1 in the environment it is written down.
func golden(t *testing.T, name string, code int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join("testdata", "opener", "commands", name+".txt")
	got := fmt.Sprintf("exit %d\n-- stdout --\n%s-- stderr --\n%s", code, stdout, stderr)
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	const good = "codex://plugins/bits-and-bolts@acme/app/cad.library?path=%2Fparts%3Ftag%3Dbolt"
	for _, tt := range []struct {
		name string
		args []string
		code int
	}{
		{"unknown-verb", []string{"lnik"}, 2},
		{"unknown-flag", []string{"link", "--plugni", "x"}, 2},

		{"link-all", []string{"link", "--plugin", "bits-and-bolts", "--tool", "cad.library", "--path", "/parts?tag=bolt&sort=asc"}, 0},
		{"link-all-json", []string{"link", "--plugin", "bits-and-bolts", "--tool", "cad.library", "--json"}, 0},
		{"link-one", []string{"link", "--plugin", "bits & bolts", "--tool", "a/b", "--platform", "mobile"}, 0},
		{"link-marketplace", []string{"link", "--plugin", "bits-and-bolts", "--tool", "cad.library", "--marketplace", "acme"}, 0},
		{"link-marketplace-web", []string{"link", "--plugin", "bits-and-bolts", "--tool", "cad.library", "--marketplace", "acme", "--platform", "web"}, 1},
		{"link-bad-path", []string{"link", "--plugin", "bits-and-bolts", "--tool", "cad.library", "--path", "/parts/%2e%2e/admin"}, 1},
		{"link-bad-path-json", []string{"link", "--plugin", "bits-and-bolts", "--tool", "cad.library", "--path", "/parts/%2e%2e/admin", "--json"}, 1},
		{"link-empty-path", []string{"link", "--plugin", "bits-and-bolts", "--tool", "cad.library", "--path", ""}, 1},
		{"link-bad-tool", []string{"link", "--plugin", "bits-and-bolts", "--tool", "cad\x1b[31m"}, 1},
		{"link-no-tool", []string{"link", "--plugin", "bits-and-bolts"}, 2},
		{"link-platform", []string{"link", "--plugin", "bits-and-bolts", "--tool", "cad.library", "--platform", "tv"}, 2},
		{"link-argument", []string{"link", good}, 2},

		{"check-good", []string{"link", "--check", good}, 0},
		{"check-good-json", []string{"link", "--check", good, "--json"}, 0},
		{"check-reordered", []string{"link", "--check", "codex://plugins/a/app/b?path=%2Fp%3Fq%3D%E2%80%AEgnp"}, 0},
		{"check-fault", []string{"link", "--check", "codex://plugins/bits-and-bolts/app/cad.library?path=/parts&sort=asc"}, 1},
		{"check-fault-json", []string{"link", "--check", "codex://plugins/bits-and-bolts/app/cad.library?path=/parts&sort=asc", "--json"}, 1},
		{"check-fault-behind-umlauts", []string{"link", "--check", "codex://plugins/münzen/app/cad.library"}, 1},
		{"check-long", []string{"link", "--check", "codex://plugins/" + strings.Repeat("a", 200) + "/app/b#" + strings.Repeat("c", 200)}, 1},
		{"check-escape", []string{"link", "--check", "codex://plugins/a/app/b?path=%2F\x1b]0;x\a"}, 1},
		{"check-no-link", []string{"link", "--check", "https://example.com/"}, 1},
		{"check-no-link-json", []string{"link", "--check", "", "--json"}, 1},
		{"check-and-plugin", []string{"link", "--check", good, "--plugin", "x"}, 2},

		{"spec-argument", []string{"spec", "0.2"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := runCommand(t, tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if strings.ContainsAny(stdout+stderr, "\x1b\a") {
				t.Error("a control character reaches the terminal")
			}
			checkJSON(t, tt.args, stdout)
			golden(t, tt.name, code, stdout, stderr)
		})
	}
}

// checkJSON: with --json a program can read the result, whatever it is.
func checkJSON(t *testing.T, args []string, stdout string) {
	t.Helper()
	for _, arg := range args {
		if arg == "--json" && !json.Valid([]byte(stdout)) {
			t.Errorf("no JSON: %s", stdout)
		}
	}
}

func TestOnboardingCommand(t *testing.T) {
	t.Parallel()
	const skill = "---\nname: setup\ndescription: Connects your workspace.\n---\n"
	config := func(endpoints ...string) string {
		return `{"apps":{"http":{"servers":{"a":{"routes":[{"handle":[{"handler":"subroute","routes":[{"handle":[` + strings.Join(endpoints, ",") + `]}]}]}]}}}}}`
	}
	endpoint := func(path, plugin, marketplace string) string {
		return fmt.Sprintf(`{"handler":"mcp_app","path":%q,"links":{"plugin":%q,"marketplace":%q}}`, path, plugin, marketplace)
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		args  []string
		code  int
		reads []string // files to show afterwards
	}{
		{"no-folder", nil, []string{"nothing"}, 2, nil},
		{"no-argument", nil, nil, 2, nil},
		{"undeclared", map[string]string{"p/skills/setup/SKILL.md": skill}, []string{"p"}, 1, nil},
		{
			"declared",
			map[string]string{"p/skills/setup/SKILL.md": skill, "p/.codex-plugin/plugin.json": `{"name":"bits","extensions":{"com.openai":{"onboardingSkill":"./skills/setup/SKILL.md"}}}`},
			[]string{"p"},
			0, nil,
		},
		{
			"declared-json",
			map[string]string{"p/skills/setup/SKILL.md": skill, "p/.codex-plugin/plugin.json": `{"name":"bits","extensions":{"com.openai":{"onboardingSkill":"./skills/setup/SKILL.md"}}}`},
			[]string{"p", "--json", "--marketplace", "acme"},
			0, nil,
		},
		{
			"faulty-json",
			map[string]string{"p/skills/setup/SKILL.md": "# Setup\n", "p/.codex-plugin/plugin.json": `{"extensions":{"com.openai":{"onboardingSkill":"./skills/setup/SKILL.md"}}}`},
			[]string{"p", "--json"},
			1, nil,
		},
		{"new-manifest", map[string]string{"bits/skills/setup/SKILL.md": skill}, []string{"bits", "--skill", "./skills/setup/SKILL.md", "--write"}, 0, []string{"bits/.codex-plugin/plugin.json"}},
		{
			"everything-written",
			map[string]string{"plugins/bits/skills/setup/SKILL.md": skill, "plugins/bits/.codex-plugin/plugin.json": "{\n  \"name\": \"bits\"\n}\n", "c.json": config(endpoint("/mcp", "bits", "acme"))},
			[]string{"plugins/bits", "--skill", "./skills/setup/SKILL.md", "--write", "--config", "c.json", "--marketplace-file", ".agents/plugins/marketplace.json"},
			0,
			[]string{"plugins/bits/.codex-plugin/plugin.json", ".agents/plugins/marketplace.json"},
		},
		{
			"nothing-written-where-something-is-wrong",
			map[string]string{"bits/skills/setup/SKILL.md": "x", ".agents/plugins/marketplace.json": "{}"},
			[]string{"bits", "--skill", "./skills/setup/SKILL.md", "--write", "--marketplace", "acme", "--marketplace-file", ".agents/plugins/marketplace.json"},
			1,
			[]string{".agents/plugins/marketplace.json"},
		},
		{
			"another-marketplace",
			map[string]string{"bits/skills/setup/SKILL.md": skill, ".agents/plugins/marketplace.json": `{"name":"globex","plugins":[]}`},
			[]string{"bits", "--skill", "./skills/setup/SKILL.md", "--write", "--marketplace", "acme", "--marketplace-file", ".agents/plugins/marketplace.json"},
			1,
			[]string{".agents/plugins/marketplace.json"},
		},
		{
			"two-names",
			map[string]string{"p/skills/setup/SKILL.md": skill, "p/.codex-plugin/plugin.json": `{"name":"bolts"}`},
			[]string{"p", "--skill", "./skills/setup/SKILL.md", "--plugin", "bits", "--marketplace", "acme"},
			1, nil,
		},
		{
			"portable-manifest-says-something-else",
			map[string]string{"p/skills/setup/SKILL.md": skill, "p/plugin.json": `{"extensions":{"com.openai":{"onboardingSkill":"./skills/other/SKILL.md"}}}`},
			[]string{"p", "--skill", "./skills/setup/SKILL.md", "--plugin", "bits", "--write"},
			1, nil,
		},
		{
			"several-endpoints",
			map[string]string{"p/skills/setup/SKILL.md": skill, "c.json": config(endpoint("/a", "bits", ""), endpoint("/b", "bolts", ""))},
			[]string{"p", "--skill", "./skills/setup/SKILL.md", "--config", "c.json"},
			2, nil,
		},
		{
			"one-of-several-endpoints",
			map[string]string{"p/skills/setup/SKILL.md": skill, "c.json": config(endpoint("/a", "bits", ""), endpoint("/b", "bolts", ""))},
			[]string{"p", "--skill", "./skills/setup/SKILL.md", "--config", "c.json", "--endpoint", "/b"},
			0, nil,
		},
		{"config-without-a-plugin", map[string]string{"p/x": "", "c.json": config(`{"handler":"mcp_app","path":"/mcp"}`)}, []string{"p", "--config", "c.json"}, 2, nil},
		{"marketplace-file-without-a-name", map[string]string{"p/x": ""}, []string{"p", "--marketplace-file", "m.json"}, 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, content := range tt.files {
				file := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{"onboarding"}
			for i, arg := range tt.args {
				// Folders and files are those of the test.
				if i == 0 && !strings.HasPrefix(arg, "-") || strings.HasSuffix(arg, ".json") {
					arg = filepath.Join(dir, arg)
				}
				args = append(args, arg)
			}
			code, stdout, stderr := runCommand(t, args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			checkJSON(t, tt.args, stdout)
			for _, name := range tt.reads {
				content, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				stdout += "-- " + name + " --\n" + string(content)
			}
			golden(t, "onboarding-"+tt.name, code, strings.ReplaceAll(stdout, dir, "$DIR"), strings.ReplaceAll(stderr, dir, "$DIR"))
		})
	}
}

// TestSpecShowsTheWholeTable: what the code asks is what an operator can read.
func TestSpecShowsTheWholeTable(t *testing.T) {
	t.Parallel()
	code, text, stderr := runCommand(t, "spec")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	differences := openai.Differences()
	if code != 0 || stderr != "" || len(lines) != len(differences)+1 {
		t.Fatalf("exit %d, %s%s", code, text, stderr)
	}
	_, text, _ = runCommand(t, "spec", "--json")
	var rows []specRow
	if err := json.Unmarshal([]byte(text), &rows); err != nil || len(rows) != len(differences) {
		t.Fatalf("%v in %s", err, text)
	}
	for i, d := range differences {
		want := []string{d.Rule, yesNo(d.E314720), yesNo(d.V02)}
		if fields := strings.Fields(lines[i+1]); !slices.Equal(fields[:3], want) || !strings.HasSuffix(lines[i+1], "  "+d.Meaning) {
			t.Errorf("line %q, want %q", lines[i+1], want)
		}
		if r := rows[i]; r.Rule != d.Rule || r.Meaning != d.Meaning || r.Holds["e314720"] != d.E314720 || r.Holds["0.2"] != d.V02 {
			t.Errorf("row %+v, want %+v", r, d)
		}
	}
}

// TestVerbsExplainThemselves: every verb has a line in the list and a text of
// its own.
func TestVerbsExplainThemselves(t *testing.T) {
	t.Parallel()
	code, _, list := runCommand(t)
	if code != exitUsage {
		t.Errorf("without a verb: exit code %d", code)
	}
	for _, construct := range verbs {
		cmd := construct()
		if !strings.Contains(list, cmd.Name()) {
			t.Errorf("%s is not in the list: %s", cmd.Name(), list)
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || cmd.Long == "" || cmd.RunE == nil {
			t.Errorf("%s: %q, %q", cmd.Name(), cmd.Short, cmd.Long)
		}
		if code, stdout, _ := runCommand(t, cmd.Name(), "--help"); code != 0 || !strings.Contains(stdout, cmd.Long) {
			t.Errorf("%s --help: %d, %s", cmd.Name(), code, stdout)
		}
	}
}
