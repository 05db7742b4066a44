package caddymodule

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// verbCase is how a verb is tried: a call that fails because something is wrong
// with what it looks at, empty if nothing can be.
type verbCase struct{ fails []string }

// verbCases has an entry for every verb.
func verbCases(t *testing.T) map[string]verbCase {
	t.Helper()
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	return map[string]verbCase{
		"console":    {[]string{"--admin", strings.TrimPrefix(dead.URL, "http://")}},
		"discover":   {[]string{dead.URL}},
		"doctor":     {[]string{dead.URL}},
		"explain":    {nil}, // what cannot be explained is a wrong command line
		"init":       {[]string{dead.URL + "/mcp"}},
		"link":       {[]string{"--check", "codex://plugins/x/app/"}},
		"onboarding": {[]string{pluginWithout(t)}},
		"spec":       {nil},
	}
}

// pluginWithout is a plugin's folder that declares a skill it does not have.
func pluginWithout(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugin")
	if err := os.MkdirAll(filepath.Join(dir, ".codex-plugin"), 0o755); err != nil {
		t.Fatal(err)
	}
	manifest := `{"name":"plugin","version":"1.0.0","extensions":{"com.openai":{"onboardingSkill":"./skills/none/SKILL.md"}}}`
	if err := os.WriteFile(filepath.Join(dir, ".codex-plugin", "plugin.json"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// everyVerb runs a test for each verb.
func everyVerb(t *testing.T, check func(t *testing.T, cmd *cobra.Command)) {
	t.Helper()
	for _, construct := range verbs {
		cmd := construct()
		t.Run(cmd.Name(), func(t *testing.T) { check(t, cmd) })
	}
}

func TestEveryVerbIsTriedHere(t *testing.T) {
	cases := verbCases(t)
	everyVerb(t, func(t *testing.T, cmd *cobra.Command) {
		if _, ok := cases[cmd.Name()]; !ok {
			t.Error("has no entry in verbCases")
		}
	})
}

func TestEveryVerbTeaches(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	everyVerb(t, func(t *testing.T, cmd *cobra.Command) {
		code, stdout, stderr := runCommand(t, cmd.Name(), "--help")
		if code != 0 || stderr != "" || !strings.Contains(stdout, strings.TrimSpace(cmd.Long)) {
			t.Errorf("--help: exit %d, %s%s", code, stdout, stderr)
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || cmd.Short == cmd.Long {
			t.Errorf("Short is one phrase without a full stop: %q", cmd.Short)
		}
		if !strings.HasPrefix(cmd.Use, cmd.Name()+" ") || !strings.Contains(cmd.Use, "[--json]") {
			t.Errorf("the usage names its arguments and --json: %q", cmd.Use)
		}
		if cmd.Flags().HasFlags() && cmd.Name() != "spec" && cmd.Example == "" {
			t.Error("has no example")
		}
		for line := range strings.Lines(cmd.Example) {
			if !strings.HasPrefix(line, "  caddy mcp-app "+cmd.Name()) {
				t.Errorf("an example of another command: %q", line)
			}
		}
		for line := range strings.Lines(cmd.Long) {
			if len([]rune(line)) > 83 { // a little over eighty, with its end
				t.Errorf("a line longer than a terminal: %q", line)
			}
		}
		if !strings.Contains(string(readme), "| `"+cmd.Name()+"` |") {
			t.Error("has no row under Command line in README.md")
		}
	})
}

// Exit 2 for the command line, nothing on the standard output, and a way on.
func TestEveryVerbSaysWhatIsWrongWithItsCommandLine(t *testing.T) {
	everyVerb(t, func(t *testing.T, cmd *cobra.Command) {
		for _, args := range [][]string{{"--no-such-flag"}, {"one", "two", "three"}} {
			code, stdout, stderr := runCommand(t, append([]string{cmd.Name()}, args...)...)
			if code != exitUsage || stdout != "" {
				t.Errorf("%q: exit %d, %s", args, code, stdout)
			}
			if !strings.Contains(stderr, "Usage: caddy mcp-app "+cmd.Name()) || !strings.Contains(stderr, "Try caddy mcp-app "+cmd.Name()+" --help") {
				t.Errorf("%q does not say what to do next: %s", args, stderr)
			}
		}
	})
}

// Exit 1 for what was found, with a text on the standard error, and with --json
// exactly one value on the standard output.
func TestEveryVerbFailsAlike(t *testing.T) {
	cases := verbCases(t)
	everyVerb(t, func(t *testing.T, cmd *cobra.Command) {
		fails := cases[cmd.Name()].fails
		if fails == nil {
			t.Skip("nothing that it looks at can be wrong")
		}
		code, stdout, stderr := runCommand(t, append([]string{cmd.Name()}, fails...)...)
		if code != exitFindings || stdout+stderr == "" {
			t.Errorf("exit %d, %s%s", code, stdout, stderr)
		}
		code, stdout, stderr = runCommand(t, append([]string{cmd.Name(), "--json"}, fails...)...)
		if code != exitFindings {
			t.Errorf("--json: exit %d, %s", code, stderr)
		}
		oneJSONValue(t, stdout)
	})
}

func TestEveryVerbPaintsOnTerminalsOnly(t *testing.T) {
	cases := verbCases(t)
	everyVerb(t, func(t *testing.T, cmd *cobra.Command) {
		for _, args := range [][]string{{"--help"}, cases[cmd.Name()].fails} {
			_, stdout, stderr := runCommand(t, append([]string{cmd.Name()}, args...)...)
			if strings.Contains(stdout+stderr, "\x1b") {
				t.Errorf("%q: a control sequence, though nobody looks: %q", args, stdout+stderr)
			}
		}
	})
}

// Flags that several verbs share are one flag: same name, same meaning.
func TestEveryVerbMeansTheSameByAFlag(t *testing.T) {
	usage := map[string]string{}
	everyVerb(t, func(t *testing.T, cmd *cobra.Command) {
		if cmd.Flags().Lookup("json") == nil {
			t.Error("has no --json")
		}
		for _, name := range []string{"json", "token", "token-file", "header"} {
			flag := cmd.Flags().Lookup(name)
			if flag == nil {
				continue
			}
			if other, known := usage[name]; known && other != flag.Usage {
				t.Errorf("--%s is %q here and %q elsewhere", name, flag.Usage, other)
			}
			usage[name] = flag.Usage
		}
	})
}

// Shells complete verbs and flags: Caddy's completion command is cobra's, which
// asks __complete.
func TestEveryVerbIsCompleted(t *testing.T) {
	_, offered, _ := runRoot(t, "__complete", "mcp-app", "")
	everyVerb(t, func(t *testing.T, cmd *cobra.Command) {
		if !regexp.MustCompile(`(?m)^` + cmd.Name() + `\t`).MatchString(offered) {
			t.Errorf("is not offered: %s", offered)
		}
		if _, flags, _ := runRoot(t, "__complete", "mcp-app", cmd.Name(), "--js"); !strings.Contains(flags, "--json") {
			t.Errorf("its --json is not offered: %s", flags)
		}
	})
}

func oneJSONValue(t *testing.T, text string) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	var value any
	if err := dec.Decode(&value); err != nil || dec.More() {
		t.Errorf("not one JSON value, %v: %s", err, text)
	}
}

// TestEveryVerb names the tests above for those who look for them.
func TestEveryVerb(t *testing.T) {
	var names []string
	for _, construct := range verbs {
		names = append(names, construct().Name())
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(verbs) {
		t.Errorf("two verbs of one name: %q", names)
	}
}
