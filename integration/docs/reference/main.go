// Command reference writes docs/reference.md: the tables of the Caddyfile, kept
// in pages/caddyfile.txt, and every field of the JSON form with the
// doc comment that stands in the code. Run it from the root of the repository
//
//	go run ./integration/docs/reference
//
// whenever a word or a comment has changed; a test fails until then. Another
// test compares the tables with what the parser knows.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/docs/reference/pages"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string) error {
	for name, write := range pages.Generated {
		text, err := write(root)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), text, 0o644); err != nil { //nolint:gosec // a public document
			return err
		}
	}
	return nil
}
