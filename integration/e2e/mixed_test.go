package e2e

import (
	"net/http"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// mixedSite is an endpoint where callers without a token find something to do.
const mixedSite = `mcp_app /mcp {$WORKSPACE} {
	resource http://acme.localhost:{$GATEWAY_PORT}/mcp
	auth {
		mode mixed
		issuer {$ISSUER} {
			jwks_url {$ISSUER}/keys
			algorithms ES256
		}
		scopes mcp.use
	}
	policy {
		roles_claim roles
		tool open
		tool closed {
			scopes decks.write
		}
		tool secret {
			roles admin
		}
		resource doc:closed {
			scopes decks.write
		}
	}
}
`

// startMixed runs it before a server that serves its tools to everybody.
func startMixed(t *testing.T) (*gateway, *recorder) {
	t.Helper()
	tools := []*mcp.Tool{
		{Name: "open", InputSchema: schema(`{"type":"object"}`)},
		{Name: "closed", InputSchema: schema(`{"type":"object"}`)},
		{Name: "secret", InputSchema: schema(`{"type":"object"}`)},
	}
	server := record(serveTools(func(*http.Request) []*mcp.Tool { return tools }))
	return startBefore(t, server, mixedSite), server
}

// anonymous begins without a token.
func (g *gateway) anonymous(t *testing.T, era string) *caller {
	t.Helper()
	c := g.nobody()
	c.era = era
	c.open(t)
	return c
}

// toolCalls lists the names of tools that were called at the server.
func (rec *recorder) toolCalls() int {
	calls := 0
	for _, seen := range rec.seen() {
		if seen.rpc == "tools/call" {
			calls++
		}
	}
	return calls
}

func TestCallersWithoutATokenFindWhatIsOpen(t *testing.T) {
	g, server := startMixed(t)
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			c := g.anonymous(t, era)
			list := c.call(t, "tools/list", "", nil)
			if got := list.names("tools", "name"); !slices.Equal(got, []string{"closed", "open"}) {
				t.Errorf("tools %q, want those that are open or only need a login", got)
			}
			want := map[string]string{
				"open":   `[{"type":"noauth"},{"type":"oauth2","scopes":["mcp.use"]}]`,
				"closed": `[{"type":"oauth2","scopes":["mcp.use","decks.write"]}]`,
			}
			for tool := range list.message.Get("result", "tools").Elements() {
				name, _ := tool.Get("name").Text()
				for place, schemes := range map[string]string{"the tool": string(tool.Get("securitySchemes")), "_meta": string(tool.Get("_meta", "securitySchemes"))} {
					if schemes != want[name] {
						t.Errorf("securitySchemes of %s in %s: %s, want %s", name, place, schemes, want[name])
					}
				}
			}
			if a := c.tool(t, "open", map[string]any{}); a.status != http.StatusOK || !a.message.Get("result").Exists() || string(a.message.Get("result", "isError")) == "true" {
				t.Errorf("an open tool: %s", a)
			}
			sameAsUnknown(t, c.tool(t, "secret", map[string]any{}), c.tool(t, "no.such_tool", map[string]any{}), "secret", "no.such_tool")
			for _, seen := range server.seen() {
				if got := identityOf(seen.header); len(got) != 0 {
					t.Errorf("%s: the server is told %v of a caller without a token", seen, got)
				}
			}
		})
	}
}

// ChatGPT shows its login beside the tool only if a result, not an HTTP error,
// carries the challenge.
func TestAToolThatNeedsALoginSaysSoInItsResult(t *testing.T) {
	g, server := startMixed(t)
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			c := g.anonymous(t, era)
			before := server.toolCalls()
			a := c.tool(t, "closed", map[string]any{})
			wantStatus(t, "closed", a, http.StatusOK)
			result := a.message.Get("result")
			if string(result.Get("isError")) != "true" || string(a.message.Get("id")) != "7" {
				t.Errorf("the result is %s", a)
			}
			var values []string
			for value := range result.Get("_meta", "mcp/www_authenticate").Elements() {
				text, _ := value.Text()
				values = append(values, text)
			}
			challenges, err := oauthex.ParseWWWAuthenticate(values)
			if err != nil || len(challenges) != 1 {
				t.Fatalf("challenges %q: %v", values, err)
			}
			params := challenges[0].Params
			if params["resource_metadata"] != g.document("acme", "/mcp") || params["scope"] != "mcp.use decks.write" ||
				params["error"] == "" || params["error_description"] == "" {
				t.Errorf("challenge %v", params)
			}
			if got := a.header.Get("WWW-Authenticate"); got != "" {
				t.Errorf("and the answer as a whole says %q", got)
			}
			if got := server.toolCalls(); got != before {
				t.Errorf("%d calls reached the server", got-before)
			}
			read := c.read(t, "doc:closed") // no tool: the challenge of HTTP
			wantStatus(t, "a resource", read, http.StatusUnauthorized)
			if params := challengeOf(t, read); params["resource_metadata"] == "" || params["scope"] != "mcp.use decks.write" {
				t.Errorf("a resource: challenge %v", params)
			}
			if era == modern && string(read.message.Get("id")) != "7" {
				t.Errorf("a resource: no JSON-RPC error with the id: %s", read)
			}
		})
	}
}

// Who shows a token wants to be known by it.
func TestABadTokenIsRefusedInMixedModeToo(t *testing.T) {
	g, server := startMixed(t)
	for _, era := range eras {
		c := g.anonymous(t, era)
		server.forget()
		for name, grant := range badTokens(g) {
			header := http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}}
			body, mirrored := c.message(t, "tools/call", "open", map[string]any{"name": "open", "arguments": map[string]any{}})
			for key, values := range mirrored {
				header[key] = values
			}
			a := c.post(t, body, header)
			wantStatus(t, era+", "+name, a, http.StatusUnauthorized)
			if params := challengeOf(t, a); params["error"] != "invalid_token" || params["resource_metadata"] == "" {
				t.Errorf("%s, %s: challenge %v", era, name, params)
			}
		}
		for name, values := range map[string][]string{"empty": {""}, "another scheme": {"Basic dTpw"}} {
			a := c.post(t, pingBody, http.Header{"Authorization": values})
			wantStatus(t, era+", "+name, a, http.StatusUnauthorized)
			challengeOf(t, a)
		}
		if got := server.seen(); len(got) != 0 {
			t.Errorf("%s: %d requests reached the server", era, len(got))
		}
	}
}

// A session begun by nobody is nobody's: with a token it is not found, so that
// the client begins anew as somebody.
func TestAnAnonymousSessionIsNotFoundWithAToken(t *testing.T) {
	g, _ := startMixed(t)
	c := g.anonymous(t, legacy)
	token := http.Header{"Authorization": {"Bearer " + g.token(t, editor("acme"))}}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		wantStatus(t, method, c.send(t, method, c.url, pingBody, token), http.StatusNotFound)
	}
	if got := c.call(t, "tools/list", "", nil).names("tools", "name"); len(got) != 2 {
		t.Errorf("without the token afterwards: %q", got)
	}
	mine := g.caller(t, legacy, editor("acme"))
	wantStatus(t, "the other way round", mine.post(t, pingBody, http.Header{"Authorization": nil}), http.StatusNotFound)
}

func TestAfterTheLoginTheToolWorks(t *testing.T) {
	g, _ := startMixed(t)
	for _, era := range eras {
		c := g.caller(t, era, editor("acme"))
		if a := c.tool(t, "closed", map[string]any{}); !a.message.Get("result").Exists() || string(a.message.Get("result", "isError")) == "true" {
			t.Errorf("%s: %s", era, a)
		}
	}
}
