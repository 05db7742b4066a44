package caddymodule

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// route is what one tenant's requests are measured by. Endpoints whose resource
// names the tenant have one for each allowed tenant, made at load, so that no
// request can make up another.
type route struct {
	tenant      string // empty unless the resource depends on it
	resource    string
	origin      string // of the resource
	metadataURL string
	audiences   []string
	document    []byte // the RFC 9728 metadata
}

// buildRoutes fills the placeholder of `require` in resource and audiences with
// each allowed tenant.
func (m *Handler) buildRoutes() error {
	tenants := []string{""}
	if m.perTenantResource() {
		if len(m.Tenant.Allow) == 0 {
			return fmt.Errorf("resource or audience depends on %s: list the tenants with tenant { allow … }, so that no Host header can invent one", m.Tenant.Require)
		}
		tenants = m.Tenant.Allow
	}
	for _, tenant := range tenants {
		r, err := m.buildRoute(tenant)
		if err != nil {
			return err
		}
		m.routes = append(m.routes, r)
	}
	return nil
}

func (m *Handler) buildRoute(tenant string) (route, error) {
	fill := func(text string) (string, error) {
		if m.Tenant != nil && tenant != "" {
			text = strings.ReplaceAll(text, m.Tenant.Require, tenant)
		}
		if strings.ContainsAny(text, "{}") {
			return "", fmt.Errorf("%q: the only placeholder allowed here is that of tenant.require", token.RedactURL(text))
		}
		return text, nil
	}
	r := route{tenant: tenant}
	var err error
	if r.resource, err = fill(m.Resource); err != nil {
		return route{}, fmt.Errorf("resource: %w", err)
	}
	for _, audience := range m.Auth.Audiences {
		filled, err := fill(audience)
		if err != nil {
			return route{}, fmt.Errorf("audience: %w", err)
		}
		r.audiences = append(r.audiences, filled)
	}
	if len(r.audiences) == 0 {
		r.audiences = []string{r.resource}
	}
	if r.metadataURL, err = token.MetadataURL(r.resource); err != nil {
		return route{}, fmt.Errorf("resource: %w", err)
	}
	own, err := url.Parse(r.resource)
	if err != nil {
		return route{}, fmt.Errorf("resource: %w", err)
	}
	r.origin = originOf(own)
	document := token.ResourceMetadata{Resource: r.resource, ScopesSupported: m.allScopes()}
	document.AuthorizationServers = m.Auth.allIssuers()
	r.document, err = document.JSON()
	return r, err
}

// allIssuers lists the issuers of keys and of introspections, without repeats.
func (a *Auth) allIssuers() []string {
	var issuers []string
	for _, issuer := range a.Issuers {
		issuers = append(issuers, issuer.Issuer)
	}
	for _, introspection := range a.Introspection {
		if introspection.Issuer != "" && !slices.Contains(issuers, introspection.Issuer) {
			issuers = append(issuers, introspection.Issuer)
		}
	}
	return issuers
}

// perTenantResource reports whether the resource or an audience names the tenant.
func (m *Handler) perTenantResource() bool {
	if m.Tenant == nil || !strings.Contains(m.Tenant.Require, "{") {
		return false
	}
	return slices.ContainsFunc(append([]string{m.Resource}, m.Auth.Audiences...), func(s string) bool {
		return strings.Contains(s, m.Tenant.Require)
	})
}

// allScopes lists every scope that some operation needs, for clients that ask
// for all of them at once.
func (m *Handler) allScopes() []string {
	scopes := slices.Clone(m.Auth.Scopes)
	for _, rule := range m.Policy.Rules {
		for _, scope := range rule.Scopes {
			if !slices.Contains(scopes, scope) {
				scopes = append(scopes, scope)
			}
		}
	}
	return scopes
}

// tenantOf says which tenant the route of a request stands for. Only the
// operator's own template is expanded, and only once.
func (m *Handler) tenantOf(r *http.Request) policy.Route {
	if m.Tenant == nil || m.Tenant.Require == "" {
		return policy.Route{}
	}
	if trusted, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool); fromHeader(m.Tenant.Require) && !trusted {
		return policy.Route{Bound: true}
	}
	return policy.Route{Bound: true, Tenant: replacerOf(r).ReplaceAll(m.Tenant.Require, "")}
}

// fromHeader reports whether a template takes its value from a request header.
func fromHeader(template string) bool { return strings.Contains(template, "{http.request.header.") }

// clientChosen reports whether a template takes its value from something that
// every client writes as it likes, and no proxy in front can be trusted with.
func clientChosen(template string) bool {
	for _, source := range []string{"cookie", "uri", "body", "orig_uri"} {
		if strings.Contains(template, "{http.request."+source) {
			return true
		}
	}
	return false
}

// where is what a request's host, or whatever `require` looks at, says about it.
type where struct {
	route  // empty unless served
	bound  policy.Route
	served bool // false too in mode none, which has no routes
}

// whereOf finds out which route a request is on.
func (m *Handler) whereOf(r *http.Request) where {
	at := where{bound: m.tenantOf(r)}
	if at.bound.Bound && !m.tenancy.Allows(at.bound.Tenant) {
		return at
	}
	for _, candidate := range m.routes {
		if candidate.tenant == "" || candidate.tenant == at.bound.Tenant {
			at.route, at.served = candidate, true
			break
		}
	}
	return at
}
