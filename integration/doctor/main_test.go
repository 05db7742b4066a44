package doctor

import (
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/ownstorage"
)

func TestMain(m *testing.M) { ownstorage.Main(m) }
