package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

const caddyfile = `{
	admin unix/%[1]s/a.sock
	auto_https off
	persist_config off
	grace_period 5s
	storage file_system %[1]s/storage
}
http://127.0.0.1:%[2]d {
	bind 127.0.0.1
	mcp_app /mcp %[3]s {
		%[5]s
		policy {
			tool *
		}
		state redis %[4]s {
			timeout 10s
		}
	}
}
`

// open lets everybody on this machine in.
const open = "auth mode none"

// replica is one process, with a storage of its own.
type replica struct {
	url     string
	admin   *http.Client
	process *os.Process
	exited  chan struct{} // closed at its end
	config  string
}

// start runs a replica before a server, with some more lines of configuration.
func start(t *testing.T, upstream, redis, lines string) *replica {
	t.Helper()
	dir, err := os.MkdirTemp("", "x") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port := statetest.FreePort(t)
	file := filepath.Join(dir, "Caddyfile")
	config := fmt.Sprintf(caddyfile, dir, port, upstream, redis, lines)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), os.Args[0], "run", "--config", file)
	process.Env = []string{asCaddy + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	var log lastLines
	process.Stderr = &log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = process.Wait()
	}()
	t.Cleanup(func() {
		_ = process.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("%s said last: %s", file, log)
		}
	})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "a.sock"))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	r := &replica{fmt.Sprintf("http://127.0.0.1:%d/mcp", port), &http.Client{Transport: transport}, process.Process, exited, config}
	// Its ports are open before its configuration is the running one.
	statetest.Eventually(t, "the gateway", func() bool {
		response, err := r.admin.Get("http://admin/mcp_app/endpoints")
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		return err == nil && strings.Contains(string(body), `"/mcp"`)
	})
	return r
}

func (r *replica) register(t *testing.T, body string) string {
	t.Helper()
	resp := send(t, r.admin, "http://admin/mcp_app/registrations", body, nil)
	defer func() { _ = resp.Body.Close() }()
	var made struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	return made.ID
}

// lastLines keeps the end of what is written, for tests that fail.
type lastLines []byte

func (l *lastLines) Write(p []byte) (int, error) {
	*l = append(*l, p...)
	if over := len(*l) - 4096; over > 0 {
		*l = (*l)[over:]
	}
	return len(p), nil
}

// reload loads the same configuration again, as a changed one.
func (r *replica) reload(t *testing.T) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://admin/load", strings.NewReader(r.config))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "text/caddyfile")
	request.Header.Set("Cache-Control", "must-revalidate") // also what has not changed
	resp, err := r.admin.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("reload: %s %s", resp.Status, body)
	}
}

// call calls the tool under a registration, if one is named, and returns the
// status.
func (r *replica) call(t *testing.T, id string) int {
	t.Helper()
	url := r.url
	if id != "" {
		url += "?registration=" + id
	}
	return modern(t, url, "", "tools/call", "search")
}

// list asks for the tools.
func (r *replica) list(t *testing.T, token string) int {
	t.Helper()
	return modern(t, r.url, token, "tools/list", "")
}

// tool calls a tool.
func (r *replica) tool(t *testing.T, token, name string) int {
	t.Helper()
	return modern(t, r.url, token, "tools/call", name)
}

// modern sends one message and returns the status.
func modern(t *testing.T, url, token, method, name string) int {
	t.Helper()
	request, err := modernRequest(t.Context(), url, token, method, name)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func modernRequest(ctx context.Context, url, token, method, name string) (*http.Request, error) {
	const revision = "2026-07-28"
	params := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + revision + `","io.modelcontextprotocol/clientCapabilities":{}}`
	if name != "" {
		params = `"name":"` + name + `","arguments":{},` + params
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`))
	if err != nil {
		return nil, err
	}
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Mcp-Protocol-Version": revision, "Mcp-Method": method, "Accept": "application/json, text/event-stream",
	} {
		request.Header.Set(header, value)
	}
	if name != "" {
		request.Header.Set("Mcp-Name", name)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return request, nil
}

func send(t *testing.T, client *http.Client, url, body string, header map[string]string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	resp, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}
