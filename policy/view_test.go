package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/arguments"
)

func compile(t testing.TB, c Config) *Policy {
	t.Helper()
	p, err := Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheMostSpecificRuleDecidesAlone(t *testing.T) {
	pol := compile(t, Config{Rules: []Rule{
		{Kind: Tool, Pattern: "*"},
		{Kind: Tool, Pattern: "cad.*", Scopes: []string{"cad.read"}},
		{Kind: Tool, Pattern: "cad.delete", Scopes: []string{"cad.write"}, Tenants: []string{"acme"}, OnMissingScope: Challenge},
		{Kind: Tool, Pattern: "cad.purge", Deny: true},
		{Kind: Prompt, Pattern: "p", Scopes: []string{"p"}},
	}})
	acme := &Principal{Tenant: "acme", Scopes: []string{"cad.read"}}
	globex := &Principal{Tenant: "globex", Scopes: []string{"cad.read", "cad.write"}}
	tests := []struct {
		who  *Principal
		kind Kind
		name string
		want Verdict
	}{
		{acme, Tool, "other", Allowed},
		{acme, Tool, "cad.list", Allowed},
		{acme, Tool, "cad.delete", StepUp},
		{globex, Tool, "cad.delete", Hidden}, // tenants are asked before scopes
		{globex, Tool, "cad.purge", Hidden},
		{&Principal{Tenant: "acme"}, Tool, "cad.list", Hidden},
		{acme, Tool, "CAD.list", Allowed}, // another name, so the glob * decides
		{acme, Prompt, "p", Hidden},
		{acme, Resource, "ui://x", Hidden}, // no rule: default deny
	}
	for _, tt := range tests {
		if got := pol.View(tt.who).Decide(tt.kind, tt.name); got.Verdict != tt.want {
			t.Errorf("%s %s for %s: %v (%s), want %v", tt.kind, tt.name, tt.who.Tenant, got.Verdict, got.Reason, tt.want)
		}
	}
	got := pol.View(acme).Decide(Tool, "cad.delete").Scopes
	if want := []string{"cad.read", "cad.write"}; !slices.Equal(got, want) {
		t.Errorf("challenge asks for %v, want granted and needed %v", got, want)
	}
}

func TestDefaultAllowShowsOnlyWhatNoRuleSpeaksAbout(t *testing.T) {
	view := compile(t, Config{Default: Allow, Rules: []Rule{{Kind: Tool, Pattern: "admin.*", Deny: true}}}).View(&Principal{})
	if !view.Shows(Tool, "x") || view.Shows(Tool, "admin.x") {
		t.Error("default allow must show x and hide admin.x")
	}
}

func TestUnreviewableRulesAreRefusedWithTheFix(t *testing.T) {
	tests := map[string]Config{
		"equally specific":      {Rules: []Rule{{Kind: Tool, Pattern: "ab*"}, {Kind: Tool, Pattern: "a*b"}}},
		"deny stands alone":     {Rules: []Rule{{Kind: Tool, Pattern: "x", Deny: true, Scopes: []string{"s"}}}},
		"needs a scopes":        {Rules: []Rule{{Kind: Tool, Pattern: "x", OnMissingScope: Challenge}}},
		"empty pattern":         {Rules: []Rule{{Kind: Tool}}},
		"unknown kind":          {Rules: []Rule{{Kind: "tol", Pattern: "x"}}},
		"write hide":            {Rules: []Rule{{Kind: Tool, Pattern: "x", Scopes: []string{"s"}, OnMissingScope: "ask"}}},
		"write deny":            {Default: "alow"},
		"write filter":          {Results: "drop"},
		"deny stands":           {Rules: []Rule{{Kind: Tool, Pattern: "x", Deny: true, When: []string{"true"}}}},
		"remove tenants":        {Rules: []Rule{{Kind: Tool, Pattern: "x", Anonymous: true, Roles: []string{"r"}}}},
		"write anonymous":       {Mixed: true, Rules: []Rule{{Kind: Tool, Pattern: "x*"}}},
		"or name scopes":        {Mixed: true, Rules: []Rule{{Kind: Tool, Pattern: "*", Annotations: map[string]bool{ReadOnlyHint: true}}}},
		"default allow in":      {Mixed: true, Default: Allow},
		"for tools":             {Rules: []Rule{{Kind: Prompt, Pattern: "x", Annotations: map[string]bool{ReadOnlyHint: true}}}},
		"for tools; remove":     {Rules: []Rule{{Kind: Resource, Pattern: "x", Arguments: &arguments.Bounds{MaxBytes: 1}}}},
		"max_bytes":             {Rules: []Rule{{Kind: Tool, Pattern: "x", Arguments: &arguments.Bounds{}}}},
		"tools only":            {Rules: []Rule{{Kind: Prompt, Pattern: "x", When: []string{`request.arguments.a == 1`}}}},
		"unknown annotation":    {Rules: []Rule{{Kind: Tool, Pattern: "x", Annotations: map[string]bool{"readOnly": true}}}},
		"write destructiveHint": {Annotations: map[string]bool{"readonlyhint": true}},
		"not a scope":           {Rules: []Rule{{Kind: Tool, Pattern: "x", Scopes: []string{"a b"}}}},
		"tenants: tenant":       {Rules: []Rule{{Kind: Tool, Pattern: "x", Tenants: []string{" acme"}}}},
		"empty name":            {Rules: []Rule{{Kind: Tool, Pattern: "x", Roles: []string{""}}}},
		"line 1, column 1":      {Rules: []Rule{{Kind: Tool, Pattern: "x", When: []string{`clams.a == 1`}}}},
		"tool x: when":          {Rules: []Rule{{Kind: Tool, Pattern: "x", When: []string{`true`, `claims.admin`}}}},
	}
	for want, config := range tests {
		if _, err := Compile(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error saying %q", err, want)
		}
	}
}

func TestRulesThatDecideNothingAreReported(t *testing.T) {
	pol := compile(t, Config{Rules: []Rule{
		{Kind: Tool, Pattern: "cad.*"},
		{Kind: Tool, Pattern: "cad.open"},
		{Kind: Tool, Pattern: "cad.oepn"},
		{Kind: Tool, Pattern: "cda.*"},
		{Kind: Prompt, Pattern: "p"},
	}})
	if got, want := pol.Unused(Tool, []string{"cad.open", "x"}), []string{"cad.*", "cad.oepn", "cda.*"}; !slices.Equal(got, want) {
		t.Errorf("unused: %v, want %v", got, want)
	}
	if got := pol.Unused(Tool, []string{"cad.open", "cad.oepn", "cad.x", "cda.x"}); got != nil {
		t.Errorf("unused: %v, want none", got)
	}
	if got := pol.Unused(Resource, []string{"x"}); got != nil {
		t.Errorf("unused: %v, want none without rules", got)
	}
}

func TestEveryVerdictHasItsWord(t *testing.T) {
	words := map[string]bool{}
	for _, v := range []Verdict{Hidden, StepUp, Allowed, Login, Refused} {
		words[v.String()] = true
	}
	if len(words) != 5 {
		t.Errorf("verdicts share words: %v", words)
	}
}
