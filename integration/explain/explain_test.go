package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// explanation is what these tests read of the published JSON.
type explanation struct {
	Endpoint, Resource, Host string
	Principal                struct {
		By, Issuer, Subject, Tenant string
		Scopes, Roles               []string
	}
	Refused *struct {
		Status                  int
		Decision, Cause, Reason string
	}
	CatalogError string `json:"catalog_error"`
	Server       *struct {
		Name, Era, ProtocolVersion string
		CheckedAt                  string `json:"checked_at"`
	}
	Tools, Prompts, Resources, Templates []name
	Capabilities                         []struct {
		Name, Reason string
		Advertised   bool
	}
	UnusedRules []rule `json:"unused_rules"`
	Notes       []string
	Error       string // of the admin endpoint
}

type name struct {
	Name, Decision, Cause, Reason string
	DecidedBy                     string `json:"decided_by"`
	Visible, Listed               bool
	Rule                          *rule
	Missing                       []string
	AtCall                        []string `json:"at_call"`
	Entrypoints                   json.RawMessage
	InputSchema                   json.RawMessage `json:"input_schema"`
	Declaration                   json.RawMessage
}

type rule struct {
	Kind, Pattern, Caddyfile, Source string
	Index                            int
}

func (x explanation) tool(t *testing.T, tool string) name {
	t.Helper()
	i := slices.IndexFunc(x.Tools, func(n name) bool { return n.Name == tool })
	if i < 0 {
		t.Fatalf("%s is not explained in %+v", tool, x.Tools)
	}
	return x.Tools[i]
}

func (x explanation) visible() []string {
	var names []string
	for _, tool := range x.Tools {
		if tool.Visible {
			names = append(names, tool.Name)
		}
	}
	slices.Sort(names)
	return names
}

// listed is what the principal's own client gets.
func (g *gateway) listed(t *testing.T, tenant, token string) []string {
	t.Helper()
	_, _, body := g.call(t, tenant, token, "tools/list", "", nil, nil)
	if _, data, ok := strings.Cut(body, "data: "); ok {
		body = data
	}
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(strings.TrimSpace(body)), &answer); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var names []string
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// TestWhatIsExplainedIsWhatIsServed compares explanations with the lists that the
// same principals get, and looks at the words for each refusal.
func TestWhatIsExplainedIsWhatIsServed(t *testing.T) {
	g := start(t)
	admin := g.issue(t, issuer.Grant{
		Subject: "erin@acme", Audience: []string{g.URL("acme")}, Scopes: []string{"mcp.use", "settings.write"},
		Claims: map[string]any{"org_id": "acme", "roles": []string{"admin"}},
	})
	for who, token := range map[string]string{
		"victor": g.token(t, "victor@acme", "acme", "mcp.use"),
		"erin":   g.token(t, "erin@acme", "acme", "mcp.use", "decks.write"),
		"admin":  admin,
	} {
		var x explanation
		if status := g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "token": token}, &x); status != http.StatusOK {
			t.Fatalf("%s: %d %s", who, status, x.Error)
		}
		if x.Refused != nil || x.CatalogError != "" || x.Server == nil || x.Server.Era != "modern" {
			t.Fatalf("%s: %+v", who, x)
		}
		if served := g.listed(t, "acme", token); !slices.Equal(x.visible(), served) || len(served) == 0 {
			t.Errorf("%s: explained as visible %v, served %v", who, x.visible(), served)
		}
	}
	var x explanation
	g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "token": g.token(t, "victor@acme", "acme", "mcp.use")}, &x)
	if p := x.Principal; p.By != "token" || p.Subject != "victor@acme" || p.Tenant != "acme" || !slices.Equal(p.Scopes, []string{"mcp.use"}) {
		t.Errorf("principal %+v", p)
	}
	for tool, want := range map[string]name{
		"list_decks":       {Decision: "allow", DecidedBy: "rule", Rule: &rule{Pattern: "list_decks", Caddyfile: "tool list_decks", Index: 2}},
		"create_deck":      {Decision: "challenge", DecidedBy: "rule", Cause: "scope", Missing: []string{"decks.write"}, Rule: &rule{Pattern: "create_deck", Index: 3, Caddyfile: "tool create_deck {\n\tscopes decks.write\n\ton_missing_scope challenge\n}"}},
		"settings.update":  {Decision: "hide", DecidedBy: "rule", Cause: "scope", Missing: []string{"settings.write"}, Rule: &rule{Pattern: "settings.*", Index: 4, Caddyfile: "tool settings.* {\n\tscopes settings.write\n}"}},
		"admin.purge_deck": {Decision: "hide", DecidedBy: "rule", Cause: "role", Missing: []string{"admin"}, Rule: &rule{Pattern: "admin.*", Index: 5, Caddyfile: "tool admin.* {\n\troles admin\n}"}},
		"workspace.tray": {
			Decision: "hide", DecidedBy: "rule", Cause: "condition", Missing: []string{`principal.subject.startsWith("erin")`},
			Rule: &rule{Pattern: "workspace.tray", Index: 1, Caddyfile: "tool workspace.tray {\n\twhen `principal.subject.startsWith(\"erin\")`\n}"},
		},
	} {
		got := x.tool(t, tool)
		if got.Decision != want.Decision || got.Cause != want.Cause || got.DecidedBy != want.DecidedBy || !slices.Equal(got.Missing, want.Missing) ||
			got.Rule == nil || got.Rule.Pattern != want.Rule.Pattern || got.Rule.Caddyfile != want.Rule.Caddyfile || got.Rule.Index != want.Rule.Index {
			t.Errorf("%s: %+v with rule %+v, want %+v with rule %+v", tool, got, got.Rule, want, want.Rule)
		}
	}
	// A page goes with its tools.
	for uri, want := range map[string]string{"ui://workspace/home": "allow", "ui://workspace/tray": "hide"} {
		i := slices.IndexFunc(x.Resources, func(n name) bool { return n.Name == uri })
		if i < 0 || x.Resources[i].Decision != want || x.Resources[i].DecidedBy != "tools" {
			t.Errorf("%s: %+v", uri, x.Resources)
		}
	}
	if len(x.Prompts) == 0 || x.Prompts[0].Decision != "hide" || x.Prompts[0].DecidedBy != "default" || x.Prompts[0].Cause != "default" {
		t.Errorf("prompts %+v", x.Prompts)
	}
	if len(x.UnusedRules) != 1 || x.UnusedRules[0].Pattern != "gone.*" {
		t.Errorf("unused rules %+v", x.UnusedRules)
	}
	if len(x.Capabilities) != 1 || x.Capabilities[0].Name != "openai/settings" || x.Capabilities[0].Advertised || !strings.Contains(x.Capabilities[0].Reason, "settings.read") {
		t.Errorf("capabilities %+v", x.Capabilities)
	}
	g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "token": admin}, &x)
	if len(x.Capabilities) != 1 || !x.Capabilities[0].Advertised || !slices.Equal(x.Principal.Roles, []string{"admin"}) {
		t.Errorf("of the admin: %+v, %+v", x.Capabilities, x.Principal)
	}
}

