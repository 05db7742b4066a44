package policy

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/arguments"
)

// server is what a server says about its tools.
type server struct {
	annotations map[string]string
	links       map[string][]string
	down        bool
}

func (s server) Annotations(tool string) ([]byte, error) {
	if s.down {
		return nil, errors.New("catalog could not be had")
	}
	return []byte(s.annotations[tool]), nil
}

func (s server) ToolsShowing(uri string) ([]string, error) {
	if s.down {
		return nil, errors.New("catalog could not be had")
	}
	return s.links[uri], nil
}

func TestRolesComeFromClaimsAndMembership(t *testing.T) {
	config := Config{RolesClaim: "realm_access.roles", Rules: []Rule{
		{Kind: Tool, Pattern: "x", Roles: []string{"admin", "editor"}},
		{Kind: Tool, Pattern: "y", When: []string{`!("banned" in principal.roles)`}},
	}}
	view := func(claim any, member ...string) *View {
		claims := map[string]any{"realm_access": map[string]any{"roles": claim}}
		return compile(t, config).View(&Principal{Subject: "s", Roles: member, Claims: claims})
	}
	tests := []struct {
		name string
		view *View
		x, y bool
	}{
		{"array", view([]any{"user", "editor"}), true, true},
		{"string", view("admin"), true, true},
		{"other role", view("user"), false, true},
		{"part of a name", view("admin editor"), false, true},
		{"membership", view("user", "editor"), true, true},
		{"banned", view([]any{"banned", "admin"}), true, false},
		{"malformed claim gives none", view([]any{"admin", 4.0}), false, false},
		{"malformed claim takes none away", view(4.0, "editor"), true, false},
		{"no claim", compile(t, config).View(&Principal{Subject: "s", Claims: map[string]any{"realm_access": "admin"}}), false, true},
	}
	for _, tt := range tests {
		if tt.view.Shows(Tool, "x") != tt.x || tt.view.Shows(Tool, "y") != tt.y {
			t.Errorf("%s: x %+v, y %+v, want %v, %v", tt.name, tt.view.Decide(Tool, "x"), tt.view.Decide(Tool, "y"), tt.x, tt.y)
		}
	}
}

