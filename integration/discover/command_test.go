package discover

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

// scripted is a modern server with a catalog that a test writes.
type scripted struct {
	tools   string
	prompts string // the error of prompts/list, if it has prompts

	mu      sync.Mutex
	headers []http.Header
}

// offer changes what the server lists from now on.
func (s *scripted) offer(tools string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var message struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &message)
	s.mu.Lock()
	s.headers = append(s.headers, r.Header.Clone())
	tools := s.tools
	s.mu.Unlock()
	result := `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}` + s.more() + `},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted\u001b[2J","version":"1"}}}`
	if message.Method == "tools/list" {
		result = `{"tools":` + tools + `}`
	}
	member := "result"
	if message.Method == "prompts/list" {
		member, result = "error", s.prompts
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(message.ID)+`,"`+member+`":`+result+`}`)
}

func (s *scripted) more() string {
	if s.prompts == "" {
		return ""
	}
	return `,"prompts":{}`
}

const catalog = `[
{"name":"cad.library","title":"Parts","annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false},"inputSchema":{"type":"object","properties":{"path":{"type":"string"}}},"_meta":{"openai/ui":{"entrypoints":[{"type":"global"},{"type":"file","extensions":[".stl"]}]}}},
{"name":"cad.delete","description":"Deletes a part.","annotations":{"title":"Delete\u202e","destructiveHint":true},"inputSchema":{"type":"object","properties":{"id":{"type":["string","integer"]}},"required":["id"]}}]`

func TestTheTableSumsUpEachTool(t *testing.T) {
	address := serve(t, &scripted{tools: catalog})
	code, stdout, stderr := command{args: []string{address}}.run(t)
	want := `scripted[2J 1 (modern, 2026-07-28) offers 2 tools

NAME         TITLE   HINTS                   ENTRYPOINTS        INPUT (* required)
cad.library  Parts   read-only               global, file .stl  path:string
cad.delete   Delete  destructive, 2 missing  -                  id*:string|integer
`
	if code != 0 || stderr != "" || stdout != want {
		t.Errorf("exit %d\n%s%s\nwant\n%s", code, stdout, stderr, want)
	}
}

// What fails behind the tools does not hide them, but is no success.
func TestToolsAreShownAlthoughPromptsFail(t *testing.T) {
	address := serve(t, &scripted{tools: catalog, prompts: `{"code":-32603,"message":"no"}`})
	code, stdout, stderr := command{args: []string{address}}.run(t)
	if code != 1 || !strings.Contains(stdout, "cad.library") || !strings.Contains(stderr, "prompts/list: server-error: ") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	address = serve(t, &scripted{tools: `[{"name":"a","inputSchema":{}},{"name":"b"}]`})
	if code, stdout, stderr := (command{args: []string{address}}).run(t); code != 1 || stdout != "" || !strings.Contains(stderr, "malformed-catalog") {
		t.Errorf("part of the tools: exit %d, %s%s", code, stdout, stderr)
	}
}

func TestTheListCanBeNarrowed(t *testing.T) {
	address := serve(t, &scripted{tools: catalog})
	for name, tt := range map[string]struct {
		args  []string
		code  int
		tools []string
	}{
		"search in the name":        {[]string{"--search", "LIBRARY"}, 0, []string{"cad.library"}},
		"search in the title":       {[]string{"--search", "parts"}, 0, []string{"cad.library"}},
		"search in the description": {[]string{"--search", "deletes"}, 0, []string{"cad.delete"}},
		"search for nothing there":  {[]string{"--search", "xyz"}, 0, nil},
		"allowed":                   {[]string{"--allowed-tools", "cad.delete"}, 0, []string{"cad.delete"}},
		"allowed, one missing":      {[]string{"--allowed-tools", "cad.delete, cad.gone"}, 1, []string{"cad.delete"}},
		"allowed, none":             {[]string{"--allowed-tools", ""}, 0, nil},
	} {
		code, stdout, stderr := command{args: append([]string{address, "--json"}, tt.args...)}.run(t)
		var l listing
		if err := json.Unmarshal([]byte(stdout), &l); err != nil || code != tt.code || !slices.Equal(l.names(), tt.tools) {
			t.Errorf("%s: exit %d, %v, %q: %s", name, code, err, l.names(), stderr)
		}
		if tt.code == 1 && !strings.Contains(stderr, "cad.gone") {
			t.Errorf("%s: %s", name, stderr)
		}
	}
}

func TestASchemaCanBeShown(t *testing.T) {
	address := serve(t, &scripted{tools: catalog})
	code, stdout, _ := command{args: []string{address, "--schema", "cad.delete"}}.run(t)
	var got struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || got.Name != "cad.delete" || !strings.Contains(string(got.InputSchema), `"integer"`) {
		t.Errorf("exit %d, %v: %s", code, err, stdout)
	}
	if code, stdout, stderr := (command{args: []string{address, "--schema", "gone"}}).run(t); code != 1 || stdout != "" || !strings.Contains(stderr, "gone") {
		t.Errorf("a tool that is not there: exit %d, %s%s", code, stdout, stderr)
	}
}

