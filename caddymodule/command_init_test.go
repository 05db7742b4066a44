package caddymodule

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// declaring is a modern server with these tools.
func declaring(t testing.TB, tools string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			Method string          `json:"method"`
			ID     json.RawMessage `json:"id"`
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &message)
		result := `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x {$HOME} \n}","version":"1"}}}`
		if message.Method == "tools/list" {
			result = `{"tools":` + tools + `}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(message.ID)+`,"result":`+result+`}`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

const sampleTools = `[
{"name":"cad.library","title":"Parts","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{}},"_meta":{"ui":{"resourceUri":"ui://cad/library"}}},
{"name":"cad.open","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}},
{"name":"cad.delete","description":"Deletes a part.","annotations":{"destructiveHint":true},"inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}]`

// validDraft does with a draft what caddy fmt and caddy validate do.
func validDraft(t testing.TB, text string) {
	t.Helper()
	if string(caddyfile.Format([]byte(text))) != text {
		t.Errorf("not formatted as caddy fmt does:\n%s", text)
	}
	adapted, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v\n%s", err, warnings, text)
	}
	var config *caddy.Config
	if err := caddy.StrictUnmarshalJSON(caddy.RemoveMetaFields(adapted), &config); err != nil {
		t.Fatal(err)
	}
	if err := caddy.Validate(config); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

func TestInitWritesRulesByWhatToolsSayOfThemselves(t *testing.T) {
	code, stdout, stderr := runCommand(t, "init", declaring(t, sampleTools), "--tenant-claim", "org_id")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	validDraft(t, stdout)
	for _, want := range []string{
		"\t\t\ttool cad.library\n",
		"\t\t\ttool cad.delete {\n\t\t\t\tscopes mcp.write\n\t\t\t\ton_missing_scope challenge\n",
		"# Deletes a part. (destructive)\n",
		"\t\t\tentrypoint cad.library global\n",
		"\t\t\tnavigate cad.open\n",
		"\t\t\tclaim org_id\n",
		"# caddy mcp-app doctor https://mcp.example.com/mcp"[2:],
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("does not hold %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "entrypoint cad.open") || strings.Contains(stdout, "entrypoint cad.delete") {
		t.Errorf("an entrypoint that the gateway would not declare:\n%s", stdout)
	}
}

// Names that would mean something to Caddy get no rule, and texts of the server
// stay in comments.
func TestInitWritesNothingThatAServerSlipsIn(t *testing.T) {
	t.Setenv("MCP_APP_TEST_SECRET", "s3cret-value")
	names := []string{
		"{env.MCP_APP_TEST_SECRET}", "{$MCP_APP_TEST_SECRET}", "{$NONE:*}", "{path}", "{", "}", "a{b", "a}b", "}\n}\n:80 {\n respond ok",
		"a\nb", "a\r\nb", "a\"b", `"`, "a`b", "`", `a\`, `a\"b`, "*", "a*", "<<EOF", "#", "a #b", " a", "a ", "a\tb", "a\u2028b", "a\u202eb",
		"a\x00b", "\ufeffa", strings.Repeat("a", 300),
	}
	unsafe := len(names)
	names = append(names, "import", "@x", "a b", "tool", "größe", "deny", "-", "//", "a,b", "https://x", "a;b", "'a'", "(a)", "&(a)", "a=b", "~", "a%2fb")
	for i, name := range names {
		t.Run(fmt.Sprintf("%.20q", name), func(t *testing.T) {
			quoted, _ := json.Marshal(name)
			tools := fmt.Sprintf(`[{"name":%s,"title":%[1]s,"description":%[1]s,"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},
				{"name":"other","description":"{$MCP_APP_TEST_SECRET} }\n}\n:80 {","inputSchema":{"type":"object"}}]`, quoted)
			code, stdout, stderr := runCommand(t, "init", declaring(t, tools))
			if code != 0 {
				t.Fatalf("exit %d, %s", code, stderr)
			}
			validDraft(t, stdout)
			rules := strings.Count(stdout, "\n\t\t\ttool ")
			if want := map[bool]int{true: 1, false: 2}[i < unsafe]; rules != want {
				t.Errorf("%d rules, want %d:\n%s", rules, want, stdout)
			}
			for line := range strings.Lines(stdout) {
				if strings.HasPrefix(strings.TrimSpace(line), "#") && strings.Contains(line, "{$") {
					t.Errorf("the environment is put into %q", line)
				}
			}
			if adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(stdout), nil); err != nil || strings.Count(string(adapted), "static_response") != 1 /* the 404 of ours */ || strings.Contains(stdout+string(adapted), "s3cret-value") {
				t.Errorf("something of the server's came through: %v\n%s\n%s", err, stdout, adapted)
			}
		})
	}
}

func FuzzInitNames(f *testing.F) {
	for _, seed := range []string{"a", "a b", "{$HOME}", "}\n", "`", "\"", "<<x", "a\\", "*"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, name, description string) {
		tool := rawjson.Value(fmt.Sprintf(`{"name":%s,"description":%s,"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`,
			rawjson.Quote(name), rawjson.Quote(description)))
		site := initSite{Issuer: "https://login.example.com", WriteScope: "mcp.write"}
		if err := site.place("http://127.0.0.1:3000/mcp", ""); err != nil {
			t.Fatal(err)
		}
		// caddyfile fails if anything but the one rule came out.
		text, err := newDraft(&discovery.Report{Tools: []rawjson.Value{tool}}, nil, site).caddyfile()
		if err != nil {
			t.Fatalf("%q: %v\n%s", name, err, text)
		}
		if strings.Contains(text, "{$") {
			t.Fatalf("the environment is put in:\n%s", text)
		}
	})
}

func TestInitKeepsAFileThatIsThere(t *testing.T) {
	address, file := declaring(t, sampleTools), filepath.Join(t.TempDir(), "Caddyfile")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runCommand(t, "init", address, "--output", file)
	if text, _ := os.ReadFile(file); code != 2 || string(text) != "mine" || stdout != "" || !strings.Contains(stderr, "--force") {
		t.Errorf("exit %d, %q, %s%s", code, text, stdout, stderr)
	}
	code, stdout, stderr = runCommand(t, "init", address, "--output", file, "--force")
	text, _ := os.ReadFile(file)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "3 of 3 tools") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	validDraft(t, string(text))
}

func TestInitPrintsOneJSONValue(t *testing.T) {
	code, stdout, _ := runCommand(t, "init", declaring(t, sampleTools), "--json")
	var result draftResult
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, stdout)
	}
	if result.Rules != 3 || len(result.Entrypoints) != 1 || result.Navigate != "cad.open" {
		t.Errorf("%+v", result)
	}
	validDraft(t, result.Caddyfile)
}

func TestInitRefusesWhatCannotBeWritten(t *testing.T) {
	for name, args := range map[string][]string{
		"a placeholder": {"--issuer", "https://{env.X}"},
		"another path":  {"--resource", "https://mcp.example.com/other"},
		"no URL":        {"--resource", "mcp.example.com"},
		"two words":     {"--write-scope", "a b"},
		"no scope":      {"--write-scope", ""},
		"force alone":   {"--force"},
	} {
		if code, stdout, stderr := runCommand(t, append([]string{"init", "http://127.0.0.1:1/mcp"}, args...)...); code != 2 || stdout != "" || stderr == "" {
			t.Errorf("%s: exit %d, %s%s", name, code, stdout, stderr)
		}
	}
}
