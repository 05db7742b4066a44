package page

import (
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/node"
)

func TestDeepLinks(t *testing.T) { newHost(t).run(t, "deeplinks") }

func TestRoutes(t *testing.T) { newHost(t).run(t, "routes") }

func TestRequests(t *testing.T) { newHost(t).run(t, "requests") }

func TestBridge(t *testing.T) { newHost(t).run(t, "bridge") }

// TestBesideOtherBridges needs the official one.
func TestBesideOtherBridges(t *testing.T) {
	node.Require(t)
	newHost(t).run(t, "beside")
}
