package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/arguments"
)

// factsOf answers for tools by fixed tables.
type factsOf struct {
	annotations map[string]string
	shows       map[string][]string
}

func (f factsOf) Annotations(tool string) ([]byte, error) {
	raw, ok := f.annotations[tool]
	if !ok {
		return nil, errors.New("not listed")
	}
	return []byte(raw), nil
}

func (f factsOf) ToolsShowing(uri string) ([]string, error) { return f.shows[uri], nil }

// TestEveryRefusalNamesWhatIsMissing: each step of a rule has a cause of its own
// and says what would have helped, and what it says is what Decide decides.
func TestEveryRefusalNamesWhatIsMissing(t *testing.T) {
	pol := compile(t, Config{
		Mixed: true, RolesClaim: "roles",
		Rules: []Rule{
			{Kind: Tool, Pattern: "denied", Deny: true},
			{Kind: Tool, Pattern: "tenant", Tenants: []string{"globex"}},
			{Kind: Tool, Pattern: "role", Roles: []string{"admin", "owner"}},
			{Kind: Tool, Pattern: "hint", Scopes: []string{"read"}, Annotations: map[string]bool{ReadOnlyHint: true}},
			{Kind: Tool, Pattern: "unlisted", Scopes: []string{"read"}, Annotations: map[string]bool{ReadOnlyHint: true}},
			{Kind: Tool, Pattern: "false", When: []string{`principal.subject == "bob"`}},
			{Kind: Tool, Pattern: "broken", When: []string{`claims.nothing == "x"`}},
			{Kind: Tool, Pattern: "scope", Scopes: []string{"write", "read"}},
			{Kind: Tool, Pattern: "step", Scopes: []string{"write"}, OnMissingScope: Challenge},
			{Kind: Tool, Pattern: "call", When: []string{`request.arguments.n < 3`}},
			{Kind: Tool, Pattern: "open", Scopes: []string{"read"}},
		},
	})
	alice := &Principal{Issuer: "i", Subject: "alice", Tenant: "acme", Scopes: []string{"read"}}
	withheld := &Principal{Issuer: "i", Subject: "alice", Tenant: "acme", Scopes: []string{"read", "write"}}
	pol.Narrow(withheld, []string{"read"})
	facts := factsOf{
		map[string]string{"hint": `{"readOnlyHint":false}`},
		map[string][]string{"ui://hidden": {"denied", "tenant"}, "ui://shown": {"denied", "open"}},
	}
	for _, tt := range []struct {
		who     *Principal
		kind    Kind
		name    string
		verdict Verdict
		cause   Cause
		missing []string
		index   int
		atCall  []string
	}{
		{who: alice, kind: Tool, name: "other", cause: CauseDefault, index: -1},
		{who: alice, kind: Tool, name: "denied", cause: CauseDeny, index: 0},
		{who: &Principal{Anonymous: true}, kind: Tool, name: "tenant", cause: CauseLogin, index: 1},
		{who: alice, kind: Tool, name: "tenant", cause: CauseTenant, missing: []string{"globex"}, index: 1},
		{who: alice, kind: Tool, name: "role", cause: CauseRole, missing: []string{"admin", "owner"}, index: 2},
		{who: alice, kind: Tool, name: "hint", cause: CauseAnnotation, missing: []string{"readOnlyHint true"}, index: 3},
		{who: alice, kind: Tool, name: "unlisted", cause: CauseUnknown, index: 4},
		{who: alice, kind: Tool, name: "false", cause: CauseCondition, missing: []string{`principal.subject == "bob"`}, index: 5},
		{who: alice, kind: Tool, name: "broken", cause: CauseConditionError, missing: []string{`claims.nothing == "x"`}, index: 6},
		{who: alice, kind: Tool, name: "scope", cause: CauseScope, missing: []string{"write"}, index: 7},
		{who: withheld, kind: Tool, name: "scope", cause: CauseMembership, missing: []string{"write"}, index: 7},
		{who: alice, kind: Tool, name: "step", verdict: StepUp, cause: CauseScope, missing: []string{"write"}, index: 8},
		{who: &Principal{Anonymous: true}, kind: Tool, name: "open", verdict: Login, cause: CauseScope, missing: []string{"read"}, index: 10},
		{who: alice, kind: Tool, name: "call", verdict: Allowed, index: 9, atCall: []string{"request.arguments.n < 3"}},
		{who: alice, kind: Tool, name: "open", verdict: Allowed, index: 10},
		{who: alice, kind: Resource, name: "ui://hidden", cause: CauseTools, missing: []string{"denied", "tenant"}, index: -1},
		{who: alice, kind: Resource, name: "ui://shown", verdict: Allowed, index: -1},
	} {
		view := pol.View(tt.who).With(nil, facts)
		got := view.Explain(tt.kind, tt.name)
		if got.Verdict != tt.verdict || got.Cause != tt.cause || !slices.Equal(got.Missing, tt.missing) || got.Index != tt.index || !slices.Equal(got.AtCall, tt.atCall) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt)
		}
		if (got.Verdict == Allowed) != (got.Reason == "") || (got.Verdict == Allowed) != (got.Cause == "") {
			t.Errorf("%s: %v with cause %q and reason %q", tt.name, got.Verdict, got.Cause, got.Reason)
		}
		if decided := view.Decide(tt.kind, tt.name); decided.Verdict != got.Verdict || decided.Reason != got.Reason {
			t.Errorf("%s: explained %v, decided %v", tt.name, got.Decision, decided)
		}
		if (got.Deciding == nil) != (got.Index < 0) || got.Deciding != nil && got.Deciding.Pattern != got.Rule {
			t.Errorf("%s: rule %v at %d", tt.name, got.Deciding, got.Index)
		}
	}
}

