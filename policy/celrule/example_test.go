package celrule_test

import (
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/celrule"
)

// A condition is checked when it is compiled, and bounded when it runs.
func Example() {
	condition, err := celrule.Compile(`principal.tenant == "acme" && "editor" in claims.groups`)
	if err != nil {
		fmt.Println(err)
		return
	}
	met, _, err := condition.Eval(celrule.Input{Tenant: "acme", Claims: map[string]any{"groups": []any{"viewer", "editor"}}})
	fmt.Println(met, err)
	met, _, err = condition.Eval(celrule.Input{Tenant: "acme", Claims: map[string]any{}})
	fmt.Println(met, err != nil)
	// Output:
	// true <nil>
	// false true
}
