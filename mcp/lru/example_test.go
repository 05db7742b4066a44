package lru_test

import (
	"fmt"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/lru"
)

// A full cache forgets what was not used for longest.
func Example() {
	cache := lru.New[string, int](2, time.Minute)
	cache.Put("a", 1)
	cache.Put("b", 2)
	cache.Get("a")
	cache.Put("c", 3)
	_, kept := cache.Get("b")
	fmt.Println(kept)
	// Output: false
}
