// Package node runs the Node tools of the integration tests: the conformance
// suite, and MCP servers and clients of another make. `.ci/node` installs them.
package node

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/freeport"
)

// Entry points of the installed packages, for [Tools.Command].
const (
	Conformance      = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	ServerEverything = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
)

// startTimeout is how long a process may take until it accepts connections, on
// a machine that does much else.
const startTimeout = time.Minute

// Tools are the installed tools.
type Tools struct{ dir, node string }

// Require returns the installed tools. Without them the test is skipped, except
// where MCP_APP_CI=1 says that they must be there.
func Require(tb testing.TB) *Tools {
	tb.Helper()
	_, file, _, _ := runtime.Caller(0)
	tools := &Tools{dir: filepath.Dir(file)}
	tools.node = filepath.Join(tools.dir, "node_modules", ".bin", "node")
	version, err := exec.CommandContext(tb.Context(), tools.node, "--version").Output() //nolint:gosec // a fixed path
	if err == nil && strings.HasPrefix(string(version), "v22.") {
		return tools
	}
	missing := tb.Skipf
	if os.Getenv("MCP_APP_CI") == "1" {
		missing = tb.Fatalf
	}
	missing("the Node tools are not installed (run .ci/node): version %q, %v", version, err)
	return nil
}

// Command prepares a run of a script, given relative to this directory.
func (t *Tools) Command(ctx context.Context, script string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, t.node, append([]string{filepath.Join(t.dir, script)}, args...)...) //nolint:gosec // scripts of this repository
}

// Address returns a loopback address that is free at the moment.
func Address(tb testing.TB) string {
	tb.Helper()
	address, err := freeport.Address()
	if err != nil {
		tb.Fatal(err)
	}
	return address
}

// Port returns the port of an address.
func Port(tb testing.TB, address string) string {
	tb.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatal(err)
	}
	return port
}

// Serve runs a server until the test ends, and returns when it accepts
// connections on an address. What it printed is logged if the test fails.
func Serve(tb testing.TB, server *exec.Cmd, address string) {
	tb.Helper()
	var output lockedBuffer
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		tb.Fatalf("starting %s: %v", server.Path, err)
	}
	var failure error
	exited := make(chan struct{})
	go func() {
		failure = server.Wait()
		close(exited)
	}()
	tb.Cleanup(func() {
		_ = server.Process.Kill() // it may have exited by itself
		<-exited
		if tb.Failed() {
			tb.Logf("output of %s:\n%s", server, output.String())
		}
	})
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	for retry := time.NewTicker(20 * time.Millisecond); ; {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			retry.Stop()
			_ = conn.Close()
			return
		}
		select {
		case <-exited:
			tb.Fatalf("%s exited before it listened on %s: %v", server, address, failure)
		case <-ctx.Done():
			tb.Fatalf("%s does not listen on %s: %v", server, address, errors.Join(err, ctx.Err()))
		case <-retry.C:
		}
	}
}

// lockedBuffer collects what a process prints while the test may read it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
