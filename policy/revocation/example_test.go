package revocation_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/revocation"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// Everything that a subject holds is taken back.
func Example() {
	store := state.NewMemory(0)
	defer func() { _ = store.Close() }()
	list := revocation.New(revocation.Config{Store: store, MaxStale: time.Minute})
	defer list.Close()
	ctx := context.Background()
	ann := revocation.Caller{Issuer: "https://login.example.com", Subject: "ann", Tenant: "acme", IssuedAt: time.Now()}
	fmt.Println(list.Check(ctx, ann))
	if _, err := list.Revoke(ctx, revocation.Request{Issuer: ann.Issuer, Subject: ann.Subject}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(errors.Is(list.Check(ctx, ann), revocation.ErrRevoked))
	// Output:
	// <nil>
	// true
}
