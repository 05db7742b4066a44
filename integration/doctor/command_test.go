package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/doctor"
)

// binary is where build puts Caddy with the module, as a user builds it.
var binary string

var build = sync.OnceValue(func() error {
	output, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "../../cmd/caddy").CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(output)))
	}
	return nil
})

// run runs caddy mcp-app doctor, with the token in the environment.
func (c *clinic) run(t *testing.T, token string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"mcp-app", "doctor"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "NO_PROXY=*", "MCP_APP_TOKEN="+token)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err, code = nil, exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	if token != "" && strings.Contains(out.String()+errs.String(), token) {
		t.Error("the token is printed")
	}
	return code, out.String(), errs.String()
}

// caddyfile writes the site with a change.
func caddyfile(t *testing.T, old, replacement string) string {
	t.Helper()
	text := strings.Replace(site, old, replacement, 1)
	if old != "" && text == site {
		t.Fatalf("there is no %q in the site", old)
	}
	file := filepath.Join(t.TempDir(), "Caddyfile")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheCommandIsQuietAboutACleanSetup(t *testing.T) {
	c := start(t)
	for name, args := range map[string][]string{
		"from outside":            {c.url, "--tunnel"},
		"from inside and outside": {"--config", caddyfile(t, "", ""), "--endpoint", "/mcp"},
		"from inside":             {"--config", caddyfile(t, "", ""), "--offline"},
	} {
		code, stdout, stderr := c.run(t, c.token, args...)
		if code != 0 || !strings.Contains(stdout, "Nothing was found.") || strings.Contains(stdout, "not checked") || strings.Contains(stderr, "\r") {
			t.Errorf("%s: exit %d\n%s%s", name, code, stdout, stderr)
		}
		if !slices.Contains(args, "--offline") && !strings.Contains(stdout, "https://chatgpt.com/connector/oauth/{callback_id} and https://chatgpt.com/connector_platform_oauth_redirect") {
			t.Errorf("%s: no redirects: %s", name, stdout)
		}
	}
}

// The client's own questions are asked on demand only, and what it does not get
// is said, with where to read on.
func TestTheCommandAsksAsTheTunnelClientOnDemand(t *testing.T) {
	c := start(t)
	// A client without a token, as the tunnel's is when it starts, finds nothing.
	c.front.set(answers(func(r *http.Request) bool { return asks("initialize")(r) && !authorized(r) }, status(http.StatusNotFound, "text/plain", "no")))
	for flag, want := range map[string]int{"--tunnel": 1, "--severity=warning": 0} {
		code, stdout, stderr := c.run(t, c.token, c.url, flag)
		if said := strings.Contains(stdout, "tunnel-not-ready") && strings.Contains(stdout, "docs/tunnel.md"); code != want || said != (want == 1) {
			t.Errorf("%s: exit %d\n%s%s", flag, code, stdout, stderr)
		}
	}
}

// TestAConfigurationIsComparedWithTheServer: what only the configuration can
// show, each by its id and nothing else.
func TestAConfigurationIsComparedWithTheServer(t *testing.T) {
	c := start(t)
	for _, tt := range []struct {
		name, old, replacement string
		grant                  issuer.Grant
		want                   []string
		line                   string
	}{
		{name: "a rule for nothing", old: "tool *\n", replacement: "tool *\n\t\t\ttool cad.delete\n", want: []string{"rule-unused"}},
		{name: "an entrypoint that is not there", old: "entrypoint workspace.home global", replacement: "entrypoint workspace.house global", want: []string{"declared-tool-missing"}},
		{name: "an entrypoint that needs arguments", old: "entrypoint workspace.home global", replacement: "entrypoint get_deck global", want: []string{"entrypoint-no-ui"}},
		{
			name: "a page that navigates by itself", old: "settings settings.read", replacement: "page ui://workspace/home {\n\t\t\t\tnavigate workspace.navigate\n\t\t\t}\n\t\t\tsettings settings.read",
			want: []string{"navigate-unguarded"}, line: "links { navigate workspace.navigate }",
		},
		{name: "another audience", grant: issuer.Grant{Audience: []string{"https://other.example"}}, want: []string{"token-audience"}, line: "audience https://other.example"},
		{name: "an ID token", grant: issuer.Grant{Type: "JWT"}, want: []string{"token-type"}, line: "token_type jwt"},
		{name: "another tenant", grant: issuer.Grant{Claims: map[string]any{"org_id": "globex"}}, want: []string{"token-tenant"}},
		{name: "an old token", grant: issuer.Grant{TTL: -time.Hour}, want: []string{"endpoint-refused"}},
	} {
		code, stdout, stderr := c.run(t, c.issue(t, tt.grant), "--config", caddyfile(t, tt.old, tt.replacement), "--offline", "--json")
		var report doctor.Report
		if err := json.Unmarshal([]byte(stdout), &report); err != nil {
			t.Fatalf("%s: %v\n%s%s", tt.name, err, stdout, stderr)
		}
		var found []string
		line := ""
		for _, f := range report.Findings {
			found, line = append(found, f.ID), f.Line
		}
		if code != 1 || !slices.Equal(found, tt.want) || line != tt.line {
			t.Errorf("%s: exit %d, found %q, want %q, line %q\n%+v\n%s", tt.name, code, found, tt.want, line, report, stderr)
		}
	}
	// Said on demand only.
	_, stdout, _ := c.run(t, c.token, "--config", caddyfile(t, "", ""), "--offline", "--severity", "note")
	for _, id := range []string{"note state-local", "note storage-local"} {
		if !strings.Contains(stdout, id) {
			t.Errorf("%s is not said: %s", id, stdout)
		}
	}
}

func TestTheExitCodeFollowsTheSeverity(t *testing.T) {
	c := start(t)
	c.authority.set(authority(func(d map[string]any) { delete(d, "registration_endpoint") }))
	if code, stdout, _ := c.run(t, c.token, c.url); code != 1 || !strings.Contains(stdout, "warning as-registration") || !strings.Contains(stdout, "Why: ") || !strings.Contains(stdout, "Fix: ") {
		t.Errorf("a warning: exit %d\n%s", code, stdout)
	}
	if code, stdout, _ := c.run(t, c.token, c.url, "--severity", "error"); code != 0 || strings.Contains(stdout, "as-registration") {
		t.Errorf("errors only: exit %d\n%s", code, stdout)
	}
	c.authority.set(nil)
	if code, stdout, _ := c.run(t, "", c.url); code != 0 || !strings.Contains(stdout, "not checked: tools, pages") {
		t.Errorf("without a token: exit %d\n%s", code, stdout)
	}
}

func TestCommandLinesThatAskForNothingAreRefused(t *testing.T) {
	c := &clinic{}
	for want, args := range map[string][]string{
		"name the endpoint's address": {},
		"takes one address":           {"http://127.0.0.1/a", "http://127.0.0.1/b"},
		"goes with --config":          {"http://127.0.0.1/a", "--offline"},
		"exclude each other":          {"http://127.0.0.1/a", "--config", "Caddyfile", "--offline"},
		"--severity is error":         {"http://127.0.0.1/a", "--severity", "bad"},
		"begin with https":            {"ftp://127.0.0.1/a"},
		"no such file":                {"--config", "nothing-here"},
		"longer than nothing":         {"http://127.0.0.1/a", "--timeout", "0s"},
	} {
		if code, stdout, stderr := c.run(t, "", args...); code != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit %d\n%s%s, want %q", args, code, stdout, stderr, want)
		}
	}
}

// What a server says never acts on a terminal.
func TestNothingOfTheServerReachesTheTerminal(t *testing.T) {
	c := start(t)
	c.front.set(tool("list_decks", func(tool map[string]any) {
		tool["name"] = "evil\x1b[2J\u202e" + c.token
		delete(tool, "description")
	}))
	code, stdout, stderr := c.run(t, c.token, c.url)
	if all := stdout + stderr; code != 1 || strings.ContainsAny(all, "\x1b\u202e") {
		t.Errorf("exit %d\n%q", code, all)
	}
}
