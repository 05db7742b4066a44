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
)

// responsesAPI is a recorded Responses API: it plays the stream of a fixture for
// whatever server is asked about.
type responsesAPI struct {
	url string

	mu     sync.Mutex
	bodies []string
	keys   []string
}

func newResponsesAPI(t *testing.T) *responsesAPI {
	t.Helper()
	stream, err := os.ReadFile(filepath.Join("testdata", "responses-mcp-list.sse"))
	if err != nil {
		t.Fatal(err)
	}
	api := &responsesAPI{}
	api.url = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		api.mu.Lock()
		api.bodies = append(api.bodies, string(body))
		api.keys = append(api.keys, r.Header.Get("Authorization"))
		api.mu.Unlock()
		if r.URL.Path != "/v1/responses" || r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.ReplaceAll(string(stream), "acme_notes", "mcp_app"))
	}))
	return api
}

func TestOpenAIIsAskedOnlyWithConsent(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("sk-from-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const address = "https://mcp.example.com/mcp"
	env := []string{"OPENAI_API_KEY=sk-from-the-environment"}
	for name, tt := range map[string]struct {
		command
		code int
		key  string // sent, empty if nothing may be sent
	}{
		"agreed by flag":      {command{args: []string{address, "--yes"}, env: env}, 0, "sk-from-the-environment"},
		"agreed by answer":    {command{args: []string{address}, env: env, stdin: "y\n"}, 0, "sk-from-the-environment"},
		"no answer":           {command{args: []string{address}, env: env}, 1, ""},
		"refused":             {command{args: []string{address}, env: env, stdin: "n\n"}, 1, ""},
		"another answer":      {command{args: []string{address}, env: env, stdin: "yesterday\n"}, 1, ""},
		"input is the token":  {command{args: []string{address, "--token-file", "-"}, env: env, stdin: "y\n"}, 2, ""},
		"key from a file":     {command{args: []string{address, "--yes", "--openai-key", "{file." + key + "}"}, env: env}, 0, "sk-from-the-file"},
		"key from a variable": {command{args: []string{address, "--yes", "--openai-key", "{env.OTHER}"}, env: []string{"OTHER=sk-other"}}, 0, "sk-other"},
		"no such file":        {command{args: []string{address, "--yes", "--openai-key", "{file./no/such/file}"}, env: env}, 2, ""},
		"an empty key":        {command{args: []string{address, "--yes", "--openai-key", ""}, env: env}, 2, ""},
		"the key itself":      {command{args: []string{address, "--yes", "--openai-key", "sk-visible"}, env: env}, 2, ""},
		"no key":              {command{args: []string{address, "--yes"}}, 2, ""},
		"this machine":        {command{args: []string{"http://127.0.0.1:3000/mcp", "--yes"}, env: env}, 2, ""},
		"tunnel and address":  {command{args: []string{address, "--yes", "--tunnel-id", "tunnel_0123456789abcdef0123456789abcdef"}, env: env}, 2, ""},
		"a tunnel":            {command{args: []string{"--yes", "--tunnel-id", "tunnel_0123456789abcdef0123456789abcdef"}, env: env}, 0, "sk-from-the-environment"},
	} {
		t.Run(name, func(t *testing.T) {
			api := newResponsesAPI(t)
			tt.args = append(tt.args, "--openai", "--openai-base-url", api.url+"/v1")
			code, stdout, stderr := tt.run(t)
			if code != tt.code || strings.Contains(stdout+stderr, "sk-") {
				t.Fatalf("exit %d, want %d: %s%s", code, tt.code, stdout, stderr)
			}
			if tt.key == "" {
				if len(api.bodies) > 0 {
					t.Errorf("something was sent: %s", api.bodies)
				}
				return
			}
			if !slices.Equal(api.keys, []string{"Bearer " + tt.key}) || !strings.Contains(stderr, "This sends the ") || !strings.Contains(stderr, "input tokens") {
				t.Errorf("key %q, %s", api.keys, stderr)
			}
			if !strings.HasPrefix(stdout, "OpenAI lists 3 tools, for 210 input tokens\n") || !strings.Contains(stdout, "list_notes   -      read-only  -            limit:integer") {
				t.Errorf("%s", stdout)
			}
		})
	}
}

// The body is checked in full in package hosted; here that the flags get there.
func TestTheFlagsReachOpenAI(t *testing.T) {
	api := newResponsesAPI(t)
	args := []string{"https://mcp.example.com/mcp", "--openai", "--yes", "--openai-base-url", api.url + "/v1", "--token", "t0ken-of-the-caller", "--header", "X-Api-Key: k3y", "--model", "other", "--allowed-tools", "ping,gone"}
	env := []string{"OPENAI_API_KEY=sk-key"}
	code, stdout, stderr := command{args: args, env: env}.run(t)
	if code != 1 || !strings.Contains(stderr, "gone") || !strings.Contains(stdout, "ping") || strings.Contains(stdout, "create_note") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	command{args: append(args, "--header-only"), env: env}.run(t)
	for i, want := range []string{
		`{"type":"mcp","server_label":"mcp_app","server_url":"https://mcp.example.com/mcp","authorization":"t0ken-of-the-caller","headers":{"X-Api-Key":"k3y"},"allowed_tools":["ping","gone"],"require_approval":"always"}`,
		`{"type":"mcp","server_label":"mcp_app","server_url":"https://mcp.example.com/mcp","headers":{"Authorization":"Bearer t0ken-of-the-caller","X-Api-Key":"k3y"},"allowed_tools":["ping","gone"],"require_approval":"always"}`,
	} {
		var body struct {
			Model string            `json:"model"`
			Tools []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal([]byte(api.bodies[i]), &body); err != nil || body.Model != "other" || len(body.Tools) != 1 || string(body.Tools[0]) != want {
			t.Errorf("sent %s, want %s", api.bodies[i], want)
		}
	}
}

// A list of the server and one of OpenAI are compared in what OpenAI tells.
func TestOpenAIsListIsComparedWithTheServers(t *testing.T) {
	api := newResponsesAPI(t)
	address := serve(t, &scripted{tools: `[{"name":"ping","title":"Ping","inputSchema":{"properties":{},"type":"object"},"_meta":{"x":1}},{"name":"create_note","description":"other","inputSchema":{"type":"object"}},{"name":"hidden","inputSchema":{}}]`})
	_, before, _ := command{args: []string{address, "--json"}}.run(t)
	file := filepath.Join(t.TempDir(), "before.json")
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := command{args: []string{"https://mcp.example.com/mcp", "--openai", "--yes", "--openai-base-url", api.url + "/v1", "--diff", file}, env: []string{"OPENAI_API_KEY=sk-key"}}.run(t)
	if code != 1 || stdout != "+ list_notes\n- hidden\n~ create_note: description, inputSchema\n" {
		t.Errorf("exit %d, %s", code, stdout)
	}
}