func TestRefusedArgumentsHaveACause(t *testing.T) {
	pol := compile(t, Config{Rules: []Rule{
		{Kind: Tool, Pattern: "bounded", Arguments: &arguments.Bounds{MaxBytes: 4}},
		{Kind: Tool, Pattern: "asked", When: []string{`request.arguments.n < 3`}},
	}})
	view := pol.View(&Principal{Subject: "alice"})
	for name, want := range map[string]Cause{"bounded": CauseArguments, "asked": CauseCondition} {
		if d := view.DecideCall(name, []byte(`{"n":12345}`)); d.Verdict != Refused || d.Cause != want || d.Message == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestARuleIsWrittenAsInACaddyfile(t *testing.T) {
	for _, tt := range []struct {
		rule Rule
		want string
	}{
		{Rule{Kind: Tool, Pattern: "cad.*"}, "tool cad.*"},
		{Rule{Kind: Resource, Pattern: "ui://a b"}, "resource `ui://a b`"},
		{
			Rule{
				Kind: Tool, Pattern: "x", Tenants: []string{"acme", "globex"}, Roles: []string{"admin"}, Annotations: map[string]bool{ReadOnlyHint: true},
				When: []string{`"admin" in claims.roles`}, Scopes: []string{"a", "b"}, OnMissingScope: Challenge, Arguments: &arguments.Bounds{MaxBytes: 9, MaxDepth: 2},
			},
			"tool x {\n\ttenants acme globex\n\troles admin\n\tannotation readOnlyHint on\n\twhen `\"admin\" in claims.roles`\n\tscopes a b\n\ton_missing_scope challenge\n\tmax_bytes 9\n\tmax_depth 2\n}",
		},
		{Rule{Kind: Tool, Pattern: "a`b", Deny: true}, "tool \"a`b\" {\n\tdeny\n}"},
		{Rule{Kind: Tool, Pattern: "o", Anonymous: true}, "tool o {\n\tanonymous\n}"},
	} {
		if got := tt.rule.Caddyfile(); got != tt.want {
			t.Errorf("%s\nwant\n%s", got, tt.want)
		}
		if before := strings.Join(tt.rule.Tenants, " "); before != "" && before != "acme globex" {
			t.Errorf("the rule itself was changed: %s", before)
		}
	}
}
