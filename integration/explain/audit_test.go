package explain

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// TestEveryDecisionIsOnRecord sends what is allowed and everything that is
// refused, and finds for each one record in the audit log: who, what, decision,
// cause and exact reason, tied to the access log by its id. The reason is there
// and nowhere else, also not in Caddy's own log of events.
func TestEveryDecisionIsOnRecord(t *testing.T) {
	g := start(t)
	erin := g.token(t, "erin@acme", "acme", "mcp.use", "decks.write")
	victor := g.token(t, "victor@acme", "acme", "mcp.use")
	foreign := g.issue(t, issuer.Grant{
		Subject: "erin@globex", Audience: []string{g.URL("acme")}, Scopes: []string{"mcp.use"}, Claims: map[string]any{"org_id": "globex"},
	})
	revoked := g.issue(t, issuer.Grant{
		Subject: "rita@acme", Audience: []string{g.URL("acme")}, Scopes: []string{"mcp.use"}, Claims: map[string]any{"org_id": "acme", "jti": "to-be-revoked"},
	})
	if status := g.ask(t, http.MethodPost, "/mcp_app/revocations", map[string]any{"jti": "to-be-revoked"}, nil); status != http.StatusCreated {
		t.Fatalf("revoking: %d", status)
	}
	none := map[string]any{}
	type got = func() (int, http.Header, string)
	tool := func(token, name string, arguments map[string]any) got {
		return func() (int, http.Header, string) { return g.tool(t, "acme", token, name, arguments, nil) }
	}
	for _, tt := range []struct {
		name   string
		send   got
		status int
		want   map[string]any // in the record
		reason string         // a part of it
	}{
		{
			"allowed", tool(erin, "create_deck", map[string]any{"title": strings.Repeat("T", 100)}), 200,
			map[string]any{"decision": "allow", "rule": "create_deck", "mcp_method": "tools/call", "mcp_name": "create_deck", "era": "modern", "msg": "request allowed"},
			"",
		},
		{
			"a list", func() (int, http.Header, string) { return g.call(t, "acme", erin, "tools/list", "", nil, nil) }, 200,
			map[string]any{"decision": "allow", "mcp_method": "tools/list", "subject": "erin@acme", "tenant": "acme"},
			"",
		},
		{"hidden", tool(victor, "settings.update", none), 0, map[string]any{"decision": "hide", "cause": "scope", "rule": "settings.*", "subject": "victor@acme"}, "missing scope settings.write"},
		{"no rule", tool(victor, "no.such", none), 0, map[string]any{"decision": "hide", "cause": "default", "rule": "default", "mcp_name": "no.such"}, "no rule fits and the default is deny"},
		{"no role", tool(victor, "admin.purge_deck", none), 0, map[string]any{"decision": "hide", "cause": "role", "rule": "admin.*"}, "none of the rule's roles"},
		{"a condition", tool(victor, "workspace.tray", none), 0, map[string]any{"decision": "hide", "cause": "condition", "rule": "workspace.tray"}, `startsWith`},
		{"step up", tool(victor, "create_deck", map[string]any{"title": "x"}), 403, map[string]any{"decision": "challenge", "cause": "scope", "rule": "create_deck"}, "missing scope decks.write"},
		{"a bad token", tool("eyJhbGciOiJub25lIn0.e30.", "list_decks", none), 401, map[string]any{"decision": "refuse", "cause": "token", "subject": nil}, "invalid_token"},
		{"a foreign tenant", tool(foreign, "list_decks", none), 403, map[string]any{"decision": "refuse", "cause": "tenant", "subject": "erin@globex", "issuer": g.Issuer.URL}, `the route stands for "acme"`},
		{"no member", tool(g.token(t, "mallory@acme", "acme", "mcp.use"), "list_decks", none), 403, map[string]any{"decision": "refuse", "cause": "membership", "subject": "mallory@acme", "tenant": "acme"}, "not a member"},
		{"revoked", tool(revoked, "list_decks", none), 401, map[string]any{"decision": "refuse", "cause": "revoked", "subject": "rita@acme"}, "access was taken back"},
		{"no scope at all", tool(g.token(t, "victor@acme", "acme"), "list_decks", none), 403, map[string]any{"decision": "challenge", "cause": "scope"}, "token lacks scope mcp.use"},
		{
			"another tenant's header", func() (int, http.Header, string) {
				return g.tool(t, "acme", victor, "list_decks", none, http.Header{"X-Tenant": {"globex"}})
			}, 403, map[string]any{"decision": "refuse", "cause": "tenant_signal", "mcp_name": "list_decks"}, `header X-Tenant says "globex"`,
		},
		{"bad arguments", tool(erin, "create_deck", map[string]any{"title": 5}), 200, map[string]any{"decision": "refuse", "cause": "arguments", "mcp_name": "create_deck"}, "title"},
		{
			"an unknown host", func() (int, http.Header, string) { return g.tool(t, "hooli", victor, "list_decks", none, nil) },
			403,
			map[string]any{"decision": "refuse", "cause": "route"},
			"stands for no tenant",
		},
		{
			"a foreign origin", func() (int, http.Header, string) {
				return g.tool(t, "acme", victor, "list_decks", none, http.Header{"Origin": {"https://evil.example"}})
			}, 403, map[string]any{"decision": "refuse", "cause": "boundary"}, "evil.example",
		},
		{"rate 1", tool(victor, "workspace.navigate", map[string]any{"url": "/"}), 200, map[string]any{"decision": "allow"}, ""},
		{"rate 2", tool(victor, "workspace.navigate", map[string]any{"url": "/"}), 200, map[string]any{"decision": "allow"}, ""},
		{"too many", tool(victor, "workspace.navigate", map[string]any{"url": "/"}), 429, map[string]any{"decision": "refuse", "cause": "rate_limit", "subject": "victor@acme"}, "rate limit"},
		{
			"injection", func() (int, http.Header, string) {
				return g.legacy(t, "acme", victor, "tools/call", map[string]any{"name": "x\n{\"level\":\"fake\"}\x1b[31m\u202e" + strings.Repeat("y", 10_000), "arguments": none})
			}, 0, map[string]any{"decision": "hide", "era": "legacy", "mcp_name": `x\x0a{"level":"fake"}\x1b[31m\u202e` + strings.Repeat("y", 486) + "…"}, "no rule fits",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(g.lines(t, "audit.log"))
			status, header, body := tt.send()
			if tt.status != 0 && status != tt.status {
				t.Errorf("status %d, want %d: %s", status, tt.status, body)
			}
			record := g.settled(t, before)
			for name, want := range tt.want {
				if record[name] != want {
					t.Errorf("%s is %v, want %v in %v", name, record[name], want, record)
				}
			}
			reason, _ := record["reason"].(string)
			if !strings.Contains(reason, tt.reason) || (tt.reason == "") != (reason == "") {
				t.Errorf("reason %q, want %q", reason, tt.reason)
			}
			for _, name := range []string{"uuid", "remote_ip", "endpoint", "latency", "http_method"} {
				if record[name] == nil || record[name] == "" {
					t.Errorf("no %s in %v", name, record)
				}
			}
			// The answer of validation is for the model; everything else is told to
			// nobody.
			if reason != "" && tt.want["cause"] != "arguments" && strings.Contains(body+fmt.Sprint(header), reason) {
				t.Errorf("the reason %q is in the answer: %s %v", reason, body, header)
			}
			g.checkAccess(t, record)
		})
	}
	g.checkSecrecy(t, erin, victor)
}

