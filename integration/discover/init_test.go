package discover

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// TestAnInitializedConfigurationServesItsServer writes a configuration for the
// sample server, loads it as it is, and asks through it.
func TestAnInitializedConfigurationServesItsServer(t *testing.T) {
	const waiting = "{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n}\n\n"
	s, err := stack.Start(t.Context(), stack.Config{Caddyfile: []byte(waiting + "http://127.0.0.1:{$GATEWAY_PORT} {\n}\n")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	resource, file := s.URL("acme"), filepath.Join(t.TempDir(), "Caddyfile")
	code, stdout, stderr := command{verb: "init", args: []string{
		"http://" + os.Getenv("WORKSPACE") + "/mcp", "--header", "X-Mcp-App-Tenant: acme", "--header", "X-Mcp-App-Subject: erin@acme",
		"--resource", resource, "--issuer", s.Issuer.URL, "--tenant-claim", "org_id", "--write-scope", "decks.write", "--output", file,
	}}.run(t)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d, %s%s", code, stdout, stderr)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"entrypoint workspace.home global\n", "settings settings.read settings.update\n", "mentions search_mentions\n",
		"navigate workspace.navigate\n", "tool list_decks\n",
	} {
		if !strings.Contains(string(written), want) {
			t.Errorf("does not hold %q:\n%s", want, written)
		}
	}
	if err := s.Reload([]byte(waiting + string(written))); err != nil {
		t.Fatalf("%v\n%s", err, written)
	}
	client := &http.Client{Transport: s.Transport()}
	ask := func(scopes ...string) (status int, answer string) {
		t.Helper()
		token, err := s.Issuer.Issue(issuer.Grant{Subject: "erin@acme", Audience: []string{resource}, Scopes: scopes, Claims: map[string]any{"org_id": "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_deck","arguments":{"deckId":"first-steps","title":"First steps"},` +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
		text, headers := call, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "create_deck"}
		if len(scopes) == 0 {
			text = strings.Replace(call, `"method":"tools/call","params":{"name":"create_deck","arguments":{"deckId":"first-steps","title":"First steps"},`, `"method":"tools/list","params":{`, 1)
			headers = map[string]string{"Mcp-Method": "tools/list"}
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, resource, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	status, list := ask()
	if _, data, ok := strings.Cut(list, "data: "); ok {
		list = data
	}
	var answer struct {
		Result struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(list), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v: %s", status, err, list)
	}
	for _, name := range []string{"list_decks", "workspace.home", "create_deck", "settings.update"} {
		if !slices.ContainsFunc(answer.Result.Tools, func(tool struct {
			Name string `json:"name"`
		},
		) bool {
			return tool.Name == name
		}) {
			t.Errorf("%s is not listed: %s", name, fmt.Sprint(answer.Result.Tools))
		}
	}
	if !strings.Contains(list, `"entrypoints":[{"type":"global"}]`) {
		t.Errorf("no entrypoint: %s", list)
	}
	if status, text := ask("mcp.use"); status != http.StatusForbidden {
		t.Errorf("a write without its scope: %d %s", status, text)
	}
	if status, text := ask("decks.write"); status != http.StatusOK || !strings.Contains(text, "first-steps") {
		t.Errorf("a write with its scope: %d %s", status, text)
	}
}
