package policy_test

import (
	"fmt"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

func ExampleView_Decide() {
	rules, err := policy.Compile(policy.Config{
		Implies: map[string][]string{"cad.write": {"cad.read"}},
		Rules: []policy.Rule{
			{Kind: policy.Tool, Pattern: "cad.*", Scopes: []string{"cad.read"}},
			{Kind: policy.Tool, Pattern: "cad.delete", Tenants: []string{"acme"}, Scopes: []string{"cad.write"}, OnMissingScope: policy.Challenge},
			{Kind: policy.Tool, Pattern: "cad.purge", When: []string{`"admin" in claims.roles`}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	view := rules.View(&policy.Principal{Issuer: "https://login.example.com", Subject: "ann", Tenant: "acme", Scopes: []string{"cad.read"}})
	for _, tool := range []string{"cad.open", "cad.delete", "cad.purge", "other"} {
		d := view.Decide(policy.Tool, tool)
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%s: %s by %s %s", tool, d.Verdict, d.Rule, d.Reason)))
	}
	// Output:
	// cad.open: allow by cad.*
	// cad.delete: challenge by cad.delete missing scope cad.write
	// cad.purge: hide by cad.purge evaluating `"admin" in claims.roles`: no such key: roles
	// other: hide by default no rule fits and the default is deny
}
