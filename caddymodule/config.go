package caddymodule

import (
	"encoding/json"

	"github.com/caddyserver/caddy/v2"
)

// Auth says whose tokens are accepted.
type Auth struct {
	// Mode is "strict" (the default: every message needs a token), "mixed"
	// (callers without a token see and use what no rule closes to them; a bad
	// token is still refused) or "none" (no tokens at all; see Public).
	Mode string `json:"mode,omitempty"`
	// Public lets mode none answer connections from public addresses. Without
	// it only loopback and private addresses are served, as a guard against
	// mistakes; it is not a security boundary.
	Public bool `json:"public,omitempty"`
	// Issuers are the authorization servers whose JWTs are accepted. Modes with
	// tokens need one, or an introspection.
	Issuers []*Issuer `json:"issuers,omitempty"`
	// Introspection asks authorization servers about tokens that are not JWTs. If
	// there are several, a token is shown to them in this order until one knows
	// it.
	Introspection []*Introspection `json:"introspection,omitempty"`
	// Audiences are the values one of which a token's `aud` must contain.
	// Default: the resource. May hold the placeholder of tenant.require.
	Audiences []string `json:"audiences,omitempty"`
	// Scopes every token must carry. Default: none.
	Scopes []string `json:"scopes,omitempty"`
	// MetadataRedirect sends clients that look for the authorization server's
	// metadata at this host (RFC 8414) to the first issuer.
	MetadataRedirect bool `json:"metadata_redirect,omitempty"`
	// MetadataProxy answers them with that metadata instead, unchanged, for
	// clients that do not follow a redirect to another host. It is asked for
	// without anything of the client's request, must name the first issuer, and
	// is kept for at most an hour. Not together with metadata_redirect.
	MetadataProxy bool `json:"metadata_proxy,omitempty"`
	// MaxTokenAge refuses tokens issued longer ago, and those that do not say
	// when. Default: no such rule.
	MaxTokenAge caddy.Duration `json:"max_token_age,omitempty"`
	// Leeway is the clock difference tolerated for exp, nbf and iat. Default: 30s.
	Leeway *caddy.Duration `json:"leeway,omitempty"`

	holders []issuerKeys // in use, from buildChecker on
}

// Issuer is one authorization server.
type Issuer struct {
	// Issuer is the exact value of the `iss` claim, an https URL. Plain http is
	// accepted for loopback addresses only.
	Issuer string `json:"issuer"`
	// JWKSURL is where the signing keys are. Default: found through the issuer's
	// metadata (RFC 8414, then OpenID Connect Discovery).
	JWKSURL string `json:"jwks_url,omitempty"`
	// Algorithms accepted for signatures. Default: RS256, ES256, EdDSA, PS256.
	Algorithms []string `json:"algorithms,omitempty"`
	// TokenType is the `typ` a token must have: "at+jwt" (RFC 9068, the default),
	// "jwt" for issuers that do not follow it, or "any".
	TokenType string `json:"token_type,omitempty"`
}

// Tenant binds every caller to one tenant.
type Tenant struct {
	// Claim names the tenant or tenants of the caller; a dotted path enters
	// objects. The value is a string or an array of strings.
	Claim string `json:"claim"`
	// Require is the tenant that this route stands for: a literal, or a
	// placeholder such as {http.request.host.labels.2}. A request header counts
	// only on connections from the server's trusted_proxies. Callers of other
	// tenants get 403, and so does everybody where it comes out empty. Without
	// it callers act for the one tenant of their token.
	Require string `json:"require,omitempty"`
	// Allow lists the tenants served. Default: all.
	Allow []string `json:"allow,omitempty"`
	// MembersRaw says who is a member of a tenant, asked on every message:
	// "claims" (the default: whoever has a token for it), "file" or "http", or
	// another module of the namespace.
	MembersRaw json.RawMessage `json:"members,omitempty" caddy:"namespace=mcp_app.membership inline_key=source"`
	// Argument is a tool argument in which the server looks for a tenant. A call
	// that names another than the caller's there is refused with 403.
	Argument string `json:"argument,omitempty"`
	// Header is a request header in which the server looks for a tenant; the
	// same holds for it.
	Header string `json:"header,omitempty"`
}

