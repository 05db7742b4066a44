package makes

import (
	"flag"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/ownstorage"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { ownstorage.Main(m) }
