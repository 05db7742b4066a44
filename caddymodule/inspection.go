package caddymodule

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// errUsage is wrapped by errors about what was asked, not about the answer.
var errUsage = errors.New("cannot be asked")

// inspection finds out what one principal sees at an endpoint. It walks the
// handlers of the site as a request of that principal would, up to the point
// where a message would be read, and then asks the server for its lists. Nothing
// but lists is asked for, and nothing is answered to anybody.
type inspection struct {
	inspectionInput

	reached bool
	refused *auditRecord // why the principal is not let in
	// mismatch is set if the token is signed well and says something else.
	mismatch *token.Mismatch
	status   int       // that a client of a refused principal would get
	e        *exchange // of a principal that is let in
	lists    *inventory
	failure  error // why there are no lists
}

// inspectionInput says about whom and where.
type inspectionInput struct {
	// Token is an access token. Empty asks for a caller without one.
	Token string
	// Claims, a JSON object, stand in for a token that nobody has signed.
	Claims []byte
	// Tenant chooses the route of one tenant, Host the host to ask at. Default:
	// the route of the tenant that the token or the claims name.
	Tenant, Host string
	// Refresh asks the server anew.
	Refresh bool

	// build makes something of the inspection while its request still lives. It
	// is called for a principal that is let in.
	build func(*inspection)
}

type inspectionKey struct{}

// inspectionOf returns the inspection that a request is made for, nil for
// requests of clients, who cannot reach into a context.
func inspectionOf(r *http.Request) *inspection {
	in, _ := r.Context().Value(inspectionKey{}).(*inspection)
	return in
}

// inspect looks at the endpoint as one principal. app is the HTTP app of the
// endpoint's configuration, which need not be running. Errors wrap errUsage; a
// principal that is refused, and a server that does not answer, are results.
func (m *Handler) inspect(ctx context.Context, app *caddyhttp.App, input inspectionInput) (*inspection, error) {
	in := &inspection{inspectionInput: input}
	if len(input.Claims) > 0 && !m.authenticates() {
		return nil, fmt.Errorf("%w: the endpoint has auth { mode none }, nobody has claims there", errUsage)
	}
	where, found := siteOf(app, m)
	r, err := m.inspectionRequest(context.WithValue(ctx, inspectionKey{}, in), in, where)
	if err != nil {
		return nil, err
	}
	w := &inspectionWriter{header: make(http.Header)}
	if found {
		// Handlers in front see a request without credentials: it might be meant
		// for another site.
		where.server.ServeHTTP(w, r)
	}
	if !in.reached && m.proxy != nil {
		repl := caddy.NewReplacer()
		nobody := caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil })
		in.serve(m, caddyhttp.PrepareRequest(r, repl, w, where.server), nobody)
	}
	if !in.reached {
		return nil, fmt.Errorf("%w: the site answered %d to a request for %s%s before it came to mcp_app; say with which host the endpoint is reached", errUsage, w.status, r.Host, m.Path)
	}
	return in, nil
}

// inspectionRequest makes a request for the endpoint's public address.
func (m *Handler) inspectionRequest(ctx context.Context, in *inspection, where site) (*http.Request, error) {
	address := m.inspectionAddress(in, where)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	r.URL.Scheme, r.URL.Host = "", "" // as a server sees it
	if address.Scheme == "https" {
		r.TLS = &tls.ConnectionState{ServerName: address.Hostname(), HandshakeComplete: true, Version: tls.VersionTLS13}
	}
	return r, nil
}

// inspectionAddress finds out under which name the principal would call.
func (m *Handler) inspectionAddress(in *inspection, where site) *url.URL {
	address := &url.URL{Scheme: "http", Host: "localhost", Path: m.Path}
	if resource, err := url.Parse(m.routeResource(in)); err == nil && resource.Host != "" {
		address.Scheme, address.Host = resource.Scheme, resource.Host
	} else if len(where.hosts) > 0 {
		// Of a wildcard any name will do.
		address.Host = strings.ReplaceAll(where.hosts[0], "*", "any")
	}
	if in.Host != "" {
		address.Host = in.Host
	}
	return address
}

// routeResource is the resource of the tenant that is asked about.
func (m *Handler) routeResource(in *inspection) string {
	if len(m.routes) == 0 {
		return m.Resource
	}
	tenant := in.Tenant
	if tenant == "" {
		tenant = m.claimedTenant(in)
	}
	for _, route := range m.routes {
		if route.tenant == tenant {
			return route.resource
		}
	}
	return m.routes[0].resource
}

