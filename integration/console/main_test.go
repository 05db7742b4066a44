package console

import (
	"os"
	"testing"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/ownstorage"
)

// asCaddy makes the test program run as caddy itself, so that commands run in a
// process of their own.
const asCaddy = "MCP_APP_TEST_AS_CADDY"

func TestMain(m *testing.M) {
	if os.Getenv(asCaddy) != "" {
		caddycmd.Main()
		os.Exit(0) // it returns where all went well
	}
	ownstorage.Main(m)
}
