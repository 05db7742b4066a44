package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/ownstorage"
)

func TestMain(m *testing.M) { ownstorage.Main(suite{m}) }

// suite removes the binary after the tests.
type suite struct{ *testing.M }

// Run runs the tests.
func (s suite) Run() int {
	dir, err := os.MkdirTemp("", "mcp-app-doctor-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "caddy")
	return s.M.Run()
}
