// Package ownstorage runs the tests of a package with a Caddy storage of their
// own, so that none of their keys end up in that of the user.
package ownstorage

import (
	"fmt"
	"os"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"
)

// Main is the body of a TestMain, whose argument it takes. It does not return.
func Main(m interface{ Run() int }) {
	dir, err := os.MkdirTemp("", "mcp-app-test-")
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
