package token_test

import (
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

func ExampleChecker() {
	in, err := token.NewIntrospector(token.IntrospectConfig{
		URL:       "https://id.example/introspect",
		Client:    token.ClientConfig{ClientID: "gateway", ClientSecret: "from-a-file"},
		Issuer:    "https://id.example",
		Audiences: []string{"https://gw.example/mcp"},
	})
	if err != nil {
		panic(err)
	}
	checker, err := token.NewChecker(nil, in) // no issuer with keys
	if err != nil {
		panic(err)
	}
	defer checker.Close()
	fmt.Println(in.Stats().Calls)
	// Output:
	// 0
}
