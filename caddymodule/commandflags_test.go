package caddymodule

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestTokenSources: a flag comes before the environment, an explicitly empty one
// too, and no message repeats a token.
func TestTokenSources(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name, env, stdin string
		args             []string
		want             bearer
		failure, warns   bool
	}{
		{name: "nothing"},
		{name: "environment", env: "secret-env", want: bearer{"secret-env", true}},
		{name: "flag before environment", env: "secret-env", args: []string{"--token", "secret-flag"}, want: bearer{"secret-flag", true}, warns: true},
		{name: "empty flag before environment", env: "secret-env", args: []string{"--token", ""}, want: bearer{"", true}},
		{name: "file", env: "secret-env", args: []string{"--token-file", file("good", "secret-file\n")}, want: bearer{"secret-file", true}},
		{name: "standard input", stdin: "secret-in\r\n", args: []string{"--token-file", "-"}, want: bearer{"secret-in", true}},
		{name: "empty file", env: "secret-env", args: []string{"--token-file", file("empty", "\n")}, failure: true},
		{name: "no file", args: []string{"--token-file", filepath.Join(dir, "none")}, failure: true},
		{name: "long file", args: []string{"--token-file", file("long", strings.Repeat("secret", 4000))}, failure: true},
		{name: "both flags", args: []string{"--token", "secret", "--token-file", "-"}, failure: true},
		{name: "second line", args: []string{"--token-file", file("lines", "secret\nX-Other: 1")}, failure: true},
		{name: "broken environment", env: "secret secret", failure: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(tokenEnv, tt.env)
			if tt.env == "" {
				_ = os.Unsetenv(tokenEnv) // put back by Setenv's cleanup
			}
			cmd := &cobra.Command{}
			var stderr strings.Builder
			cmd.SetErr(&stderr)
			cmd.SetIn(strings.NewReader(tt.stdin))
			source := tokenFlags(cmd)
			if err := cmd.ParseFlags(tt.args); err != nil {
				t.Fatal(err)
			}
			got, err := source.read(cmd)
			if got != tt.want || (err != nil) != tt.failure {
				t.Errorf("got %+v, %v; want %+v, failure %t", got, err, tt.want, tt.failure)
			}
			if (stderr.String() != "") != tt.warns {
				t.Errorf("said %q", stderr.String())
			}
			if err != nil && strings.Contains(err.Error(), "secret") || strings.Contains(stderr.String(), "secret") {
				t.Errorf("a token is repeated: %v %s", err, stderr.String())
			}
		})
	}
}