func TestADifferenceIsShownAndFound(t *testing.T) {
	server := &scripted{tools: catalog}
	address := serve(t, server)
	dir := t.TempDir()
	_, before, _ := command{args: []string{address, "--json"}}.run(t)
	file := filepath.Join(dir, "before.json")
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, _ := (command{args: []string{address, "--diff", file}}).run(t); code != 0 || stdout != "No difference.\n" {
		t.Errorf("the same: exit %d, %s", code, stdout)
	}
	// Another order and other spelling is no difference.
	server.offer(`[{"inputSchema":{"required":["id"],"properties":{"id":{"type":["string","integer"]}},"type":"object"},"annotations":{"destructiveHint":true,"title":"Delete\u202E"},"description":"\u0044eletes a part.","name":"cad.delete"},` +
		`{"name":"cad.library","title":"All parts","annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false},"inputSchema":{"type":"object","properties":{"path":{"type":"string","maxLength":9}}},"_meta":{"openai/ui":{"entrypoints":[{"type":"global"},{"type":"file","extensions":[".stl"]}]}}}]`)
	if code, stdout, _ := (command{args: []string{address, "--diff", file}}).run(t); code != 1 || stdout != "~ cad.library: inputSchema, title\n" {
		t.Errorf("changed: exit %d, %s", code, stdout)
	}
	if code, stdout, _ := (command{args: []string{address, "--diff", file, "--allowed-tools", "cad.delete"}}).run(t); code != 0 || stdout != "No difference.\n" {
		t.Errorf("changed elsewhere: exit %d, %s", code, stdout)
	}
	server.offer(`[{"name":"cad.new","inputSchema":{}}]`)
	if code, stdout, _ := (command{args: []string{address, "--diff", file}}).run(t); code != 1 || stdout != "+ cad.new\n- cad.delete\n- cad.library\n" {
		t.Errorf("replaced: exit %d, %s", code, stdout)
	}
	code, stdout, _ := command{args: []string{address, "--diff", file, "--json"}}.run(t)
	var got struct {
		Diff struct{ Added, Removed []string }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 1 || !slices.Equal(got.Diff.Added, []string{"cad.new"}) || len(got.Diff.Removed) != 2 {
		t.Errorf("as JSON: exit %d, %v, %s", code, err, stdout)
	}
	for name, text := range map[string]string{"nothing": "", "another JSON": `{"tools":[]}`, "a failure": `{"source":"server","tools":[],"failure":{"class":"timeout"}}`} {
		bad := filepath.Join(dir, "bad.json")
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := (command{args: []string{address, "--diff", bad}}).run(t); code != 2 || !strings.Contains(stderr, "--diff") {
			t.Errorf("%s: exit %d, %s", name, code, stderr)
		}
	}
}

// TestCredentials: what is said on the command line counts, also that there are
// none; nothing is repeated.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte("from-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"MCP_APP_TOKEN=from-the-environment"}
	for name, tt := range map[string]struct {
		command
		code          int
		authorization []string
		key           []string
	}{
		"nothing":                    {command{}, 0, nil, nil},
		"environment":                {command{env: env}, 0, []string{"Bearer from-the-environment"}, nil},
		"empty environment":          {command{env: []string{"MCP_APP_TOKEN="}}, 0, nil, nil},
		"file before environment":    {command{args: []string{"--token-file", file}, env: env}, 0, []string{"Bearer from-the-file"}, nil},
		"flag before environment":    {command{args: []string{"--token", "from-the-flag"}, env: env}, 0, []string{"Bearer from-the-flag"}, nil},
		"empty flag":                 {command{args: []string{"--token", ""}, env: env}, 0, nil, nil},
		"standard input":             {command{args: []string{"--token-file", "-"}, stdin: "from-the-input\n"}, 0, []string{"Bearer from-the-input"}, nil},
		"empty input":                {command{args: []string{"--token-file", "-"}, env: env}, 2, nil, nil},
		"own header":                 {command{args: []string{"--header", "authorization: Basic raw=="}, env: env}, 0, []string{"Basic raw=="}, nil},
		"own header, empty":          {command{args: []string{"--header", "Authorization:"}, env: env}, 0, nil, nil},
		"API key beside a token":     {command{args: []string{"--header", "X-Api-Key: {env.HOME} Bearer k:1"}, env: env}, 0, []string{"Bearer from-the-environment"}, []string{"{env.HOME} Bearer k:1"}},
		"empty API key":              {command{args: []string{"--header", "X-Api-Key:"}}, 0, nil, []string{""}},
		"header and token":           {command{args: []string{"--header", "Authorization: secret-1", "--token", "secret-1"}}, 2, nil, nil},
		"header twice":               {command{args: []string{"--header", "X-Api-Key: secret-1", "--header", "x-api-key: secret-2"}}, 2, nil, nil},
		"line break":                 {command{args: []string{"--header", "X-Api-Key: secret-1\r\nX-Other: secret-2"}}, 2, nil, nil},
		"header of the protocol":     {command{args: []string{"--header", "Mcp-Method: secret-1"}}, 2, nil, nil},
		"no name":                    {command{args: []string{"--header", "secret-1"}}, 2, nil, nil},
		"token with a control":       {command{args: []string{"--token", "secret-1\x07"}}, 2, nil, nil},
		"token twice":                {command{args: []string{"--token", "secret-1", "--token-file", file}}, 2, nil, nil},
		"user and password":          {command{args: []string{"https://user:secret-1@127.0.0.1/"}}, 2, nil, nil},
		"openai flags without it":    {command{args: []string{"--model", "x"}}, 2, nil, nil},
		"schema and diff":            {command{args: []string{"--schema", "x", "--diff", file}}, 2, nil, nil},
		"no time at all":             {command{args: []string{"--timeout", "0s"}}, 2, nil, nil},
		"an address that is no more": {command{args: []string{"second"}}, 2, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := &scripted{tools: `[]`}
			tt.args = append(tt.args, serve(t, server))
			code, stdout, stderr := tt.run(t)
			if code != tt.code {
				t.Fatalf("exit %d, want %d: %s%s", code, tt.code, stdout, stderr)
			}
			for _, secret := range []string{"from-the", "secret-", "raw=="} {
				if strings.Contains(stdout+stderr, secret) {
					t.Errorf("a secret is repeated: %s%s", stdout, stderr)
				}
			}
			if warned := strings.Contains(stderr, "Warning"); code == 0 && warned != slices.Contains(tt.args, "from-the-flag") {
				t.Errorf("warning: %v, %s", warned, stderr)
			}
			if (len(server.headers) == 0) != (code == 2) {
				t.Fatalf("%d requests", len(server.headers))
			}
			for _, h := range server.headers {
				if !slices.Equal(h.Values("Authorization"), tt.authorization) || !slices.Equal(h.Values("X-Api-Key"), tt.key) {
					t.Errorf("sent %v", h)
				}
			}
		})
	}
}

