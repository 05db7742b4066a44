package statetest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/freeport"
)

// Redis is a redis-server of a test's own, on a free loopback port and without
// persistence.
type Redis struct {
	// URL is redis://127.0.0.1:port.
	URL string

	t    testing.TB
	port string
	args []string
	cmd  *exec.Cmd
}

// StartRedis starts a server that ends with the test. Further arguments are
// the server's own. Without redis-server the test is skipped, or fails if the
// environment has MCP_APP_CI=1: there nothing may be left out.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("MCP_APP_CI") == "1" {
			t.Fatal("redis-server is not installed")
		}
		t.Skip("redis-server is not installed: apt-get install redis-server")
	}
	port := strconv.Itoa(FreePort(t))
	r := &Redis{URL: "redis://127.0.0.1:" + port, t: t, port: port, args: args}
	r.Start()
	t.Cleanup(r.Stop)

	return r
}

// Start starts the server again after Stop, empty, and waits until it answers.
func (r *Redis) Start() {
	r.t.Helper()
	args := append([]string{"--port", r.port, "--bind", "127.0.0.1", "--save", "", "--dir", r.t.TempDir()}, r.args...)
	r.cmd = exec.CommandContext(context.Background(), "redis-server", args...) //nolint:gosec // the arguments are the test's own
	if err := r.cmd.Start(); err != nil {
		r.t.Fatalf("starting redis-server: %v", err)
	}
	Eventually(r.t, "redis-server answers", func() bool {
		conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", "127.0.0.1:"+r.port)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		reply := make([]byte, 1)
		_, err = fmt.Fprint(conn, "PING\r\n")
		if err == nil {
			_, err = conn.Read(reply)
		}
		return err == nil
	})
}

// Stop kills the server; everything it held is lost.
func (r *Redis) Stop() {
	if r.cmd == nil {
		return
	}
	r.Resume()
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	r.cmd = nil
}

// Hang makes the server accept connections and answer nothing until Resume.
func (r *Redis) Hang() { _ = r.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume ends Hang.
func (r *Redis) Resume() { _ = r.cmd.Process.Signal(syscall.SIGCONT) }

// FreePort returns a loopback port that nothing listened on a moment ago.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := freeport.Get()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Eventually waits up to 20 seconds for a condition.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("timed out waiting: %s", what)
		}
	}
}
