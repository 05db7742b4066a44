package page

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// browsers are the names under which Chromium is installed.
var browsers = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}

// browse shows an address in a new headless browser until the test ends. Without
// a browser the test is skipped, except where MCP_APP_CI=1 says that there must
// be one.
func browse(t *testing.T, address string) {
	t.Helper()
	var path string
	for _, name := range browsers {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		if os.Getenv("MCP_APP_CI") == "1" {
			t.Fatalf("no browser is installed: want one of %q in PATH", browsers)
		}
		t.Skipf("no browser is installed: want one of %q in PATH", browsers)
	}
	ctx, cancel := context.WithCancel(context.Background()) // ends in the cleanup, where the test's own has ended
	browser := exec.CommandContext(ctx, path,
		"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-dev-shm-usage", "--disable-background-timer-throttling",
		"--window-size=900,700", "--user-data-dir="+t.TempDir(), address)
	// The browser is many processes; all of them go.
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	browser.Cancel = func() error { return syscall.Kill(-browser.Process.Pid, syscall.SIGKILL) }
	if err := browser.Start(); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	t.Cleanup(func() {
		cancel()
		_ = browser.Wait() // it was killed
	})
}
