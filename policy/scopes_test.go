package policy

import (
	"slices"
	"strings"
	"testing"
)

var cadScopes = map[string][]string{"cad.admin": {"cad.write", "users"}, "cad.write": {"cad.read"}, "cad.read": nil}

func TestAScopeBringsWhatItImplies(t *testing.T) {
	pol := compile(t, Config{Implies: cadScopes, Rules: []Rule{
		{Kind: Tool, Pattern: "read", Scopes: []string{"cad.read"}},
		{Kind: Tool, Pattern: "cel", When: []string{`"cad.read" in principal.scopes`}},
		{Kind: Tool, Pattern: "both", Scopes: []string{"cad.read", "users"}, OnMissingScope: Challenge},
	}})
	tests := []struct {
		granted []string
		missing []string // of cad.read, users, other
		read    Verdict
		both    Verdict
	}{
		{nil, []string{"cad.read", "users", "other"}, Hidden, StepUp},
		{[]string{"cad.read"}, []string{"users", "other"}, Allowed, StepUp},
		{[]string{"cad.write"}, []string{"users", "other"}, Allowed, StepUp},
		{[]string{"cad.admin"}, []string{"other"}, Allowed, Allowed},
		{[]string{"users", "other"}, []string{"cad.read"}, Hidden, StepUp},
	}
	for _, tt := range tests {
		view := pol.View(&Principal{Subject: "s", Scopes: tt.granted})
		if got := pol.MissingScopes(tt.granted, []string{"cad.read", "users", "other"}); !slices.Equal(got, tt.missing) {
			t.Errorf("%v: missing %v, want %v", tt.granted, got, tt.missing)
		}
		if got := view.Decide(Tool, "read"); got.Verdict != tt.read {
			t.Errorf("%v: read %+v, want %v", tt.granted, got, tt.read)
		}
		if got := view.Decide(Tool, "cel"); got.Verdict != tt.read {
			t.Errorf("%v: cel %+v, want %v", tt.granted, got, tt.read)
		}
		if got := view.Decide(Tool, "both"); got.Verdict != tt.both {
			t.Errorf("%v: both %+v, want %v", tt.granted, got, tt.both)
		}
	}
}

func TestScopesThatImplyEachOtherAreRefused(t *testing.T) {
	tests := map[string]map[string][]string{
		"a implies a goes":                     {"a": {"a"}},
		"a implies b implies c implies a goes": {"a": {"b"}, "b": {"c"}, "c": {"a"}},
		`"x y" is not a scope`:                 {"a": {"x y"}},
		`"" is not a scope`:                    {"": {"a"}},
	}
	for want, implies := range tests {
		if _, err := Compile(Config{Implies: implies}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want an error saying %q", implies, err, want)
		}
	}
	if _, err := Compile(Config{Implies: map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d"}}}); err != nil {
		t.Errorf("two ways to one scope are no circle: %v", err)
	}
}

func TestMembershipOnlyTakesScopesAway(t *testing.T) {
	pol := compile(t, Config{Implies: cadScopes, Rules: []Rule{{Kind: Tool, Pattern: "x", Scopes: []string{"cad.write"}, OnMissingScope: Challenge}}})
	tests := []struct {
		name           string
		granted, limit []string
		want           []string
		verdict        Verdict
	}{
		{"no limit", []string{"cad.admin"}, nil, []string{"cad.admin"}, Allowed},
		{"nothing left", []string{"cad.admin"}, []string{}, []string{}, Hidden},
		{"implied one left", []string{"cad.admin"}, []string{"cad.read"}, []string{"cad.read"}, Hidden},
		{"limit above the grant", []string{"cad.read"}, []string{"cad.admin"}, []string{"cad.read"}, StepUp},
		{"limit gives nothing", []string{"cad.read"}, []string{"cad.read", "users"}, []string{"cad.read"}, Hidden},
		{"same", []string{"cad.write"}, []string{"cad.write"}, []string{"cad.write", "cad.read"}, Allowed},
	}
	for _, tt := range tests {
		p := &Principal{Subject: "s", Scopes: slices.Clone(tt.granted)}
		pol.Narrow(p, tt.limit)
		if !slices.Equal(p.Scopes, tt.want) {
			t.Errorf("%s: scopes %v, want %v", tt.name, p.Scopes, tt.want)
		}
		// A challenge would be in vain for a scope that membership withholds.
		if d := pol.View(p).Decide(Tool, "x"); d.Verdict != tt.verdict || tt.verdict == Hidden && !p.Withholds([]string{"cad.write"}) {
			t.Errorf("%s: %+v, want %v", tt.name, d, tt.verdict)
		}
	}
	p := &Principal{Scopes: []string{"cad.admin"}}
	pol.Narrow(p, []string{"cad.write"})
	pol.Narrow(p, []string{"users", "cad.read"})
	if !slices.Equal(p.Scopes, []string{"cad.read"}) {
		t.Errorf("narrowed twice: %v", p.Scopes)
	}
}
