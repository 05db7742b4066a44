package discover

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"
)

// binary is what the tests run: Caddy with the module, as a user builds it.
var binary string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "mcp-app-discover-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	caddy.DefaultStorage = &certmagic.FileStorage{Path: dir}
	binary = filepath.Join(dir, "caddy")
	build := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", binary, "../../cmd/caddy")
	if output, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building the binary: %w\n%s", err, output)
	}
	return m.Run(), nil
}

// command is one run of caddy mcp-app discover, or of another verb.
type command struct {
	verb  string
	args  []string
	env   []string
	stdin string
	dir   string
}

// run returns the exit code and what was printed.
func (c command) run(t *testing.T) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"mcp-app", cmp.Or(c.verb, "discover")}, c.args...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_PROXY=*"}, c.env...)
	cmd.Stdin, cmd.Dir = strings.NewReader(c.stdin), c.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err, code = nil, exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(out.String()+errs.String(), '\x1b') {
		t.Errorf("a control sequence is written, though not to a terminal: %q %q", out.String(), errs.String())
	}
	return code, out.String(), errs.String()
}

// serve runs a handler until the test ends and returns its address.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}
