package registration_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// An id is good for a few calls of a few tools, and then never existed.
func ExampleRegistry() {
	ctx := context.Background()
	registry := registration.New(state.NewMemory(100))
	endpoint := registration.Endpoint{Path: "/mcp"}
	id, _, err := registry.Create(ctx, endpoint, registration.Request{
		Endpoint: "/mcp", Tools: []string{"list_decks"}, MaxCalls: 2, TTL: time.Hour,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handle, ok := registration.ParseID(id)
	fmt.Println("an id:", ok)
	found, err := registry.Find(ctx, handle, endpoint, registration.Principal{Issuer: "https://login.example.com", Subject: "ann"})
	fmt.Println(found.Tools, err)
	for range 3 {
		fmt.Println(errors.Is(registry.Call(ctx, found), registration.ErrNotFound))
	}
	// Output:
	// an id: true
	// [list_decks] <nil>
	// false
	// false
	// true
}
