package caddymodule

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/lru"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/arguments"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/membership"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/ratelimit"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

func init() { caddy.RegisterModule(new(Handler)) }

// Handler protects one MCP endpoint and adds what ChatGPT needs to it. It
// answers for the endpoint's path and its OAuth metadata documents; every other
// request goes on to the next handler untouched.
//
// It sets these placeholders, from verified token claims only; they are empty
// for callers without a token in mode mixed:
//
// Placeholder | Description
// ------------|------------
// `{http.auth.user.id}` | The subject of the token
// `{http.auth.user.issuer}` | The issuer of the token
// `{http.auth.user.tenant}` | The tenant the caller acts for
// `{http.auth.user.client_id}` | The OAuth client that acts for the subject
// `{http.mcp_app.issuer}` | The issuer of the token
// `{http.mcp_app.subject}` | The subject of the token
// `{http.mcp_app.tenant}` | The tenant the caller acts for
// `{http.mcp_app.method}` | The JSON-RPC method
// `{http.mcp_app.era}` | `legacy` or `modern`
type Handler struct {
	// Path of the endpoint, beginning with a slash. Other spellings of it
	// (//mcp, /MCP, /mcp/, /%6dcp, /mcp;x) are served as the endpoint, so that
	// none of them reaches the next handler unchecked.
	Path string `json:"path"`

	// Upstreams are addresses of the MCP server: host:port, :port,
	// http://host:port, https://host:port or unix//path. Without any, requests
	// go on to the next handler, usually a reverse_proxy.
	Upstreams []string `json:"upstreams,omitempty"`

	// PreserveHost passes the client's Host header and Origin to the upstreams.
	// By default Host is the upstream's own address and Origin is removed, since
	// both have been checked here and MCP servers on loopback refuse foreign
	// hosts.
	PreserveHost bool `json:"preserve_host,omitempty"`

	// Resource is the endpoint's public URL, exactly as users enter it (RFC
	// 8707). It may hold the placeholder of tenant.require. Required unless
	// auth.mode is none.
	Resource string `json:"resource,omitempty"`

	// RootMetadata also serves the OAuth metadata document at the root
	// well-known path, for clients that look nowhere else. On by default in a
	// Caddyfile. Where two endpoints of a configuration share a host, neither
	// does: nobody could tell whose document it is.
	RootMetadata bool `json:"root_metadata,omitempty"`

	// Auth says whose tokens are accepted.
	Auth *Auth `json:"auth,omitempty"`

	// Tenant binds every caller to one tenant. Default: no tenants.
	Tenant *Tenant `json:"tenant,omitempty"`

	// Policy says which tools, prompts and resources may be seen and used.
	Policy *policy.Config `json:"policy,omitempty"`

	// OpenAI declares what the server means to ChatGPT.
	OpenAI *OpenAI `json:"openai,omitempty"`

	// Links are the deep links into the app.
	Links *Links `json:"links,omitempty"`

	// Identity is what the server is told about the caller.
	Identity *Identity `json:"identity,omitempty"`

	// Origins are the browser origins that may use the endpoint, besides the
	// resource's own. Requests without an Origin pass unless the browser marks
	// them as cross-site.
	Origins []string `json:"origins,omitempty"`

	// Hosts, if set, are the only Host values accepted. Default: the site's
	// address decides.
	Hosts []string `json:"hosts,omitempty"`

	// Limits bound what one message may cost.
	Limits *Limits `json:"limits,omitempty"`

	// Methods are JSON-RPC methods that clients may send besides those of the
	// protocol revision; * stands for any run of characters. Everything else is
	// answered as an unknown method.
	Methods []string `json:"methods,omitempty"`

	// Audit says what is written down about decisions. Default: every refusal.
	Audit *Audit `json:"audit,omitempty"`

	// RateLimit bounds how often the endpoint may be used. Default: no limits.
	RateLimit *ratelimit.Config `json:"rate_limit,omitempty"`

	// Registrations says how clients name an ephemeral registration.
	Registrations *Registrations `json:"registrations,omitempty"`

	// StateRaw is what replicas share: "memory" (the default: nothing, each
	// process for itself) or "redis". Revocations, registrations, rate limits,
	// what forms ask and, without seal_keys, the sealing key are kept there.
	StateRaw json.RawMessage `json:"state,omitempty" caddy:"namespace=mcp_app.state inline_key=name"`

	// SealKeys are keys of 32 bytes in base64, best as placeholders such as
	// {env.MCP_APP_SEAL_KEY}. Session ids, cursors and task ids are sealed with
	// the first; the others still open what was sealed before a rotation.
	// Default: one key, made at first use and kept in the shared state, or
	// without any in Caddy's storage, which replicas must then share.
	SealKeys []string `json:"seal_keys,omitempty"`

	// KeepAlive is how long a stream may be silent before a comment is sent, for
	// proxies in front that cut quiet connections. Default: never.
	KeepAlive *caddy.Duration `json:"keep_alive,omitempty"`

	// StreamCloseDelay is how long open streams may go on under the old
	// configuration after a reload. Default: they end at once, cleanly, and
	// clients resume.
	StreamCloseDelay caddy.Duration `json:"stream_close_delay,omitempty"`

	// CallDrain is how long calls that are running may go on under the old
	// configuration after a reload, or after a stop without a grace period.
	// Nothing goes on for a caller who is revoked meanwhile. Zero: 5m.
	CallDrain caddy.Duration `json:"call_drain,omitempty"`

	config            context.Context // done when the configuration is unloaded
	logger            *zap.Logger
	auditLogger       *zap.Logger
	auditTools        []policy.Pattern // of audit.arguments, one each
	rules             *policy.Policy
	tenancy           policy.Tenancy
	members           membership.Source // nil where tokens alone decide
	overlay           *openai.Overlay
	injector          *page.Injector
	opener            *opener          // nil unless links { open } is set
	pages             links.TenantPath // of links { tenant_path }
	verifier          *token.Checker   // nil in mode none
	release           []func()         // gives back what Provision took from pools
	proxy             caddyhttp.MiddlewareHandler
	hosts             map[string]string // what the upstreams are called, by where they are dialled
	catalogs          *flight.Group[*mcp.Catalog]
	inventories       *flight.Group[*inventory]
	sources           []string // of the rules, if they come from a Caddyfile
	routes            []route
	documents         documents
	issuerDocument    *token.IssuerDocument // nil without auth { metadata_proxy }
	issuerLocation    string                // empty without auth { metadata_redirect }
	origins           originSet
	limits            effectiveLimits
	reader            mcp.Reader // of messages
	identity          identityHeaders
	seal              *sealKeys
	methods           []policy.Pattern
	hints             *hints
	schemas           *lru.Cache[mcp.Holder, *openai.SettingsSchema] // each caller's, as last read
	lists             *listMemo
	tools             *toolMemo
	advertised        *advertised
	state             *sharedState
	registry          *registration.Registry
	registrationNames registrationNames
	registrationTTL   time.Duration      // the longest
	assertions        *assertions        // nil without
	exchanger         *token.Exchanger   // nil without
	limiter           *ratelimit.Limiter // nil without limits
	argumentChecker   *arguments.Checker
	rootClaim         rootClaim
	warned            *onceSet
	drain             *drain
	events            *appEvents         // nil without
	health            map[string]*health // by use; never nil and never changed
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.mcp_app",
		New: func() caddy.Module { return new(Handler) },
	}
}

// ServeHTTP sends each request to the part of the endpoint it is for.
func (m *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	switch m.locate(r.URL) {
	case atEndpoint:
		return m.serveEndpoint(w, r, next)
	case atOpener:
		m.opener.ServeHTTP(w, r)
		return nil
	case atMetadata:
		return m.serveMetadata(w, r)
	case atAssertionKeys:
		return m.assertions.serveKeys(w, r)
	case atIssuerMetadata:
		return m.serveIssuerMetadata(w, r)
	default:
		return next.ServeHTTP(w, r)
	}
}

// Interface guards
var (
	_ caddy.Module                = (*Handler)(nil)
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
