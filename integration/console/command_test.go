package console

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// command is a running caddy mcp-app console.
type command struct {
	url     string // the link
	process *exec.Cmd
	out     *output
	ended   chan struct{}
	code    int
}

// output keeps what a process writes, to either side.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// run starts the console before a gateway, and ends it with the test.
func run(t *testing.T, g *gateway, args ...string) *command {
	t.Helper()
	home := t.TempDir()
	args = append([]string{"mcp-app", "console", "--json", "--admin", "unix/" + g.socket}, args...)
	c := &command{process: exec.Command(os.Args[0], args...), out: &output{}, ended: make(chan struct{})}
	c.process.Env = append(os.Environ(), asCaddy+"=1", "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
	c.process.Stderr = c.out
	stdout, err := c.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	text := json.NewDecoder(io.TeeReader(stdout, c.out))
	var started struct{ URL string }
	if err := text.Decode(&started); err != nil || started.URL == "" {
		_ = c.process.Process.Kill()
		_ = c.process.Wait()
		t.Fatalf("no link, %v: %s", err, c.out)
	}
	t.Cleanup(func() { c.end(t) })
	go func() {
		_, _ = io.Copy(c.out, stdout)
		_ = c.process.Wait()
		c.code = c.process.ProcessState.ExitCode()
		close(c.ended)
	}()
	c.url = started.URL
	return c
}

// end stops it as Ctrl-C does, and returns its exit code.
func (c *command) end(t *testing.T) int {
	t.Helper()
	_ = c.process.Process.Signal(syscall.SIGINT)
	select {
	case <-c.ended:
	case <-time.After(20 * time.Second):
		_ = c.process.Process.Kill()
		t.Error("the console does not end")
	}
	return c.code
}
