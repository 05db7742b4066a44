package ratelimit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/ratelimit"
)

// Each caller has two calls an hour.
func Example() {
	limiter, err := ratelimit.New(ratelimit.Config{Limits: []ratelimit.Limit{
		{Calls: 2, Window: policy.Duration(time.Hour), Per: []string{"principal"}},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, subject := range []string{"ann", "ann", "ann", "bob"} {
		outcome := limiter.Take(context.Background(), ratelimit.Use{Issuer: "https://login.example.com", Subject: subject})
		fmt.Println(subject, outcome.Allowed)
	}
	// Output:
	// ann true
	// ann true
	// ann false
	// bob true
}