func TestAnnotationsAreTheServersAndCautious(t *testing.T) {
	facts := server{annotations: map[string]string{
		"reads": `{"readOnlyHint":true}`, "writes": `{"readOnlyHint":false}`, "silent": ``, "null": `null`,
		"safe": `{"destructiveHint":false}`, "text": `{"readOnlyHint":"true"}`, "list": `[]`, "twice": `{"readOnlyHint":false,"readOnlyHint":true}`,
		"closed": `{"openWorldHint":false}`, "again": `{"idempotentHint":true}`, "case": `{"readonlyhint":true}`,
	}}
	tests := []struct {
		wanted map[string]bool
		want   []string
	}{
		{map[string]bool{ReadOnlyHint: true}, []string{"reads"}},
		{map[string]bool{ReadOnlyHint: false}, []string{"again", "case", "closed", "null", "safe", "silent", "text", "writes"}},
		{map[string]bool{"destructiveHint": false}, []string{"reads", "safe"}},
		{map[string]bool{"openWorldHint": false}, []string{"closed"}},
		{map[string]bool{"idempotentHint": true}, []string{"again", "reads"}},
		{map[string]bool{ReadOnlyHint: true, "openWorldHint": true}, []string{"reads"}},
	}
	for _, tt := range tests {
		for what, config := range map[string]Config{
			"rule":    {Rules: []Rule{{Kind: Tool, Pattern: "*", Annotations: tt.wanted}}},
			"policy":  {Annotations: tt.wanted, Rules: []Rule{{Kind: Tool, Pattern: "*"}}},
			"default": {Annotations: tt.wanted, Default: Allow},
		} {
			pol := compile(t, config)
			var got []string
			for tool := range facts.annotations {
				if pol.View(&Principal{}).With(nil, facts).Shows(Tool, tool) {
					got = append(got, tool)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s with %v shows %v, want %v", what, tt.wanted, got, tt.want)
			}
			for name, view := range map[string]*View{"no facts": pol.View(&Principal{}), "server down": pol.View(&Principal{}).With(nil, server{down: true})} {
				if d := view.Decide(Tool, "reads"); d.Verdict != Hidden || !strings.Contains(d.Reason, "unknown") {
					t.Errorf("%s with %s: %+v, want hidden because nobody knows", what, name, d)
				}
			}
			if !pol.Reads().Annotations || pol.HidesNothing() {
				t.Errorf("%s: the policy does not say that it needs annotations", what)
			}
		}
	}
	// Prompts have none.
	if !compile(t, Config{Annotations: map[string]bool{ReadOnlyHint: true}, Default: Allow}).View(&Principal{}).Shows(Prompt, "p") {
		t.Error("annotations of tools hide a prompt")
	}
}

func TestConditionsSeeNoCredentials(t *testing.T) {
	pol := compile(t, Config{
		HiddenHeaders: []string{"X-Who-", "X-Secret"},
		Rules:         []Rule{{Kind: Tool, Pattern: "x", When: []string{`request.headers.all(name, name in ["x-region", "accept", "x-secrets"]) && request.headers["x-region"] == "eu, us"`}}},
	})
	header := http.Header{"X-Region": {"eu", "us"}, "Accept": {"*/*"}, "X-Secrets": {"1"}}
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "Mcp-Session-Id", "X-Mcp-App-Subject", "X-Who-Tenant", "X-Secret"} {
		header.Set(name, "secret")
	}
	if d := pol.View(&Principal{}).With(&Request{Header: header}, nil).Decide(Tool, "x"); d.Verdict != Allowed {
		t.Errorf("some hidden header is visible: %+v", d)
	}
	if !pol.Reads().Headers {
		t.Error("the policy does not say that it reads headers")
	}
	for _, name := range []string{"authorization", "cookie", "x-mcp-app-tenant", "x-who-x"} {
		_, err := Compile(Config{HiddenHeaders: []string{"X-Who-"}, Rules: []Rule{{Kind: Tool, Pattern: "x", When: []string{fmt.Sprintf(`request.headers[%q] != ""`, name)}}}})
		if err == nil || !strings.Contains(err.Error(), name+" is not visible") {
			t.Errorf("a rule that reads %s: got %v", name, err)
		}
	}
}

// A name is listed for whoever may use it, so a condition must not see which of
// both the message wants.
func TestConditionsSeeTheUseOfAName(t *testing.T) {
	methods := map[Kind]string{Tool: "tools/call", Prompt: "prompts/get", Resource: "resources/read", Template: "resources/read", Method: "n"}
	for kind, method := range methods {
		view := compile(t, Config{Rules: []Rule{{Kind: kind, Pattern: "n", When: []string{fmt.Sprintf(`request.method == %q && request.name == "n"`, method)}}}}).View(&Principal{})
		if d := view.Decide(kind, "n"); d.Verdict != Allowed {
			t.Errorf("%s: %+v", kind, d)
		}
	}
}