// Links are the deep links into the app.
type Links struct {
	// Plugin is the plugin's id in ChatGPT. Needed for Open and Results.
	Plugin string `json:"plugin,omitempty"`
	// Marketplace is the name in a custom marketplace file. Default: none, for a
	// plugin published to ChatGPT itself. A plugin of a custom marketplace has
	// no links for the web.
	Marketplace string `json:"marketplace,omitempty"`
	// Navigate is the tool that takes {"url": "/…"}. It must be read-only in the
	// caller's catalog, and its argument an app-relative URL without traversal;
	// anything else never reaches the server.
	Navigate string `json:"navigate,omitempty"`
	// TenantPath is what the argument of Navigate, and a page asked of the
	// opener, must match: a path, or all below one if it ends in /*. The
	// placeholder {http.mcp_app.tenant} may stand in it as one segment, such as
	// /t/{http.mcp_app.tenant}/*. Default: every page.
	TenantPath string `json:"tenant_path,omitempty"`
	// Open is the path under which links for mail and chat are answered, such as
	// /open: GET /open/<tool>?path=<page>[&platform=desktop|mobile|web|app] leads
	// to the page in ChatGPT on the reader's platform, without a sign-in. It
	// answers for the tools that openai.entrypoints declares global, and so tells
	// anybody that they exist. Default: not answered.
	Open string `json:"open,omitempty"`
	// Fallback is the https address of the ordinary application, to which the
	// page's path is appended for readers that no plugin link is for. It may hold
	// the placeholder of tenant.require, which is filled with allowed tenants
	// only. Default: none; such readers are shown the links there are.
	Fallback string `json:"fallback,omitempty"`
	// Results says what happens to links to this plugin in results of tools that
	// are faulty or lead to tools hidden from the caller: "pass" (default)
	// nothing, "check" a warning in the log, "drop" they are taken out as well.
	// Looked at are resource links and whole strings of structured content, not
	// free text.
	Results string `json:"results,omitempty"`
}

// Identity is what the server is told about the caller.
type Identity struct {
	// Headers is the prefix of the headers Issuer, Subject, Tenant and Scopes.
	// Whatever a client sends under the prefix is removed first. Default:
	// X-Mcp-App-.
	Headers string `json:"headers,omitempty"`
	// ForwardToken passes the client's token to the server. MCP forbids a server
	// to pass tokens on that were made for another (2026-07-28,
	// basic/authorization): only for a server that is the same resource.
	ForwardToken bool `json:"forward_token,omitempty"`
	// Exchange gives the server a token of its own in place of the caller's. It
	// excludes ForwardToken.
	Exchange *Exchange `json:"exchange,omitempty"`
	// Assertion adds a signed statement about the caller, for servers that do
	// not trust headers. Default: none.
	Assertion *Assertion `json:"assertion,omitempty"`
}

// Limits bound what one message may cost. Zero means the default.
type Limits struct {
	// RequestBody in bytes. Default: 4 MiB. Answer: 413.
	RequestBody int64 `json:"request_body,omitempty"`
	// Message is the size of one answer in bytes. Default: 16 MiB. Answer: a
	// JSON-RPC error.
	Message int64 `json:"message,omitempty"`
	// Event is the size of one server-sent event in bytes. Default: 4 MiB.
	Event int64 `json:"event,omitempty"`
	// Tools in one catalog. Default: 2000.
	Tools int `json:"tools,omitempty"`
	// Depth of JSON nesting. Default: 64.
	Depth int `json:"depth,omitempty"`
	// ListTTL caps how long clients may keep lists. Default: 60s.
	ListTTL *caddy.Duration `json:"list_ttl,omitempty"`
}
