package page

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/node"
)

const client = "../../mcp/page/client/"

// TestMinifiedClientIsThatOfTheModule: what goes into pages was made from what
// stands in the repository. `go generate ./mcp/page` makes it.
func TestMinifiedClientIsThatOfTheModule(t *testing.T) {
	node.Require(t)
	built, err := exec.CommandContext(t.Context(), "../node/node_modules/.bin/esbuild", client+"client.js", "--minify", "--format=iife").Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(built) != file(client+"client.min.js") {
		t.Error("client.min.js was not made from client.js: run go generate ./mcp/page")
	}
}

// TestDeclarationsAreThoseOfTheModule: the module passes the type checker, has
// exactly what the declarations say, and a page can be written against them.
func TestDeclarationsAreThoseOfTheModule(t *testing.T) {
	tools := node.Require(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"usage.ts": testdata("usage.ts"),
		// By its own name the compiler would read the declarations in its place.
		"client.mjs":  file(client + "client.js"),
		"client.d.ts": file(client + "client.d.ts"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := tools.Command(t.Context(), "node_modules/typescript/bin/tsc",
		"--noEmit", "--strict", "--allowJs", "--checkJs", "--allowImportingTsExtensions",
		"--target", "es2024", "--lib", "es2024,dom", "--module", "esnext", "--moduleResolution", "bundler",
		filepath.Join(dir, "usage.ts"), filepath.Join(dir, "client.mjs"))
	if output, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