// A server that repeats what it was sent does not get it into a terminal, a log
// or a file.
func TestSecretsInADeclarationAreTakenOut(t *testing.T) {
	const token = "t0ken-of-the-caller"
	address := serve(t, &scripted{tools: `[{"name":"a","title":"` + token + `","description":"` + "\u009b31m \u202e \U000e0041" + ` you sent ` + token + `","inputSchema":{"type":"object","properties":{"` + token + `":{"const":12345678}}}}]`})
	for _, args := range [][]string{{"--json"}, {}, {"--schema", "a"}} {
		code, stdout, stderr := command{args: append([]string{address, "--header", "X-Api-Key: 12345678"}, args...), env: []string{"MCP_APP_TOKEN=" + token}}.run(t)
		if code != 0 || strings.Contains(stdout+stderr, token) || strings.ContainsAny(stdout, "\u009b\u202e\U000e0041") {
			t.Errorf("%q: exit %d, %s%s", args, code, stdout, stderr)
		}
		if len(args) > 0 && !json.Valid([]byte(stdout)) {
			t.Errorf("%q: no JSON: %s", args, stdout)
		}
	}
}

func TestASilentServerEndsTheCommand(t *testing.T) {
	address := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	code, stdout, stderr := command{args: []string{address, "--timeout", "600ms", "--json"}}.run(t)
	var l listing
	if err := json.Unmarshal([]byte(stdout), &l); err != nil || code != 1 || l.Failure == nil || l.Failure.Class != "timeout" || !strings.Contains(stderr, "timeout") {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
}

// TestTheReadmeSaysHow runs every discover line of the README, at the sample
// server and at a recorded Responses API.
func TestTheReadmeSaysHow(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	address, _ := workspaceServer(t, workspace.Config{})
	api := newResponsesAPI(t)
	dir := t.TempDir()
	for name, content := range map[string]string{"token.txt": "t0ken", "openai.key": "sk-key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		args, is := strings.CutPrefix(strings.TrimSpace(line), "caddy mcp-app discover ")
		if !is {
			continue
		}
		lines++
		args, output, _ := strings.Cut(args, " > ")
		openai := strings.Contains(args, "--openai")
		if !openai {
			args = strings.ReplaceAll(args, "https://mcp.example.com/mcp", address)
		}
		c := command{args: words(args), dir: dir, env: []string{"OPENAI_BASE_URL=" + api.url + "/v1", "OPENAI_API_KEY=sk-key"}}
		code, stdout, stderr := c.run(t)
		if wantDifference := openai && strings.Contains(args, "--diff"); code != 0 && !wantDifference || code != 1 && wantDifference {
			t.Errorf("%s: exit %d, %s%s", line, code, stdout, stderr)
		}
		if output != "" {
			if err := os.WriteFile(filepath.Join(dir, output), []byte(stdout), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if lines < 5 {
		t.Errorf("only %d lines", lines)
	}
}

// words splits a line as a shell does, as far as the README needs it.
func words(line string) []string {
	var list []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}
