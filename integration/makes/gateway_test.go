package makes

import (
	"cmp"
	"fmt"
	"net/http"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

// maker is one make of server, with what its operator writes.
type maker struct {
	name   string
	server func(asJSON bool) http.Handler // nil for the workspace server
	lines  string                         // of the mcp_app block
	page   string                         // a page to read
	set    string                         // a change of settings
	search string                         // tool of mentions, if it has one
}

// cadPolicy lets everybody open the library, members read the settings and
// search, editors change the settings, and admins start over.
const cadPolicy = `policy {
	tool cad.library
	tool search_mentions {
		scopes mcp.use
	}
	tool settings.read {
		scopes mcp.use
	}
	tool settings.update {
		scopes settings.write
	}
	tool cad.reset {
		when ` + "`\"admin\" in claims.roles`" + `
	}
}
`

var makes = []maker{
	{
		name: "workspace",
		lines: `policy {
	tool workspace.* {
		anonymous
	}
	tool list_decks {
		scopes mcp.use
	}
	tool settings.read {
		scopes mcp.use
	}
	tool settings.update {
		scopes settings.write
	}
}
openai {
	entrypoint workspace.home global {
		title "Decks & boards"
		icon https://cdn.example/home.svg image/svg+xml
		quick_action workspace.tray "Recent decks" https://cdn.example/tray.svg
	}
	entrypoint workspace.tray thread
	display ui://workspace/* inline fullscreen {
		prefer fullscreen
	}
	settings settings.read settings.update
	csp ui://workspace/* {
		connect https://api.example.com
		redirect https://shop.example.com
	}
	page ui://workspace/tray {
		domain https://decks.example.com
		host_domain claude 1b2c.claudemcpcontent.com
		border on
		description "The decks made last."
	}
	tool workspace.home {
		invoking "Opening your decks"
		invoked "Your decks"
	}
}
`,
		page: "ui://workspace/tray", set: `{"set":{"theme":"dark"}}`,
	},
	{
		// The operator declares nothing: what the server says itself is held to
		// the caller's catalog, and mirrored.
		name: "typescript", server: typescript,
		lines: cadPolicy + `openai {
	mirror on
}
`,
		page: "ui://bits-and-bolts/library", set: `{"set":{"units":"in"}}`, search: "search_mentions",
	},
	{
		name: "python", server: python,
		lines: cadPolicy + `openai {
	entrypoint cad.library global {
		title "Part library"
	}
	settings settings.read settings.update
	mentions search_mentions {
		bind_handles cad://*
	}
	repair mime schemas
	tool settings.read {
		destructive off
		open_world off
	}
	tool settings.update {
		destructive on
		open_world off
	}
}
`,
		page: "ui://bits-and-bolts/library", set: `{"set":{"showGrid":false}}`, search: "search_mentions",
	},
}

// gateway is a running one.
type gateway struct {
	*stack.Stack
	client *http.Client
	url    string
}

// start runs the gateway before a server until the test ends. Caddy is one per
// process, so tests of this package never run in parallel.
func start(t *testing.T, lines string, c stack.Config) *gateway {
	t.Helper()
	c.Caddyfile = []byte(`{
	admin off
	auto_https off
	persist_config off
	grace_period 1s
	log {
		output {$GATEWAY_LOG}
		level INFO
	}
}

http://localhost:{$GATEWAY_PORT} {
	bind 127.0.0.1
	mcp_app /mcp {$WORKSPACE} {
		resource http://localhost:{$GATEWAY_PORT}/mcp
		auth {
			mode mixed
			issuer {$ISSUER} {
				jwks_url {$ISSUER}/keys
			}
			scopes mcp.use
		}
		tenant {
			claim org_id
			allow acme
		}
		` + lines + `
	}
}
`)
	s, err := stack.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	transport := s.Transport()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Errorf("closing the stack: %v", err)
		}
	})
	return &gateway{s, &http.Client{Transport: transport}, fmt.Sprintf("http://localhost:%d/mcp", s.Port)}
}

// before starts the gateway before a server of this make.
func (m maker) before(t *testing.T, asJSON bool) *gateway {
	t.Helper()
	c := stack.Config{Workspace: workspace.Config{JSON: asJSON, PageSize: 1}}
	if m.server != nil {
		c.Upstream = m.server(asJSON)
	}
	return start(t, m.lines, c)
}

// person is a caller, the zero value one without a token.
type person struct {
	name   string
	scopes []string
	roles  []string
}

// callers are those whose answers are kept.
var callers = []person{
	{name: "editor", scopes: []string{"mcp.use", "settings.write"}, roles: []string{"admin"}},
	{name: "viewer", scopes: []string{"mcp.use"}},
	{},
}

func (p person) String() string { return cmp.Or(p.name, "anonymous") }

// authorization is what a person sends, as a subject of its own in each era:
// settings belong to subjects, and one era must not see what the other changed.
func (g *gateway) authorization(t *testing.T, p person, era string) http.Header {
	t.Helper()
	if p.name == "" {
		return http.Header{}
	}
	token, err := g.Issuer.Issue(issuer.Grant{
		Subject: p.name + "@" + era, Audience: []string{g.url}, Scopes: p.scopes, Claims: map[string]any{"org_id": "acme", "roles": p.roles},
	})
	if err != nil {
		t.Fatal(err)
	}
	return http.Header{"Authorization": {"Bearer " + token}}
}
