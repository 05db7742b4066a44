package arguments_test

import (
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/arguments"
)

// What is wrong is said by its place.
func Example() {
	var checker arguments.Checker
	schema := []byte(`{"type":"object","properties":{"title":{"type":"string","maxLength":5}},"required":["title"]}`)
	fmt.Println(checker.Check(schema, []byte(`{"title":"short"}`)))
	fmt.Println(checker.Check(schema, []byte(`{"title":"secret and too long"}`)))
	// Output:
	// <nil>
	// invalid arguments: /title: must have at most 5 characters
}