// TestAPrincipalThatIsRefusedIsToldWhy: the reason that the audit log would hold
// is in the explanation, and nothing of the catalog.
func TestAPrincipalThatIsRefusedIsToldWhy(t *testing.T) {
	g := start(t)
	before := len(g.lines(t, "access.log"))
	records := len(g.lines(t, "audit.log"))
	for who, tt := range map[string]struct {
		body   map[string]any
		status int
		cause  string
	}{
		"no token":       {map[string]any{}, 401, "no_token"},
		"a bad token":    {map[string]any{"token": "nonsense"}, 401, "token"},
		"no member":      {map[string]any{"token": g.token(t, "mallory@acme", "acme", "mcp.use")}, 403, "membership"},
		"no tenant":      {map[string]any{"token": g.token(t, "erin@hooli", "acme", "mcp.use"), "claims": nil}, 403, "membership"},
		"no scope":       {map[string]any{"token": g.token(t, "victor@acme", "acme")}, 403, "scope"},
		"another route":  {map[string]any{"token": g.token(t, "erin@globex", "globex", "mcp.use"), "tenant": "acme"}, 401, "token"},
		"claimed tenant": {map[string]any{"claims": map[string]any{"sub": "erin@globex", "org_id": "globex", "scope": "mcp.use"}, "tenant": "acme"}, 403, "tenant"},
		"no subject":     {map[string]any{"claims": map[string]any{"org_id": "acme"}}, 401, "token"},
	} {
		var x explanation
		tt.body["endpoint"] = "/mcp"
		if status := g.ask(t, http.MethodPost, "/mcp_app/explain", tt.body, &x); status != http.StatusOK {
			t.Errorf("%s: %d %s", who, status, x.Error)
			continue
		}
		if x.Refused == nil || x.Refused.Status != tt.status || x.Refused.Cause != tt.cause || x.Refused.Reason == "" {
			t.Errorf("%s: %+v", who, x.Refused)
		}
		if len(x.Tools) != 0 || x.Server != nil {
			t.Errorf("%s: %+v", who, x)
		}
	}
	// Trying out is neither traffic nor an attack.
	if after := len(g.lines(t, "access.log")); after != before {
		t.Errorf("%d lines in the access log", after-before)
	}
	if after := len(g.lines(t, "audit.log")); after != records {
		t.Errorf("%d audit records", after-records)
	}
}

