package doctor_test

import (
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/doctor"
)

// Each code of a finding has a rule that says what to do.
func ExampleRuleOf() {
	rule, known := doctor.RuleOf("metadata-servers")
	fmt.Println(known, rule.Severity)
	fmt.Println(rule.Fix)
	// Output:
	// true error
	// List one in authorization_servers; with mcp_app write auth { issuer … }.
}
