package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What a server says of the logins of its tools, in both places, and wrongly.
const claimed = `{"name":"free","inputSchema":{},"securitySchemes":[{"type":"noauth"}],"_meta":{"securitySchemes":[{"type":"noauth"}]}},
	{"name":"closed","inputSchema":{},"securitySchemes":[{"type":"oauth2","scopes":["theirs"]}],"_meta":{"securitySchemes":[{"type":"oauth2","scopes":["theirs"]}],"kept":1}},
	{"name":"silent","inputSchema":{}}`

// A host that reads a scheme acts on it: what the server says never contradicts
// who is let in here.
func TestSecuritySchemesFollowTheMode(t *testing.T) {
	const rules = "policy {\ntool free\ntool silent\ntool closed {\nscopes decks.write\non_missing_scope challenge\n}\n}\n"
	strict := map[string]string{
		"free": `[{"type":"oauth2","scopes":["mcp.use"]}]`, "silent": `[{"type":"oauth2","scopes":["mcp.use"]}]`,
		"closed": `[{"type":"oauth2","scopes":["mcp.use","decks.write"]}]`,
	}
	mixed := map[string]string{
		"free":   `[{"type":"noauth"},{"type":"oauth2","scopes":["mcp.use"]}]`,
		"silent": `[{"type":"noauth"},{"type":"oauth2","scopes":["mcp.use"]}]`, "closed": strict["closed"],
	}
	const none = `[{"type":"noauth"}]`
	local := "resource http://acme.localhost:{$GATEWAY_PORT}/mcp\n"
	for name, tt := range map[string]struct {
		body string
		want map[string]string
	}{
		"strict": {endpoint(rules), strict},
		"mixed":  {"mcp_app /mcp {$WORKSPACE} {\n" + local + strings.Replace(auth, "auth {", "auth {\nmode mixed", 1) + rules + "}\n", mixed},
		"none":   {"mcp_app /mcp {$WORKSPACE} {\n" + local + "auth {\n\tmode none\n}\n" + allTools + "}\n", map[string]string{"free": none, "silent": none, "closed": none}},
	} {
		t.Run(name, func(t *testing.T) {
			g := startBefore(t, cataloged(func(string) string { return claimed }), tt.body)
			for _, era := range eras {
				c := g.nobody()
				if name == "strict" {
					c = g.bearer(t, editor("acme"))
				}
				c.era = era
				c.open(t)
				list, found := c.call(t, "tools/list", "", nil), 0
				for tool := range list.message.Get("result", "tools").Elements() {
					called, _ := tool.Get("name").Text()
					found++
					for place, got := range map[string]string{"the tool": string(tool.Get("securitySchemes")), "_meta": string(tool.Get("_meta", "securitySchemes"))} {
						if got != tt.want[called] && !(name == "none" && got == "") {
							t.Errorf("%s: %s in %s: %s, want %s", era, called, place, got, tt.want[called])
						}
					}
					if called == "closed" && string(tool.Get("_meta", "kept")) != "1" {
						t.Errorf("%s: the rest of _meta is gone: %s", era, tool)
					}
				}
				if found != 3 || strings.Contains(string(list.body), "theirs") {
					t.Errorf("%s: %d tools: %s", era, found, list)
				}
				if name == "none" && strings.Contains(string(list.body), "oauth2") {
					t.Errorf("%s: a login is claimed that nobody asks for: %s", era, list)
				}
			}
		})
	}
}

// Without logins there are no documents about them, whatever the server has:
// clients that probe find nothing, in JSON. Documents of neighbours are the
// site's own.
func TestWithoutAuthenticationThereAreNoDocuments(t *testing.T) {
	server := record(answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json"}, `{"resource":"https://theirs.example"}`))
	const address = "http://127.0.0.1:{$GATEWAY_PORT}"
	g := start(t, stackWith(siteAt(address, "mcp_app /mcp {$WORKSPACE} {\nauth {\n\tmode none\n}\n"+allTools+"}\nrespond \"the site's own\" 200\n"), server))
	base := fmt.Sprintf("http://127.0.0.1:%d", g.Port)
	c := g.nobody()
	for _, path := range []string{wellKnown, wellKnown + "/mcp"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			a := c.send(t, method, base+path, "", nil)
			wantStatus(t, method+" "+path, a, http.StatusNotFound)
			if a.framing != "application/json" || method == http.MethodGet && !a.message.Exists() || strings.Contains(string(a.body), "theirs") {
				t.Errorf("%s %s: %s", method, path, a)
			}
		}
	}
	for _, path := range []string{wellKnown + "/other", wellKnown + "/mcp/more", "/.well-known/openid-configuration"} {
		if a := c.send(t, http.MethodGet, base+path, "", nil); a.status != http.StatusOK || string(a.body) != "the site's own" {
			t.Errorf("%s: %s", path, a)
		}
	}
	if got := server.seen(); len(got) != 0 {
		t.Errorf("the server saw %v", got)
	}
}

// A token may be too old long before it ends.
func TestATokenMayBeTooOld(t *testing.T) {
	g := startBefore(t, pong(), strings.Replace(endpoint(allTools), "scopes mcp.use", "max_token_age 10m\nscopes mcp.use", 1))
	for name, tt := range map[string]struct {
		issued any
		status int
	}{
		"young":                {time.Now().Add(-9 * time.Minute).Unix(), http.StatusOK},
		"old":                  {time.Now().Add(-11 * time.Minute).Unix(), http.StatusUnauthorized},
		"of an age not said":   {nil, http.StatusUnauthorized},
		"issued in the future": {time.Now().Add(5 * time.Minute).Unix(), http.StatusUnauthorized},
	} {
		grant := g.grant(viewer("acme"))
		grant.Claims["iat"] = tt.issued
		c := g.nobody()
		wantStatus(t, name, c.post(t, pingMessage, http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}}), tt.status)
	}
}
