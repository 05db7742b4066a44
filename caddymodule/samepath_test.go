package caddymodule

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// hidingRules hide names in every way there is, by name.
const hidingRules = `policy {
	tool denied {
		deny
	}
	tool tenant {
		tenants globex
	}
	tool role {
		roles admin
	}
	tool scope {
		scopes other
	}
	tool condition {
		when ` + "`claims.level > 3`" + `
	}
	tool annotation {
		annotation readOnlyHint on
	}
	tool shown
	prompt denied {
		deny
	}
	resource ui://denied {
		deny
	}
	resource deck://denied {
		deny
	}
	template deck://{denied} {
		deny
	}
}
`

// Under default deny a name that is hidden and one that does not exist make the
// server do the same work, question by question: nothing but chance is left in
// the time of the answer. Caches are cold each time.
func TestHiddenAndUnknownNamesTakeTheSamePath(t *testing.T) {
	tests := []struct{ method, params, name string }{
		{"tools/call", `"name":"NAME","arguments":{"a":1}`, "norule"},
		{"tools/call", `"name":"NAME","arguments":{"a":1}`, "denied"},
		{"tools/call", `"name":"NAME","arguments":{"a":1}`, "tenant"},
		{"tools/call", `"name":"NAME","arguments":{"a":1}`, "role"},
		{"tools/call", `"name":"NAME","arguments":{"a":1}`, "scope"},
		{"tools/call", `"name":"NAME","arguments":{"a":1}`, "condition"},
		{"tools/call", `"name":"NAME","arguments":{"a":1}`, "annotation"},
		{"prompts/get", `"name":"NAME"`, "denied"},
		{"prompts/get", `"name":"NAME"`, "norule"},
		{"resources/read", `"uri":"NAME"`, "ui://denied"},
		{"resources/read", `"uri":"NAME"`, "ui://norule"},
		{"resources/read", `"uri":"NAME"`, "deck://denied"},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"NAME"},"argument":{"name":"a","value":""}`, "deck://{denied}"},
	}
	for _, tt := range tests {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s, modern %v", tt.method, tt.name, modern), func(t *testing.T) {
				unknown := tt.name[:len(tt.name)-3] + "xyz" // as long
				hidden, wanted := pathOf(t, modern, tt.method, tt.params, tt.name), pathOf(t, modern, tt.method, tt.params, unknown)
				if got, want := strings.Join(hidden, "\n"), strings.Join(wanted, "\n"); got != want || len(hidden) == 0 {
					t.Errorf("the hidden name makes the server see\n%s\nan unknown one\n%s", got, want)
				}
			})
		}
	}
}

// pathOf returns what the server sees on behalf of one message.
func pathOf(t *testing.T, modern bool, method, params, name string) (path []string) {
	t.Helper()
	s := &worldServer{pageSize: 9, plain: true}
	for _, name := range []string{"norule", "denied", "tenant", "role", "scope", "condition", "annotation", "shown"} {
		s.tools = append(s.tools, worldTool{name: name, input: plainInput})
	}
	s.prompts, s.resources, s.template = []string{"denied", "norule"}, []string{"ui://denied", "ui://norule", "deck://denied"}, []string{"deck://{denied}"}
	s.watch = func(r *http.Request, body []byte) {
		path = append(path, fmt.Sprintf("%s %d bytes, headers %q", r.Method, len(body), slices.Sorted(maps.Keys(r.Header))))
	}
	m := mustLoad(t, strictAuth+"tenant {\nclaim org\n}\n"+hidingRules)
	p := &policy.Principal{Issuer: "https://id.example", Subject: "ann", Tenant: "acme", Claims: map[string]any{"level": int64(1)}}
	if err := m.state.check(t.Context(), p); err != nil { // waits until revocations are known
		t.Fatal(err)
	}
	w := &messageWorld{worldServer: s, module: m, principal: p, modern: modern}
	if _, messages, err := w.send(method, strings.ReplaceAll(params, "NAME", name)); err != nil || !messages[0].Get("error").Exists() {
		t.Fatalf("%s is answered with %s, %v; the server has seen %q", name, messages, err, path)
	}
	return path
}
