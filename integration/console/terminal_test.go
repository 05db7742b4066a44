//go:build linux

package console

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/terminal"
)

// TestATerminalShowsThatACheckIsUnderWay, for how long, and nothing of it after
// its end; and the link can be seen.
func TestATerminalShowsThatACheckIsUnderWay(t *testing.T) {
	g := start(t)
	g.strange.hangs()
	screen, line := terminal.Open(t)
	home := t.TempDir()
	cmd := exec.Command(os.Args[0], "mcp-app", "console", "--admin", "unix/"+g.socket)
	cmd.Env = append(os.Environ(), asCaddy+"=1", "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "TERM=xterm")
	cmd.Stdout, cmd.Stderr = line, line
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = line.Close()
	seen := &output{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(seen, screen) // ends with an error when the other end is closed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		defer time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("Ctrl-C: %v", err)
		}
		<-read
		_ = screen.Close()
	})
	shows := func(pattern string) string {
		t.Helper()
		for range 400 {
			if found := regexp.MustCompile(pattern).FindStringSubmatch(seen.String()); found != nil {
				return found[len(found)-1]
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("%s is not on the screen: %q", pattern, seen)
		return ""
	}
	link := shows(`(http://127\.0\.0\.1:\d+/enter\?secret=\w+)\r\n`)
	shows(`works once`)

	resp, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	cookie := resp.Cookies()[0]
	origin, _, _ := strings.Cut(link, "/enter")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, origin+cookie.Path+"api/catalog", bytes.NewReader([]byte(`{"endpoint":"/strange"}`)))
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(cookie)
	r.Header.Set("Origin", origin)
	r.Header.Set("Content-Type", "application/json")
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}()
	shows(`checking for the console … 0s`)
	shows(`checking for the console … [1-9]`)
	cancel()
	<-done
	shows(`\r\x1b\[K$`)
}
