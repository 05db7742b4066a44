package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/ownstorage"
)

// replicaVariable names the Caddyfile that a second process of this test binary
// shall run, instead of tests.
const replicaVariable = "MCP_APP_E2E_REPLICA"

func TestMain(m *testing.M) {
	if path := os.Getenv(replicaVariable); path != "" {
		if err := runReplica(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ownstorage.Main(m)
}

// runReplica runs Caddy until standard input ends.
func runReplica(path string) error {
	caddyfile, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(caddyfile, map[string]any{"filename": "Caddyfile"})
	if err != nil {
		return err
	}
	if err := caddy.Load(config, true); err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return caddy.Stop()
}

// startReplica runs a Caddyfile in a Caddy of another process, with a storage
// and a port of its own, until the test ends. The environment is that of the
// stack.
func startReplica(t *testing.T, caddyfile []byte, port int) {
	t.Helper()
	dir := t.TempDir()
	path := dir + "/Caddyfile"
	if err := os.WriteFile(path, caddyfile, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	replica := exec.CommandContext(t.Context(), self)
	replica.Env = append(os.Environ(), replicaVariable+"="+path, fmt.Sprintf("GATEWAY_PORT=%d", port),
		"GATEWAY_LOG=file "+dir+"/log", "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir, "HOME="+dir)
	replica.Stderr = os.Stderr
	stdin, err := replica.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := replica.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := replica.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = replica.Wait()
	})
	if _, err := io.ReadFull(stdout, make([]byte, len("ready"))); err != nil {
		t.Fatalf("the second Caddy does not start: %v", err)
	}
}
