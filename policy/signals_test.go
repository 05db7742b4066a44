package policy

import (
	"errors"
	"testing"
)

func TestAllSignsOfATenantMustAgree(t *testing.T) {
	tests := []struct {
		name    string
		tenant  string
		signals map[string]any
		ok      bool
	}{
		{"none", "acme", nil, true},
		{"silent", "acme", map[string]any{"header": nil, "argument": nil, "lines": []string{}}, true},
		{"agrees", "acme", map[string]any{"header": []string{"acme"}, "argument": "acme"}, true},
		{"argument differs", "acme", map[string]any{"argument": "globex"}, false},
		{"case differs", "acme", map[string]any{"argument": "Acme"}, false},
		{"one of two lines differs", "acme", map[string]any{"header": []string{"acme", "globex"}}, false},
		{"list in one line", "acme", map[string]any{"header": []string{"acme, globex"}}, false},
		{"empty", "acme", map[string]any{"argument": ""}, false},
		{"a number", "acme", map[string]any{"argument": 4.0}, false},
		{"a list", "acme", map[string]any{"argument": []any{"acme"}}, false},
		{"an object", "acme", map[string]any{"argument": map[string]any{}}, false},
		{"caller without tenant", "", map[string]any{"argument": "acme"}, false},
		{"empty for a caller without tenant", "", map[string]any{"argument": ""}, false},
	}
	for _, tt := range tests {
		err := CheckSignals(tt.tenant, tt.signals)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrTenant) {
			t.Errorf("%s: got %v, want ok=%v", tt.name, err, tt.ok)
		}
	}
}
