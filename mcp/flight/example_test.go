package flight_test

import (
	"context"
	"fmt"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
)

// The second question is answered from memory.
func Example() {
	group := flight.New[string](100, time.Minute, time.Second)
	ask := func(context.Context) (string, error) {
		fmt.Println("asked")
		return "tools", nil
	}
	key := flight.KeyOf([]string{"https://mcp.example.com/mcp", "ann"})
	for range 2 {
		answer, err := group.Get(context.Background(), key, ask)
		fmt.Println(answer, err)
	}
	// Output:
	// asked
	// tools <nil>
	// tools <nil>
}
