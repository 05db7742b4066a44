//go:build linux

package discover

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/terminal"
)

// onTerminal runs discover with a terminal for everything it prints.
func onTerminal(t *testing.T, env []string, args ...string) string {
	t.Helper()
	screen, line := terminal.Open(t)
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"mcp-app", "discover"}, args...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_PROXY=*", "TERM=xterm"}, env...)
	cmd.Stdout, cmd.Stderr = line, line
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = line.Close()
	text, _ := io.ReadAll(screen) // ends with an error when the other end is closed
	_ = screen.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	return string(text)
}

func TestATerminalShowsProgressAndColours(t *testing.T) {
	server := &scripted{tools: catalog}
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/list" {
			time.Sleep(1100 * time.Millisecond) // long enough for the clock to move
		}
		server.ServeHTTP(w, r)
	}))
	text := onTerminal(t, nil, address)
	for _, want := range []string{"server/discover … 0s", "tools/list … 0s", "\r\x1b[K", "\x1b[1mNAME "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the screen: %q", want, text)
		}
	}
	if !regexp.MustCompile(`tools/list … [1-9]`).MatchString(text) {
		t.Errorf("the clock stands still: %q", text)
	}
	if strings.Contains(text, "\x1b[2J") || strings.ContainsRune(text, '\u202e') {
		t.Errorf("the server reaches the screen: %q", text)
	}
	if plain := onTerminal(t, []string{"NO_COLOR=1"}, address); strings.Contains(plain, "\x1b[1m") {
		t.Errorf("coloured although that is not wanted: %q", plain)
	}
	if dumb := onTerminal(t, []string{"TERM=dumb"}, address); strings.Contains(dumb, "\x1b") {
		t.Errorf("control sequences for a terminal without: %q", dumb)
	}
}
