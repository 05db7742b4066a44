package caddymodule

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
)

// tenantPlaceholder is the one placeholder that links { tenant_path } may hold.
const tenantPlaceholder = "{http.mcp_app.tenant}"

// openerConfig is what an opener is made of.
type openerConfig struct {
	path        string            // where it answers, such as /open
	endpoint    string            // path of the endpoint beside it
	plugin      string            // plugin id
	marketplace string            // empty for a published plugin
	titles      map[string]string // by name of the tools with a global entrypoint; a title may be empty
	fallback    string            // may hold the placeholder; empty for none
	pages       links.TenantPath  // pages of a tenant; zero for all
	placeholder string            // of tenant.require; empty if that is a literal or not there
	tenants     []string          // what may stand in its place

	// tenant says which tenant a request's route stands for: empty where only a
	// token could tell, and false where it stands for none that is served. Nil
	// means that there are no tenants.
	tenant func(r *http.Request) (name string, served bool)
}

var (
	// openPath is a path that no server spells in two ways.
	openPath = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

	// plainTenant means nothing more in a URL, wherever it stands.
	plainTenant = regexp.MustCompile(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$`)
)

// newOpener checks the configuration and says what to write instead of a mistake.
func newOpener(c openerConfig) (*opener, error) {
	switch {
	case c.plugin == "":
		return nil, errors.New("open: a link names the plugin; write links { plugin <id> }")
	case !openPath.MatchString(c.path):
		return nil, fmt.Errorf("open: %q must be a plain path without a final slash, such as /open", c.path)
	case samePath(&url.URL{Path: c.endpoint}, c.path) || under(c.endpoint, c.path):
		return nil, fmt.Errorf("open: %s is where the endpoint %s is; write another path, such as /open", c.path, c.endpoint)
	case len(c.titles) == 0:
		return nil, errors.New("open: only a global entrypoint can be opened, and none is declared; write openai { entrypoint <tool> global }")
	}
	o := &opener{prefix: c.path + "/", titles: c.titles, plugin: c.plugin, pages: c.pages, tenant: c.tenant, ways: make(map[string]links.Opener)}
	fallbacks := map[string]string{"": c.fallback}
	if o.perTenant = c.placeholder != "" && strings.Contains(c.fallback, c.placeholder); o.perTenant {
		if len(c.tenants) == 0 {
			return nil, fmt.Errorf("fallback depends on %s: list the tenants with tenant { allow … }, so that no Host header can invent one", c.placeholder)
		}
		fallbacks = make(map[string]string, len(c.tenants))
		for _, tenant := range c.tenants {
			if !plainTenant.MatchString(tenant) {
				return nil, fmt.Errorf("fallback depends on the tenant, and %q is not plain enough for a URL; write a fallback without %s", tenant, c.placeholder)
			}
			fallbacks[tenant] = strings.ReplaceAll(c.fallback, c.placeholder, tenant)
		}
	}
	for tenant, fallback := range fallbacks {
		way := links.Opener{PluginID: c.plugin, Marketplace: c.marketplace}
		if fallback != "" {
			var err error
			if way.Fallback, err = links.ParseFallback(fallback); err != nil {
				return nil, fmt.Errorf("fallback %q: %w", fallback, err)
			}
		}
		o.ways[tenant] = way
	}
	return o, o.checkNames()
}

// checkNames refuses names of which no link can be made, at load and not when
// somebody has clicked.
func (o *opener) checkNames() error {
	for _, way := range o.ways {
		for _, tool := range slices.Sorted(maps.Keys(o.titles)) {
			if _, err := way.Choices(tool, "/"); err != nil {
				return fmt.Errorf("no link can be made for the plugin %q and the tool %q: %w", o.plugin, tool, err)
			}
		}
	}
	return nil
}

// under reports whether some server would find path below base.
func under(path, base string) bool {
	path, settled := settle(path)
	base, _ = settle(base)
	return !settled || strings.HasPrefix(path, strings.TrimSuffix(base, "/")+"/")
}
