package page

import (
	"fmt"
	"os"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"
)

// TestMain keeps what Caddy stores out of the home directory.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mcp-app-page-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	caddy.DefaultStorage = &certmagic.FileStorage{Path: dir}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}