func TestArgumentsRefuseACallAndHideNothing(t *testing.T) {
	view := compile(t, Config{Rules: []Rule{
		{Kind: Tool, Pattern: "cad.*", Tenants: []string{"acme"}, When: []string{`claims.level > 1`, `request.arguments.path.startsWith("/parts/")`}},
		{Kind: Tool, Pattern: "small", Arguments: &arguments.Bounds{MaxBytes: 20, MaxDepth: 2}, OnMissingScope: Challenge, Scopes: []string{"s"}},
	}}).View(&Principal{Tenant: "acme", Claims: map[string]any{"level": int64(2)}, Scopes: []string{"s"}})
	tests := []struct {
		tool, arguments string
		want            Verdict
	}{
		{"cad.open", `{"path":"/parts/a"}`, Allowed},
		{"cad.open", `{"path":"/etc/a"}`, Refused},
		{"cad.open", `{"path":4}`, Refused},
		{"cad.open", `{}`, Refused},
		{"cad.open", ``, Refused},
		{"cad.open", `[]`, Refused},
		{"cad.open", `{"path":"/parts/a","path":"/etc/a"}`, Refused},
		{"small", `{"a":[1]}`, Allowed},
		{"small", `{"a":[[1]]}`, Refused},
		{"small", `{"a":"0123456789012345"}`, Refused},
		{"unknown", `{}`, Hidden},
	}
	for _, tt := range tests {
		d := view.DecideCall(tt.tool, []byte(tt.arguments))
		if d.Verdict != tt.want || (d.Message != "") != (tt.want == Refused) || d.Verdict != Allowed && d.Reason == "" {
			t.Errorf("%s %s: %+v, want %v", tt.tool, tt.arguments, d, tt.want)
		}
		if tt.want == Refused && !view.Shows(Tool, tt.tool) {
			t.Errorf("%s is hidden because of its arguments", tt.tool)
		}
	}
	other := &Principal{Tenant: "globex", Claims: map[string]any{"level": int64(2)}}
	if d := view.As(other).DecideCall("cad.open", []byte(`{"path":"/etc"}`)); d.Verdict != Hidden {
		t.Errorf("another tenant is told about the tool: %+v", d)
	}
	low := &Principal{Tenant: "acme", Claims: map[string]any{"level": int64(1)}}
	if d := view.As(low).Decide(Tool, "cad.open"); d.Verdict != Hidden {
		t.Errorf("a condition on the caller does not hide: %+v", d)
	}
	if d := view.As(low).DecideCall("small", []byte(`{"a":[[1]]}`)); d.Verdict != StepUp {
		t.Errorf("arguments are judged before scopes: %+v", d)
	}
}

func TestAUIResourceIsAsVisibleAsItsTools(t *testing.T) {
	facts := server{links: map[string][]string{"ui://a": {"secret", "open"}, "ui://b": {"secret"}, "ui://ruled": {"secret"}, "ui://step": {"stepup"}}}
	view := compile(t, Config{Rules: []Rule{
		{Kind: Tool, Pattern: "open"},
		{Kind: Tool, Pattern: "stepup", Scopes: []string{"s"}, OnMissingScope: Challenge},
		{Kind: Resource, Pattern: "ui://ruled"},
	}}).View(&Principal{})
	tests := []struct {
		facts Facts
		uri   string
		want  Verdict
	}{
		{facts, "ui://a", Allowed},
		{facts, "ui://b", Hidden},
		{facts, "ui://step", Allowed},
		{facts, "ui://ruled", Allowed},
		{facts, "ui://unlinked", Hidden},
		{facts, "file://a", Hidden},
		{server{down: true}, "ui://a", Hidden},
		{server{down: true}, "ui://ruled", Allowed},
		{nil, "ui://a", Hidden},
	}
	for _, tt := range tests {
		if d := view.With(nil, tt.facts).Decide(Resource, tt.uri); d.Verdict != tt.want {
			t.Errorf("%s: %+v, want %v", tt.uri, d, tt.want)
		}
	}
}

