package registrations

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

const caddyfile = `{
	admin unix/%[1]s/a.sock
	auto_https off
	persist_config off
	storage file_system %[1]s/storage
}
http://127.0.0.1:%[2]d {
	bind 127.0.0.1
	mcp_app /mcp %[3]s {
		auth {
			mode none
		}
		policy {
			tool *
		}
		state redis %[4]s
		seal_keys AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
	}
}
`

// replica is one process.
type replica struct {
	url     string
	admin   *http.Client
	process *os.Process
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "caddy")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../../cmd/caddy").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, output)
	}
	return binary
}

func start(t *testing.T, binary, upstream, redis string) *replica {
	t.Helper()
	dir, err := os.MkdirTemp("", "x") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port := statetest.FreePort(t)
	file := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(file, fmt.Appendf(nil, caddyfile, dir, port, upstream, redis), 0o600); err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), binary, "run", "--config", file)
	process.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "a.sock"))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	r := &replica{fmt.Sprintf("http://127.0.0.1:%d/mcp", port), &http.Client{Transport: transport}, process.Process}
	statetest.Eventually(t, "the gateway", func() bool {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
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

// call calls the tool under a registration, if one is named, and returns the
// status.
func (r *replica) call(t *testing.T, id string) int {
	t.Helper()
	url := r.url
	if id != "" {
		url += "?registration=" + id
	}
	resp := send(t, http.DefaultClient, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "search", "Accept": "application/json, text/event-stream"})
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
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

func TestReplicasAgreeAboutRegistrations(t *testing.T) {
	redis := statetest.StartRedis(t)
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		if strings.Contains(r.URL.RawQuery, "reg") {
			t.Errorf("the server sees the query %q", r.URL.RawQuery)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`)
	}))
	t.Cleanup(server.Close)
	binary, upstream := build(t), strings.TrimPrefix(server.URL, "http://")
	replicas := []*replica{start(t, binary, upstream, redis.URL), start(t, binary, upstream, redis.URL)}

	id := replicas[0].register(t, `{"endpoint":"/mcp","tools":["search"]}`)
	var allowed, refused atomic.Int32
	var group sync.WaitGroup
	for i := range 30 {
		group.Go(func() {
			switch status := replicas[i%2].call(t, id); status {
			case http.StatusOK:
				allowed.Add(1)
			case http.StatusNotFound:
				refused.Add(1)
			default:
				t.Errorf("status %d", status)
			}
		})
	}
	group.Wait()
	if allowed.Load() != 12 || refused.Load() != 18 || reached.Load() != 12 {
		t.Errorf("%d calls allowed, %d refused, %d at the server; want 12, 18, 12", allowed.Load(), refused.Load(), reached.Load())
	}
	short := replicas[0].register(t, `{"endpoint":"/mcp","tools":["search"],"ttl":"2s"}`)
	for i, r := range replicas {
		if status := r.call(t, id); status != http.StatusNotFound {
			t.Errorf("replica %d, the 13th call: %d", i, status)
		}
		if status := r.call(t, short); status != http.StatusOK {
			t.Errorf("replica %d, before the expiry: %d", i, status)
		}
	}
	for i, r := range replicas {
		statetest.Eventually(t, fmt.Sprint("the expiry at replica ", i), func() bool { return r.call(t, short) == http.StatusNotFound })
	}
	redis.Stop()
	for i, r := range replicas {
		if status := r.call(t, id); status != http.StatusServiceUnavailable {
			t.Errorf("replica %d without Redis: %d", i, status)
		}
	}
}
