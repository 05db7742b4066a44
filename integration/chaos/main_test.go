package chaos

import (
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/figures"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/ownstorage"
)

var document = flag.String("figures", "", "the document to write the figures to")

// What the faults of this run came to.
var survived, met atomic.Int32

// main is a testing.M that sums up.
type suite struct{ *testing.M }

func (s suite) Run() int {
	code := s.M.Run()
	if met.Load() == 0 {
		return code
	}
	summary := fmt.Sprintf("%d of %d faults survived", survived.Load(), met.Load())
	fmt.Println("chaos: " + summary)
	if *document != "" {
		if err := figures.Write(*document, "integration/chaos", summary+".\n"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

func TestMain(m *testing.M) { ownstorage.Main(suite{m}) }
