package caddymodule

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

func init() {
	adminRoutes = append(adminRoutes, caddy.AdminRoute{
		Pattern: "/mcp_app/endpoints", Handler: caddy.AdminHandlerFunc(adminAPI{}.handleEndpoints),
	})
}

// describedEndpoint is what an operator may know about an endpoint at a glance.
// It holds no secret: neither keys nor header values nor credentials.
type describedEndpoint struct {
	Endpoint  string   `json:"endpoint"`
	Resource  string   `json:"resource,omitempty"`
	Server    string   `json:"server,omitempty"` // its name in the HTTP app
	Listen    []string `json:"listen"`
	Hosts     []string `json:"hosts"` // empty for any
	Upstreams []string `json:"upstreams"`
	Mode      string   `json:"mode"`
	Issuers   []string `json:"issuers"`
	Scopes    []string `json:"scopes"`
	// Tenant is left out where no tenants are told apart.
	Tenant       *describedTenant      `json:"tenant,omitempty"`
	Default      string                `json:"default"`
	Rules        int                   `json:"rules"`
	Eras         []string              `json:"eras"`
	Capabilities describedCapabilities `json:"capabilities"`
	Entrypoints  []string              `json:"entrypoints"` // tools that are declared as one
}

type describedTenant struct {
	Claim   string   `json:"claim"`
	Require string   `json:"require,omitempty"`
	Allow   []string `json:"allow"` // empty for all
	Members string   `json:"members"`
}

type describedCapabilities struct {
	SettingsRead   string `json:"settings_read,omitempty"`
	SettingsUpdate string `json:"settings_update,omitempty"`
	MentionsSearch string `json:"mentions_search,omitempty"`
	Navigate       string `json:"navigate,omitempty"`
	Open           string `json:"open,omitempty"`
	Plugin         string `json:"plugin,omitempty"`
}

func (adminAPI) handleEndpoints(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet {
		return methodNotAllowed(w, r, "GET")
	}
	ctx, list := runningEndpoints()
	described := make([]describedEndpoint, 0, len(list))
	for _, m := range list {
		app, _ := httpApp(ctx)
		described = append(described, m.describe(app))
	}
	return writeAdmin(w, http.StatusOK, map[string]any{"endpoints": described})
}

// httpApp returns the HTTP app of a configuration.
func httpApp(ctx caddy.Context) (*caddyhttp.App, bool) {
	loaded, err := ctx.AppIfConfigured("http")
	if err != nil {
		return nil, false
	}
	app, ok := loaded.(*caddyhttp.App)
	return app, ok
}

// describe tells about an endpoint. app may be nil.
func (m *Handler) describe(app *caddyhttp.App) describedEndpoint {
	d := describedEndpoint{
		Endpoint: m.Path, Resource: m.Resource, Upstreams: m.Upstreams, Mode: m.Auth.Mode, Issuers: m.Auth.allIssuers(), Scopes: m.Auth.Scopes,
		Default: policy.Deny, Rules: len(m.Policy.Rules), Eras: []string{"legacy", "modern"},
		Capabilities: describedCapabilities{Navigate: m.Links.Navigate, Open: m.Links.Open, Plugin: m.OpenAI.Plugin},
	}
	if m.Policy.Default != "" {
		d.Default = m.Policy.Default
	}
	if settings := m.OpenAI.Settings; settings != nil {
		d.Capabilities.SettingsRead, d.Capabilities.SettingsUpdate = settings.ReadTool, settings.UpdateTool
	}
	if mentions := m.OpenAI.Mentions; mentions != nil {
		d.Capabilities.MentionsSearch = mentions.SearchTool
	}
	for _, entrypoint := range m.OpenAI.Entrypoints {
		d.Entrypoints = policy.Union(d.Entrypoints, []string{entrypoint.Tool})
	}
	if m.Tenant != nil {
		d.Tenant = &describedTenant{Claim: m.Tenant.Claim, Require: m.Tenant.Require, Allow: m.Tenant.Allow, Members: m.membersSource()}
		orEmpty(&d.Tenant.Allow)
	}
	if app != nil {
		if where, ok := siteOf(app, m); ok {
			d.Server, d.Listen, d.Hosts = where.name, where.server.Listen, where.hosts
		}
	}
	for _, list := range []*[]string{&d.Listen, &d.Hosts, &d.Upstreams, &d.Issuers, &d.Scopes, &d.Entrypoints} {
		orEmpty(list)
	}
	return d
}

// membersSource is the word that names where members are looked up.
func (m *Handler) membersSource() string {
	if module, ok := m.members.(caddy.Module); ok {
		return module.CaddyModule().ID.Name()
	}
	return "claims"
}
