package replicas

import (
	"os"
	"testing"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard" // what a Caddyfile may use

	_ "github.com/caddy-mcp-app/caddy-mcp-app/caddymodule" // the module under test
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/ownstorage"
)

// asCaddy makes the test program run as caddy itself: each replica is a process.
const asCaddy = "MCP_APP_TEST_AS_CADDY"

func TestMain(m *testing.M) {
	if os.Getenv(asCaddy) != "" {
		caddycmd.Main()
		os.Exit(0) // it returns where all went well
	}
	ownstorage.Main(m)
}