// TestClaimsStandInForAToken: the same principal without a signature sees the
// same, is judged by the same membership, and the answer says what was not done.
func TestClaimsStandInForAToken(t *testing.T) {
	g := start(t)
	var byToken, byClaims explanation
	g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "token": g.token(t, "erin@globex", "globex", "mcp.use")}, &byToken)
	g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{
		"endpoint": "/mcp", "claims": map[string]any{"sub": "erin@globex", "org_id": "globex", "scope": "mcp.use"},
	}, &byClaims)
	if len(byToken.visible()) == 0 || !slices.Equal(byToken.visible(), byClaims.visible()) {
		t.Errorf("by token %v, by claims %v", byToken.visible(), byClaims.visible())
	}
	if byClaims.Principal.By != "claims" || byClaims.Principal.Issuer != g.Issuer.URL || byClaims.Host != byToken.Host || !strings.HasPrefix(byToken.Host, "globex.") {
		t.Errorf("%+v at %s, by token at %s", byClaims.Principal, byClaims.Host, byToken.Host)
	}
	if !slices.ContainsFunc(byClaims.Notes, func(note string) bool { return strings.Contains(note, "without a token") }) {
		t.Errorf("notes %q", byClaims.Notes)
	}
	// Membership narrows scopes, also those that are only claimed.
	var narrowed explanation
	g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{
		"endpoint": "/mcp", "tool": "create_deck", "claims": map[string]any{"sub": "nina@acme", "org_id": "acme", "scope": "mcp.use decks.write"},
	}, &narrowed)
	if len(narrowed.Tools) != 1 || narrowed.Tools[0].Cause != "membership" || !slices.Equal(narrowed.Tools[0].Missing, []string{"decks.write"}) {
		t.Errorf("narrowed: %+v", narrowed)
	}
	// What the server does not list is explained all the same.
	var unlisted explanation
	g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{
		"endpoint": "/mcp", "tool": "gone.tool", "claims": map[string]any{"sub": "erin@acme", "org_id": "acme", "scope": "mcp.use"},
	}, &unlisted)
	if len(unlisted.Tools) != 1 || unlisted.Tools[0].Listed || unlisted.Tools[0].Visible || unlisted.Tools[0].Decision != "allow" {
		t.Errorf("unlisted: %+v", unlisted.Tools)
	}
}

// TestOnlyListsAreAsked: explaining runs no tool, and asks again only if told to.
func TestOnlyListsAreAsked(t *testing.T) {
	g := start(t)
	token := g.token(t, "erin@acme", "acme", "mcp.use")
	ask := func(refresh bool) (x explanation) {
		t.Helper()
		g.ask(t, http.MethodPost, "/mcp_app/catalog", map[string]any{"endpoint": "/mcp", "token": token, "refresh": refresh}, &x)
		return x
	}
	g.Workspace.ForgetCalls()
	first := ask(false)
	asked := len(g.Workspace.Requests())
	second := ask(false)
	if again := len(g.Workspace.Requests()); again != asked || second.Server.CheckedAt != first.Server.CheckedAt {
		t.Errorf("asked %d times, then %d", asked, again)
	}
	if third := ask(true); third.Server.CheckedAt == first.Server.CheckedAt || len(g.Workspace.Requests()) == asked {
		t.Error("refresh asked nobody")
	}
	if calls := g.Workspace.Calls(); len(calls) != 0 {
		t.Errorf("tools were called: %+v", calls)
	}
}