// settled waits for the one record behind those that were there before.
func (g *gateway) settled(t *testing.T, before int) map[string]any {
	t.Helper()
	for range 100 {
		if lines := g.lines(t, "audit.log"); len(lines) > before {
			if len(lines) > before+1 {
				t.Errorf("%d records for one request: %v", len(lines)-before, lines[before:])
			}
			return lines[before]
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("nothing is on record")
	return nil
}

// checkAccess: the access log names the same request and the same decision.
func (g *gateway) checkAccess(t *testing.T, record map[string]any) {
	t.Helper()
	var entry map[string]any
	for range 100 {
		lines := g.lines(t, "access.log")
		if i := slices.IndexFunc(lines, func(l map[string]any) bool { return l["uuid"] == record["uuid"] }); i >= 0 {
			entry = lines[i]
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if entry == nil {
		t.Fatalf("no access-log entry with uuid %v", record["uuid"])
	}
	for inAccess, inRecord := range map[string]string{"mcp_method": "mcp_method", "mcp_name": "mcp_name", "mcp_decision": "decision"} {
		if entry[inAccess] != record[inRecord] {
			t.Errorf("access log: %s is %v, on record %v", inAccess, entry[inAccess], record[inRecord])
		}
	}
	// The tenant is logged once the caller is let in.
	if record["mcp_method"] != nil && entry["mcp_tenant"] != record["tenant"] {
		t.Errorf("access log: mcp_tenant is %v, on record %v", entry["mcp_tenant"], record["tenant"])
	}
	if reason, _ := record["reason"].(string); reason != "" && strings.Contains(fmt.Sprint(entry), reason) && !strings.Contains(reason, "evil.example") {
		t.Errorf("the access log holds the reason %q", reason)
	}
}

// checkSecrecy: exact reasons stand in the audit log alone, and tokens nowhere.
func (g *gateway) checkSecrecy(t *testing.T, tokens ...string) {
	t.Helper()
	gatewayLog, err := os.ReadFile(g.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{"missing scope", "not a member", "none of the rule's roles", "no rule fits"} {
		if strings.Contains(string(gatewayLog), reason) {
			t.Errorf("the general log holds %q", reason)
		}
	}
	for _, name := range []string{g.file("audit.log"), g.file("access.log"), g.LogFile} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range tokens {
			if strings.Contains(string(content), token) || strings.Contains(string(content), token[strings.LastIndexByte(token, '.'):]) {
				t.Errorf("%s holds a token", name)
			}
		}
		for _, bad := range []string{"\x1b", "\u202e"} {
			if strings.Contains(string(content), bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
	}
}

// TestArgumentsAreRecordedOnlyIfChosen: one argument of one tool, cut.
func TestArgumentsAreRecordedOnlyIfChosen(t *testing.T) {
	g := start(t)
	erin := g.token(t, "erin@acme", "acme", "mcp.use", "decks.write")
	before := len(g.lines(t, "audit.log"))
	g.tool(t, "acme", erin, "create_deck", map[string]any{"title": strings.Repeat("T", 100), "secret": "hush"}, nil)
	record := g.settled(t, before)
	arguments, _ := record["arguments"].(map[string]any)
	if title, _ := arguments["title"].(string); len(arguments) != 1 || !strings.HasPrefix(title, `"TTT`) || len(title) > 64+len("…") {
		t.Errorf("arguments %v", record["arguments"])
	}
	before = len(g.lines(t, "audit.log"))
	g.tool(t, "acme", erin, "list_decks", map[string]any{"title": "hush"}, nil)
	if record := g.settled(t, before); record["arguments"] != nil {
		t.Errorf("another tool: %v", record["arguments"])
	}
}

// TestAllowedMessagesAreRecordedByConfig: none without an audit block, all with
// `allow all`, refusals always.
func TestAllowedMessagesAreRecordedByConfig(t *testing.T) {
	g := start(t, "allow all", "allow off")
	victor := g.token(t, "victor@acme", "acme", "mcp.use")
	for range 5 {
		g.tool(t, "acme", victor, "list_decks", map[string]any{}, nil)
	}
	before := len(g.lines(t, "audit.log"))
	g.tool(t, "acme", victor, "no.such", map[string]any{}, nil)
	g.settled(t, before)
	for _, line := range g.lines(t, "audit.log") {
		if line["decision"] == "allow" {
			t.Errorf("recorded: %v", line)
		}
	}
}
