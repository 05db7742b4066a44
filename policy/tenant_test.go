package policy

import (
	"errors"
	"strings"
	"testing"
)

func TestAPrincipalActsAsExactlyOneTenant(t *testing.T) {
	bound := func(tenant string) Route { return Route{Bound: true, Tenant: tenant} }
	tests := []struct {
		name    string
		tenancy Tenancy
		claim   any
		route   Route
		want    string // empty = refused
	}{
		{"string claim", Tenancy{Claim: "org"}, "acme", Route{}, "acme"},
		{"array of one", Tenancy{Claim: "org"}, []any{"acme"}, Route{}, "acme"},
		{"route picks from several", Tenancy{Claim: "org"}, []any{"acme", "globex"}, bound("globex"), "globex"},
		{"several without a route", Tenancy{Claim: "org"}, []any{"acme", "globex"}, Route{}, ""},
		{"route of another tenant", Tenancy{Claim: "org"}, "acme", bound("globex"), ""},
		{"route without a tenant", Tenancy{Claim: "org"}, "acme", bound(""), ""},
		{"not in allow", Tenancy{Claim: "org", Allow: []string{"acme"}}, "globex", bound("globex"), ""},
		{"in allow", Tenancy{Claim: "org", Allow: []string{"acme"}}, "acme", bound("acme"), "acme"},
		{"case differs", Tenancy{Claim: "org", Allow: []string{"acme"}}, "Acme", Route{}, ""},
		{"claim missing", Tenancy{Claim: "org"}, nil, bound("acme"), ""},
		{"claim empty", Tenancy{Claim: "org"}, "", bound(""), ""},
		{"claim empty array", Tenancy{Claim: "org"}, []any{}, Route{}, ""},
		{"claim a number", Tenancy{Claim: "org"}, 4.0, Route{}, ""},
		{"claim an object", Tenancy{Claim: "org"}, map[string]any{"id": "acme"}, Route{}, ""},
		{"one bad entry spoils all", Tenancy{Claim: "org"}, []any{"acme", 4.0}, bound("acme"), ""},
		{"padded", Tenancy{Claim: "org"}, " acme", Route{}, ""},
		{"newline", Tenancy{Claim: "org"}, "ac\nme", Route{}, ""},
		{"not UTF-8", Tenancy{Claim: "org"}, "ac\xff", Route{}, ""},
		{"too long", Tenancy{Claim: "org"}, strings.Repeat("t", MaxTenantLength+1), Route{}, ""},
	}
	for _, tt := range tests {
		got, err := tt.tenancy.Resolve(tt.claim, tt.route)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
		if err != nil && !errors.Is(err, ErrTenant) {
			t.Errorf("%s: %v does not wrap ErrTenant", tt.name, err)
		}
	}
	if got, err := (Tenancy{}).Resolve("acme", Route{}); got != "" || err != nil {
		t.Errorf("without a tenant block: got %q, %v, want no tenant and no error", got, err)
	}
}