// TestCatalogIsWhatTheClientGets: declarations with entrypoints and schemas, and
// every hidden name with its rule.
func TestCatalogIsWhatTheClientGets(t *testing.T) {
	g := start(t)
	var shown struct {
		explanation
		Hidden map[string][]name
	}
	token := g.token(t, "victor@acme", "acme", "mcp.use")
	if status := g.ask(t, http.MethodPost, "/mcp_app/catalog", map[string]any{"endpoint": "/mcp", "token": token}, &shown); status != http.StatusOK {
		t.Fatalf("%d %s", status, shown.Error)
	}
	if served := g.listed(t, "acme", token); !slices.Equal(shown.visible(), served) {
		t.Errorf("shown %v, served %v", shown.visible(), served)
	}
	home := shown.tool(t, "workspace.home")
	if !strings.Contains(string(home.Entrypoints), `"global"`) || !strings.Contains(string(home.InputSchema), `"object"`) || !strings.Contains(string(home.Declaration), "securitySchemes") {
		t.Errorf("workspace.home: %s %s %s", home.Entrypoints, home.InputSchema, home.Declaration)
	}
	var hidden []string
	for _, tool := range shown.Hidden["tool"] {
		if tool.Visible || tool.Cause == "" || (tool.Rule == nil) != (tool.DecidedBy == "default") {
			t.Errorf("hidden %+v", tool)
		}
		hidden = append(hidden, tool.Name)
	}
	if !slices.Contains(hidden, "admin.purge_deck") || !slices.Contains(hidden, "workspace.tray") || slices.Contains(hidden, "create_deck") {
		t.Errorf("hidden %v", hidden)
	}
}

// TestEndpointsAreDescribed: those of the running configuration, across reloads.
func TestEndpointsAreDescribed(t *testing.T) {
	g := start(t)
	read := func() []map[string]any {
		t.Helper()
		var answer struct{ Endpoints []map[string]any }
		if status := g.ask(t, http.MethodGet, "/mcp_app/endpoints", nil, &answer); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		return answer.Endpoints
	}
	list := read()
	if len(list) != 1 {
		t.Fatalf("endpoints %v", list)
	}
	tenant, _ := list[0]["tenant"].(map[string]any)
	if list[0]["endpoint"] != "/mcp" || list[0]["mode"] != "strict" || tenant["members"] != "file" || tenant["claim"] != "org_id" || list[0]["rules"] != 7.0 {
		t.Errorf("endpoint %v", list[0])
	}
	if hosts, _ := list[0]["hosts"].([]any); len(hosts) != 1 || hosts[0] != "*.localhost" {
		t.Errorf("hosts %v", list[0]["hosts"])
	}
	for range 3 {
		if err := g.Reload(text("mcp_app /mcp ", "mcp_app /other ")); err != nil {
			t.Fatal(err)
		}
	}
	if list := read(); len(list) != 1 || list[0]["endpoint"] != "/other" {
		t.Errorf("after reloads: %v", list)
	}
	var x explanation
	if status := g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "token": "x"}, &x); status != http.StatusNotFound {
		t.Errorf("an endpoint of the former configuration: %d %+v", status, x)
	}
}

// TestAdminRefusesWhatItCannotRead, and repeats no token.
func TestAdminRefusesWhatItCannotRead(t *testing.T) {
	g := start(t)
	for what, tt := range map[string]struct {
		method string
		body   any
		status int
	}{
		"another method":  {http.MethodGet, map[string]any{}, 405},
		"unknown member":  {http.MethodPost, map[string]any{"endpoint": "/mcp", "tokens": "secret"}, 400},
		"both":            {http.MethodPost, map[string]any{"endpoint": "/mcp", "token": "secret", "claims": map[string]any{"sub": "x"}}, 400},
		"a long token":    {http.MethodPost, map[string]any{"endpoint": "/mcp", "token": strings.Repeat("secret", 4000)}, 400},
		"a torn token":    {http.MethodPost, map[string]any{"endpoint": "/mcp", "token": "secret\r\nX-Other: 1"}, 400},
		"claims as text":  {http.MethodPost, map[string]any{"endpoint": "/mcp", "claims": "secret"}, 400},
		"a number":        {http.MethodPost, map[string]any{"endpoint": 5, "token": "secret"}, 400},
		"no such":         {http.MethodPost, map[string]any{"endpoint": "/no", "token": "secret"}, 404},
		"an unknown host": {http.MethodPost, map[string]any{"endpoint": "/mcp", "token": "secret", "host": "example.com"}, 200},
	} {
		var answer json.RawMessage
		if status := g.ask(t, tt.method, "/mcp_app/explain", tt.body, &answer); status != tt.status {
			t.Errorf("%s: %d %s, want %d", what, status, answer, tt.status)
		}
		if strings.Contains(string(answer), "secret") {
			t.Errorf("%s: %s", what, answer)
		}
	}
	log, err := os.ReadFile(g.LogFile)
	if err != nil || strings.Contains(string(log), "secret") {
		t.Errorf("the log holds what was sent: %v", err)
	}
}