// claimedTenant reads the tenant out of a token that nobody has verified yet. It
// chooses the address to ask at, where the token is then verified.
func (m *Handler) claimedTenant(in *inspection) string {
	claims, err := m.givenClaims(in)
	if err != nil {
		return ""
	}
	claim, _ := claims.Lookup(m.tenancy.Claim)
	for _, route := range m.routes {
		if name, err := m.tenancy.Resolve(claim, policy.Route{Bound: true, Tenant: route.tenant}); err == nil {
			return name
		}
	}
	return ""
}

func (m *Handler) givenClaims(in *inspection) (*token.Claims, error) {
	issuer := ""
	if issuers := m.Auth.allIssuers(); len(issuers) > 0 {
		issuer = issuers[0]
	}
	payload := in.Claims
	if len(payload) == 0 {
		payload = token.UnverifiedPayload(in.Token)
	}
	return token.GivenClaims(payload, issuer)
}

// serve runs inside the site's handlers, in the place of a request of a client.
func (in *inspection) serve(m *Handler, r *http.Request, next caddyhttp.Handler) {
	in.reached = true
	caddyhttp.SetVar(r.Context(), caddyhttp.LogSkipVar, true)
	t := &trail{heard: func(rec auditRecord) { in.refused = &rec }}
	r = withTrail(r, t)
	w := &inspectionWriter{header: make(http.Header)}
	defer func() { in.status = w.status }()
	m.identity.strip(r)
	in.setTenant(m, r)
	if in.Token != "" {
		r.Header.Set("Authorization", "Bearer "+in.Token)
	}
	at := m.whereOf(r)
	principal := in.authenticate(m, w, r, at)
	if principal == nil {
		return
	}
	e := m.newExchange(r, next, at.route, principal)
	e.prepareHeaders()
	if e.exchangeToken(w, in.Token) {
		in.refused = &auditRecord{Decision: decisionRefuse, Cause: causeUnavailable, Reason: "no token for the server could be had; the log says why"}
		return
	}
	e.bindAffinity()
	in.e = e
	in.ask()
	if in.build != nil {
		in.build(in)
	}
}

// setTenant gives a route by header the header that a trusted proxy would set.
func (in *inspection) setTenant(m *Handler, r *http.Request) {
	if m.Tenant == nil || in.Tenant == "" {
		return
	}
	name, ok := strings.CutPrefix(m.Tenant.Require, "{http.request.header.")
	if name, closed := strings.CutSuffix(name, "}"); ok && closed {
		r.Header.Set(name, in.Tenant)
		caddyhttp.SetVar(r.Context(), caddyhttp.TrustedProxyVarKey, true)
	}
}

// authenticate is [Handler.authenticate], for given claims without the token.
func (in *inspection) authenticate(m *Handler, w http.ResponseWriter, r *http.Request, at where) *policy.Principal {
	if len(in.Claims) == 0 {
		return m.authenticate(w, r, at)
	}
	if !at.served {
		m.deny(r, causeRoute, "route stands for no tenant that is served")
		m.forbid(w, r)
		return nil
	}
	claims, err := m.givenClaims(in)
	if err != nil {
		m.challenge(w, r, at.route, err)
		return nil
	}
	return m.accept(w, r, at, claims)
}

// ask reads the server's lists. What the principal sees of them is decided from
// them afresh each time.
func (in *inspection) ask() {
	e := in.e
	e.message = &mcp.Request{Era: mcp.Modern, Method: "tools/list", Version: mcp.FirstModernVersion}
	q := e.questions()
	as := q.catalogKey(e.principal, e.message)
	key := flight.KeyOf([]string{string(as[:]), in.by()})
	if in.Refresh {
		e.inventories.Forget(key)
	}
	in.lists, in.failure = e.inventories.Get(e.r.Context(), key, func(ctx context.Context) (*inventory, error) {
		return q.inventory(ctx, e.limits.tools)
	})
	if in.failure == nil {
		e.message.Era, e.message.Version = in.lists.Era, in.lists.Version
	}
	if in.failure != nil {
		e.view.know(nil, in.failure)
		return
	}
	e.view.know(in.lists.tools, nil)
}

// inspectionWriter takes an answer that nobody gets, and keeps its status.
type inspectionWriter struct {
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (w *inspectionWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *inspectionWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *inspectionWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return len(p), nil
}

// SetReadDeadline and SetWriteDeadline are what Caddy's server sets for each
// connection. There is none.
func (w *inspectionWriter) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (w *inspectionWriter) SetWriteDeadline(time.Time) error { return nil }
