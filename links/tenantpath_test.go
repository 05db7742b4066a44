package links

import (
	"strings"
	"testing"
)

func TestTenantPathKeepsTenantsApart(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		pattern, tenant string
		url             AppURL
		want            bool
	}{
		{"", "acme", "/anything", true},
		{"", "acme", "//evil.example", false},
		{"/*", "acme", "/anything", true},
		{"/app/*", "", "/app/a", true},
		{"/app/*", "", "/application", false},
		{"/t/{tenant}/*", "acme", "/t/acme", true},
		{"/t/{tenant}/*", "acme", "/t/acme/orders?id=1", true},
		{"/t/{tenant}/*", "acme", "/t/%61cme/orders", true},
		{"/t/{tenant}/*", "acme", "/t/globex/orders", false},
		{"/t/{tenant}/*", "acme", "/t/acme-two/orders", false},
		{"/t/{tenant}/*", "acme", "/t/ACME/orders", false},
		{"/t/{tenant}/*", "acme", "/", false},
		{"/t/{tenant}/*", "acme", "/t/acme/../globex", false},
		{"/t/{tenant}/*", "acme", "/orders?next=/t/acme/", false},
		{"/t/{tenant}/*", "", "/t//orders", false},
		{"/t/{tenant}/*", "", "/t", false},
		{"/t/{tenant}/*", "..", "/t/orders", false},
		{"/t/{tenant}/*", "*", "/t/*/orders", false},
		{"/t/{tenant}", "*", "/t/globex", false},
		{"/t/{tenant}/*", "acme/eu", "/t/acme/eu/orders", false},
		{"/t/{tenant}/*", "Müller & Söhne", "/t/M%C3%BCller%20&%20S%C3%B6hne/orders", true},
	} {
		p, err := ParseTenantPath(tt.pattern, "{tenant}")
		if err != nil {
			t.Fatal(err)
		}

		if got := p.Allows(tt.url, tt.tenant); got != tt.want {
			t.Errorf("%q allows %q to the tenant %q: %v, want %v", tt.pattern, tt.url, tt.tenant, got, tt.want)
		}
	}
}

func TestParseTenantPathRefusesWhatWouldMatchNothing(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ pattern, want string }{
		{"t/{tenant}/*", "begins with a slash"},
		{"/t//{tenant}/*", "clean path"},
		{"/t/../{tenant}/*", "clean path"},
		{"/t/{tenant}/", "clean path"},
		{"/t/x-{tenant}/*", "whole path segment"},
		{"/t/{tenant}x/*", "whole path segment"},
		{"/t/{tenant}/{tenant}/*", "once"},
		{"/t/{user}/*", "only placeholder"},
		{"/t/*/{tenant}/*", "star"},
		{"/t/{tenant}*", "whole path segment"},
	} {
		_, err := ParseTenantPath(tt.pattern, "{tenant}")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseTenantPath(%q) = %v, want %q", tt.pattern, err, tt.want)
		}
	}
}
