package state_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// A store is the same to its users whether one process or many share it.
func Example() {
	ctx := context.Background()
	var store state.Store = state.NewMemory(100)
	defer func() { _ = store.Close() }()

	if err := store.Set(ctx, "revocations/u-17", []byte("left the company"), time.Hour); err != nil {
		fmt.Println(err)
	}
	reason, err := store.Get(ctx, "revocations/u-17")
	fmt.Printf("%s, %v\n", reason, err)

	for range 2 {
		count, err := store.Incr(ctx, "calls/u-17", time.Minute)
		fmt.Println(count.Value, err)
	}
	_, err = store.Get(ctx, "revocations/nobody")
	fmt.Println(errors.Is(err, state.ErrNotFound))
	// Output:
	// left the company, <nil>
	// 1 <nil>
	// 2 <nil>
	// true
}