func TestMixedModeShowsAnonymousCallersWhatALoginOpens(t *testing.T) {
	pol := compile(t, Config{Mixed: true, Rules: []Rule{
		{Kind: Tool, Pattern: "open"},
		{Kind: Tool, Pattern: "pub.*", Anonymous: true},
		{Kind: Tool, Pattern: "scoped.*", Scopes: []string{"s"}},
		{Kind: Tool, Pattern: "tenants", Tenants: []string{"acme"}, Scopes: []string{"s"}},
		{Kind: Tool, Pattern: "roles", Roles: []string{"r"}},
		{Kind: Tool, Pattern: "when", When: []string{`principal.subject == ""`}},
		{Kind: Tool, Pattern: "args", When: []string{`size(request.arguments) == 0`}},
		{Kind: Tool, Pattern: "denied", Deny: true},
		{Kind: Method, Pattern: "tasks/*", Scopes: []string{"s"}},
	}})
	anonymous, unmarked := pol.View(&Principal{Anonymous: true}), pol.View(&Principal{})
	known := pol.View(&Principal{Issuer: "i", Subject: "s", Tenant: "acme", Scopes: []string{"x"}})
	tests := []struct {
		kind             Kind
		name             string
		anonymous, known Verdict
	}{
		{Tool, "open", Allowed, Allowed},
		{Tool, "pub.a", Allowed, Allowed},
		{Tool, "scoped.a", Login, Hidden},
		{Tool, "tenants", Hidden, Hidden},
		{Tool, "roles", Hidden, Hidden},
		{Tool, "when", Hidden, Hidden},
		{Tool, "args", Hidden, Allowed},
		{Tool, "denied", Hidden, Hidden},
		{Tool, "other", Hidden, Hidden},
		{Method, "tools/list", Allowed, Allowed},
		{Method, "tasks/get", Login, Hidden},
	}
	for _, tt := range tests {
		if a, k := anonymous.Decide(tt.kind, tt.name), known.Decide(tt.kind, tt.name); a.Verdict != tt.anonymous || k.Verdict != tt.known {
			t.Errorf("%s: %+v and %+v, want %v and %v", tt.name, a, k, tt.anonymous, tt.known)
		}
		if u := unmarked.Decide(tt.kind, tt.name); u.Verdict != tt.anonymous {
			t.Errorf("%s: %+v for a caller who is not named, want %v", tt.name, u, tt.anonymous)
		}
	}
	if got := anonymous.Decide(Tool, "scoped.a").Scopes; !slices.Equal(got, []string{"s"}) {
		t.Errorf("a login is asked for with scopes %v", got)
	}
}

func TestMethodRulesAreForWhatMustBeHarder(t *testing.T) {
	pol := compile(t, Config{Default: Allow, Rules: []Rule{
		{Kind: Method, Pattern: "tools/call", Scopes: []string{"strong"}, OnMissingScope: Challenge},
		{Kind: Method, Pattern: "logging/*", Deny: true},
	}})
	view := pol.View(&Principal{Subject: "s"})
	for method, want := range map[string]Verdict{"tools/list": Allowed, "initialize": Allowed, "tools/call": StepUp, "logging/setLevel": Hidden} {
		if d := view.Decide(Method, method); d.Verdict != want {
			t.Errorf("%s: %+v, want %v", method, d, want)
		}
	}
	if !pol.HidesNothing() {
		t.Error("rules about methods hide no names")
	}
	if denied := compile(t, Config{}).View(&Principal{}); denied.Decide(Method, "initialize").Verdict != Allowed {
		t.Error("default deny shuts out methods")
	}
}

// A list of 2,000 tools must not multiply an expensive condition.
func TestConditionsOfOneMessageAreBoundedTogether(t *testing.T) {
	pol := compile(t, Config{Rules: []Rule{{Kind: Tool, Pattern: "*", When: []string{`claims.many.all(a, a != request.name)`}}}})
	many := make([]any, 2000)
	for i := range many {
		many[i] = "x"
	}
	view := pol.View(&Principal{Claims: map[string]any{"many": many}})
	shown := 0
	for i := range 2000 {
		if view.Shows(Tool, fmt.Sprint(i)) {
			shown++
		}
	}
	if shown == 0 || shown > 100 {
		t.Errorf("%d of 2,000 names are shown, want those before the bound", shown)
	}
	if d := view.Decide(Tool, "last"); !strings.Contains(d.Reason, "cost too much together") {
		t.Errorf("got %+v", d)
	}
}
