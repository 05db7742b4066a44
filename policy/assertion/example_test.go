package assertion_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/caddyserver/certmagic"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/assertion"
)

// A server verifies the token with the keys that are published.
func Example() {
	dir, err := os.MkdirTemp("", "keys")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	keys := assertion.New(assertion.Config{Storage: &certmagic.FileStorage{Path: dir}})
	token, err := keys.Sign(context.Background(), assertion.Claims{
		Resource: "https://mcp.example.com/mcp", Issuer: "https://login.example.com", Subject: "ann", Tenant: "acme",
	})
	fmt.Println(strings.Count(token, "."), err)
	published, err := keys.JWKS(context.Background())
	fmt.Println(strings.Contains(string(published), `"ES256"`), err)
	// Output:
	// 2 <nil>
	// true <nil>
}