// command runs caddy mcp-app explain in a process of its own.
func (g *gateway) command(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"mcp-app", "explain"}, args...)...)
	cmd.Env = append(os.Environ(), asCaddy+"=1", "HOME="+g.dir, "XDG_CONFIG_HOME="+g.dir, "XDG_DATA_HOME="+g.dir)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return code, out.String(), errs.String()
}

// TestExplainCommand reads the same configuration that is running, without
// starting it, and says the same as the admin endpoint, with file and line.
func TestExplainCommand(t *testing.T) {
	g := start(t)
	g.write(t, "Caddyfile", caddyfile)
	config := g.file("Caddyfile")
	token := g.token(t, "victor@acme", "acme", "mcp.use")
	g.write(t, "token", token+"\n")

	code, stdout, stderr := g.command(t, token, "--config", config, "--endpoint", "/mcp", "--token-file", "-", "--json")
	var byCommand, byAdmin explanation
	if err := json.Unmarshal([]byte(stdout), &byCommand); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	g.ask(t, http.MethodPost, "/mcp_app/explain", map[string]any{"endpoint": "/mcp", "token": token}, &byAdmin)
	if len(byCommand.Tools) != len(byAdmin.Tools) || len(byCommand.Tools) == 0 {
		t.Fatalf("%d tools by command, %d by admin", len(byCommand.Tools), len(byAdmin.Tools))
	}
	for i, tool := range byCommand.Tools {
		same := byAdmin.Tools[i]
		if tool.Name != same.Name || tool.Decision != same.Decision || tool.Reason != same.Reason {
			t.Errorf("by command %+v, by admin %+v", tool, same)
		}
	}
	above, _, _ := strings.Cut(caddyfile, "tool settings.*")
	line := 1 + strings.Count(above, "\n")
	if source := byCommand.tool(t, "settings.update").Rule.Source; !strings.HasSuffix(source, "Caddyfile:"+jsonNumber(line)) {
		t.Errorf("settings.* stands at %s, want line %d", source, line)
	}

	for _, tt := range []struct {
		name  string
		args  []string
		stdin string
		code  int
		says  []string
	}{
		{"table", []string{"--token-file", g.file("token")}, "", 0, []string{
			"victor@acme of tenant acme, by token of " + g.Issuer.URL, "settings.update", "missing scope settings.write", "tool admin.* (", "RULES THAT FIT NOTHING", "gone.*", "openai/settings",
		}},
		{"one tool, hidden", []string{"--token-file", g.file("token"), "--tool", "settings.update"}, "", 1, []string{"hide", "    scopes settings.write"}},
		{"one tool, shown", []string{"--token-file", g.file("token"), "--tool", "list_decks"}, "", 0, []string{"allow", "tool list_decks"}},
		{"claims", []string{"--claims", "-"}, `{"sub":"erin@acme","org_id":"acme","scope":"mcp.use"}`, 0, []string{"erin@acme of tenant acme, by claims of", "without a token"}},
		{"refused", []string{"--claims", "-"}, `{"sub":"mallory@acme","org_id":"acme","scope":"mcp.use"}`, 1, []string{"403, membership", "The principal is refused: not a member"}},
		{"token on the command line", []string{"--token", token, "--tool", "list_decks"}, "", 0, []string{"Warning"}},
		{"no config", []string{}, "", 2, []string{"--config"}},
		{"no such config", []string{"--config", g.file("none")}, "", 2, []string{"reading the configuration"}},
		{"no such endpoint", []string{"--endpoint", "/x"}, "", 2, []string{"there is no endpoint /x"}},
		{"claims and token", []string{"--claims", "-", "--token", token}, "", 2, []string{"stands in for a token"}},
	} {
		args := tt.args
		if !slices.Contains(args, "--config") && tt.name != "no config" {
			args = append([]string{"--config", config}, args...)
		}
		code, stdout, stderr := g.command(t, tt.stdin, args...)
		if code != tt.code {
			t.Errorf("%s: exit %d, want %d: %s%s", tt.name, code, tt.code, stdout, stderr)
		}
		for _, want := range tt.says {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("%s: does not say %q:\n%s%s", tt.name, want, stdout, stderr)
			}
		}
		if strings.Contains(stdout+stderr, token) {
			t.Errorf("%s: the token is repeated", tt.name)
		}
		if testing.Verbose() {
			t.Logf("%s:\n%s%s", tt.name, stdout, stderr)
		}
	}
}

func jsonNumber(n int) string {
	text, _ := json.Marshal(n)
	return string(text)
}
