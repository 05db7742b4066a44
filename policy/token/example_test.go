package token_test

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

func ExampleVerifier() {
	keys, err := token.NewKeyHolder(token.KeyConfig{JWKSURL: "https://id.example/keys"})
	if err != nil {
		panic(err)
	}
	defer keys.Close()
	verifier, err := token.NewVerifier(token.Config{
		Issuers:   []token.IssuerConfig{{Issuer: "https://id.example/", Keys: keys}},
		Audiences: []string{"https://gw.example/mcp"},
	})
	if err != nil {
		panic(err)
	}
	defer verifier.Close()

	answer := func(r *http.Request) int {
		bearer, err := token.Bearer(r.Header)
		if err == nil {
			_, err = verifier.Verify(r.Context(), bearer)
		}
		if errors.Is(err, token.ErrNoToken) {
			return http.StatusUnauthorized // without an error code
		}
		if e, ok := errors.AsType[*token.Error](err); ok {
			switch e.Kind {
			case token.InvalidRequest:
				return http.StatusBadRequest
			case token.InvalidToken:
				return http.StatusUnauthorized
			case token.Unavailable:
				return http.StatusServiceUnavailable // with Retry-After
			}
		}
		return http.StatusOK
	}

	r, _ := http.NewRequest(http.MethodPost, "https://gw.example/mcp", nil)
	fmt.Println(answer(r))
	r.Header.Set("Authorization", "Bearer opaque")
	fmt.Println(answer(r))
	r.Header.Set("Authorization", "Bearer one two")
	fmt.Println(answer(r))
	// Output:
	// 401
	// 401
	// 400
}

func ExampleChallenge() {
	c := token.Challenge{
		ResourceMetadata: "https://gw.example/.well-known/oauth-protected-resource/mcp",
		Scopes:           []string{"orders.read", "orders.write"},
		Error:            token.InsufficientScope,
	}
	fmt.Println(c.Header())
	// Output:
	// Bearer resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp", scope="orders.read orders.write", error="insufficient_scope"
}

func ExampleMetadataPath() {
	path, err := token.MetadataPath("https://gw.example/mcp")
	fmt.Println(path, err)
	// Output:
	// /.well-known/oauth-protected-resource/mcp <nil>
}
