package caddymodule

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// provisionLinks checks the links block and makes the opener, if one is asked
// for.
func (m *Handler) provisionLinks() (err error) {
	l := m.Links
	if m.pages, err = links.ParseTenantPath(l.TenantPath, tenantPlaceholder); err != nil {
		return err
	}
	switch {
	case m.pages.Bound() && m.Tenant == nil:
		return errors.New("tenant_path depends on the tenant, but there is no tenant block")
	case !slices.Contains([]string{"", linksCheck, linksDrop, linksPass}, l.Results):
		return errors.New("results must be check, drop or pass")
	case l.Plugin == "" && (l.Results == linksCheck || l.Results == linksDrop):
		return errors.New("results: whose links are checked depends on the plugin; write links { plugin <id> }")
	case l.Open == "" && l.Fallback != "":
		return errors.New("fallback is where links of the opener lead; write open /open beside it")
	case l.Open == "":
		return nil
	}
	c := openerConfig{
		path: l.Open, endpoint: m.Path, plugin: l.Plugin, marketplace: l.Marketplace,
		fallback: l.Fallback, pages: m.pages, titles: make(map[string]string),
	}
	for _, e := range m.OpenAI.Entrypoints {
		if e.Type == "global" {
			c.titles[e.Tool] = e.Title
		}
	}
	if m.Tenant != nil {
		if strings.Contains(m.Tenant.Require, "{") {
			c.placeholder, c.tenants = m.Tenant.Require, m.Tenant.Allow
		}
		c.tenant = func(r *http.Request) (string, bool) {
			bound := m.tenantOf(r)
			return bound.Tenant, !bound.Bound || m.tenancy.Allows(bound.Tenant)
		}
	}
	m.opener, err = newOpener(c)
	return err
}

// declaredGlobal reports whether the operator made a tool a global entrypoint.
func (m *Handler) declaredGlobal(tool string) bool {
	return slices.ContainsFunc(m.OpenAI.Entrypoints, func(e openai.Entrypoint) bool { return e.Tool == tool && e.Type == "global" })
}

// visibleTools is the part of the catalog that the caller is shown, also where a
// call would first ask for more.
type visibleTools struct{ view *view }

// Tool implements openai.Catalog.
func (t visibleTools) Tool(name string) (rawjson.Value, bool) {
	if !t.view.ShowsTool(name) {
		return nil, false
	}
	catalog, err := t.view.catalog()
	if err != nil {
		return nil, false
	}
	return catalog.Tool(name)
}
