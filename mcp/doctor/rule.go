package doctor

import (
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

// Rule is what findings of one code have in common.
type Rule = openai.Rule

// Rules lists every code that a [Finding] can have, sorted by ID: those of this
// package and those of package openai.
func Rules() []Rule {
	all := append(openai.Rules(), own...)
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// RuleOf answers the rule behind a code.
func RuleOf(id string) (Rule, bool) {
	if i := slices.IndexFunc(own, func(r Rule) bool { return r.ID == id }); i >= 0 {
		return own[i], true
	}
	return openai.RuleOf(id)
}

const (
	wrong  = openai.Broken
	unsure = openai.Doubtful
	aside  = openai.Note
)

func rule(id string, severity openai.Severity, meaning, fix string) Rule {
	return Rule{ID: id, Severity: severity, Meaning: meaning, Fix: fix}
}

// own are the codes of this package, in the order of the checks.
var own = []Rule{
	// The address.
	rule("address-http", wrong, "ChatGPT takes https addresses only, and tokens would travel in the clear.", "Serve the endpoint over https; Caddy does so for a site address without http://."),
	rule("address-local", aside, "ChatGPT cannot reach an address of this machine or network.", "Nothing for development; otherwise give it a public name, or run OpenAI's tunnel client."),
	rule("unreachable", wrong, "No connection to the endpoint can be made.", discovery.Unreachable.Advice()),
	rule("tls-untrusted", wrong, "ChatGPT connects to certificates of public authorities only.", "Use a certificate for this name that ends in a public authority; Caddy gets one for public names."),
	rule("silent", wrong, "The server takes a connection and then says nothing; hosts give up.", "Look whether the server hangs, or a proxy before it holds back answers until they end."),
	rule("redirected", wrong, "The endpoint redirects; clients do not follow with a token or a message.", "Enter the address that is redirected to; a slash at the end and http:// are the usual reasons."),
	rule("not-mcp", wrong, "Something that is no MCP server answers at the address.", "Check the path, which often is /mcp, and that no catch-all page of the site comes first."),
	rule("unavailable", wrong, "The gateway answers, the server behind it does not.", "Start the server, and check the upstream address in the mcp_app line."),
	rule("server-error", wrong, "The server fails on a request that every client sends.", "Look into the server's own log."),
	rule("rate-limited", unsure, "The endpoint refuses for too many requests; hosts share addresses.", "Raise the limit, or limit by token and not by address."),
	rule("protocol-broken", wrong, "The connection broke off before an answer was complete.", "Look whether the server and what stands before it speak Streamable HTTP."),
	rule("forbidden", wrong, "A client without a token is refused without being told to log in.", "Answer 401 with a challenge; look for a firewall that refuses unknown clients."),
	rule("trailing-slash", unsure, "Users enter the address with a slash at the end as well, and come to something else.", "Serve both; mcp_app does so, unless something before it redirects."),
	rule("get-no-stream", unsure, "Hosts open the endpoint with GET when a connector is made, and expect an event stream or 405.", "Answer GET with 405, or with a stream."),
	rule("old-transport", unsure, "The server also speaks the older HTTP+SSE transport, past the endpoint's login and rules.", "Switch it off in the server, or do not serve its paths: respond /sse* /messages* 404."),
	rule("wellknown-catch-all", wrong, "Every well-known address is answered, so that hosts take pages for OAuth documents and find no way to log in, or to go without.", "Answer 404 for unknown addresses under /.well-known/."),
	rule("wellknown-empty", unsure, "Caddy answers 200 with nothing where a site has no handler, and hosts may take that for an OAuth document that is broken.", "Write respond 404 as the last line of the site, or let another handler answer."),

	// The login.
	rule("token-refused", wrong, "The given token is not accepted.", "Get a new one; run doctor with --config to see what is wrong with it."),
	rule("token-forbidden", wrong, "The given token is good and not enough.", "Look at its scopes and tenant; run doctor with --config to see which."),
	rule("challenge-missing", wrong, "A 401 without a Bearer challenge tells ChatGPT nothing: no login is offered.", "Send WWW-Authenticate: Bearer resource_metadata=\"…\", scope=\"…\"; see that no proxy drops it."),
	rule("challenge-metadata", wrong, "The challenge does not lead to the document that says where to log in.", "Name the whole address of the document in resource_metadata; with mcp_app set resource to the public address."),
	rule("challenge-scope", unsure, "Without a scope in the challenge hosts ask for the server's default, and a reconnect may miss scopes.", "Name the scopes: auth { scopes … }."),
	rule("bad-token-accepted", wrong, "A made-up token opens the endpoint.", "Let nothing answer before the token is checked."),
	rule("bad-token-challenge", unsure, "Hosts refresh a token only if 401 says error=\"invalid_token\".", "Answer bad tokens with 401 and error=\"invalid_token\"."),
	rule("metadata-missing", wrong, "There is no document that says where to log in.", "Serve /.well-known/oauth-protected-resource and its form with the path; see that the site sends both to mcp_app: a handle or route block around it must not match the endpoint's path alone."),
	rule("metadata-path", wrong, "The document does not stand where ChatGPT looks first, under the endpoint's path.", "Serve /.well-known/oauth-protected-resource followed by the path; see that the site sends it to mcp_app."),
	rule("metadata-root", aside, "The document does not stand at the root, where older clients look.", "Write root_metadata on, unless several endpoints share the host."),
	rule("metadata-differs", unsure, "The two documents about the endpoint contradict each other.", "Serve the same at both addresses, or switch the one at the root off."),
	rule("metadata-type", unsure, "The document is not labelled as JSON.", "Answer Content-Type: application/json."),
	rule("metadata-resource", wrong, "The document is about another resource; clients must not use it.", "Set resource to the address that users enter."),
	rule("metadata-servers", wrong, "The document names no authorization server.", "List one in authorization_servers; with mcp_app write auth { issuer … }."),
	rule("wellknown-without-login", wrong, "A document about logins makes hosts look for one that there is not.", "Answer 404 there; see that no catch-all page of the site answers."),
	rule("oauth-without-login", wrong, "A tool asks for a login that the endpoint does not have, so that a connector without authentication cannot be made.", "Take oauth2 out of securitySchemes, or set up a login."),
	rule("security-schemes-missing", unsure, "Where some tools need a login, ChatGPT offers it only for tools that say so.", "Declare securitySchemes for each tool."),
	rule("as-unreachable", wrong, "The authorization server's metadata cannot be had, so nobody can log in.", "Check the issuer's address, and that it serves RFC 8414 or OpenID Connect metadata."),
	rule("as-issuer", wrong, "The authorization server's document names another issuer; clients must not use it.", "Write the issuer exactly as its document does, to the slash."),
	rule("as-endpoints", wrong, "The authorization server names no place to log in or to get a token.", "Complete its metadata."),
	rule("as-s256", wrong, "ChatGPT refuses authorization servers that do not announce PKCE with S256.", "Switch PKCE on and list S256 in code_challenge_methods_supported."),
	rule("as-registration", unsure, "ChatGPT cannot register by itself; somebody has to enter a client id.", "Switch on client id metadata documents or dynamic registration, or enter a predefined client in ChatGPT."),
	rule("as-registration-unreachable", wrong, "Clients cannot register where the metadata says.", "Check the registration_endpoint."),
	rule("as-auth-method", wrong, "ChatGPT knows none of the ways in which clients must identify themselves.", "Allow none, private_key_jwt, client_secret_post or client_secret_basic."),
	rule("as-refresh", unsure, "Without refresh tokens users have to log in again whenever a token expires.", "Allow the grant refresh_token, and the scope offline_access where it is needed."),
	rule("as-documents-differ", unsure, "Clients that read the one document log in elsewhere than clients that read the other.", "Let both name the same endpoints."),

	// Browsers.
	rule("origin-unchecked", wrong, "A page of any site can talk to the endpoint through a user's browser.", "Answer 403 for origins that are not yours; mcp_app does so, unless something before it takes Origin away."),
	rule("preflight-differs", unsure, "A browser is promised what it is then refused, or the other way round.", "Let one place decide: take CORS headers out of the site and list origins in mcp_app."),
	rule("cors-expose", unsure, "Pages that may talk to the endpoint cannot read the session or the challenge.", "Expose Mcp-Session-Id, Mcp-Protocol-Version and WWW-Authenticate."),

	// Handshakes and streams.
	rule("discover-broken", wrong, "ChatGPT begins with server/discover; an older server must refuse it cleanly.", "Answer unknown methods with a JSON-RPC error or 400, never with a page or a closed connection."),
	rule("discover-shape", wrong, "The answer to server/discover is not what clients read, and then offers nothing.", "Answer supportedVersions, capabilities, resultType complete and serverInfo in _meta."),
	rule("cache-hints-missing", unsure, "A result of server/discover must say how long and for whom it holds.", "Add ttlMs and cacheScope."),
	rule("capability-place", unsure, "Clients of the newer era do not read capabilities under experimental.", "Move it to extensions."),
	rule("capability-unfit", wrong, "A capability is advertised whose tools do not fit, so that hosts ignore it.", "Correct the tools or the policy."),
	rule("initialize-refused", unsure, "Clients of the older era get nothing.", "Serve initialize as well; look at what the server says to it."),
	rule("initialize-shape", wrong, "The answer to initialize lacks what clients read.", "Answer protocolVersion, capabilities and serverInfo."),
	rule("eras-differ", unsure, "Which tools a user has depends on how old the client is.", "List the same tools in both eras."),
	rule("instructions-long", aside, "Hosts may cut the instructions after 512 characters.", "Put what matters first."),
	rule("cookie", unsure, "Hosts keep no cookies; what depends on them is lost between requests.", "Hold state in the session id, or in the token."),
	rule("stream-compressed", unsure, "A compressed event stream may be held back until enough of it has come together.", "Do not compress text/event-stream."),
	rule("stream-buffered", wrong, "Something holds event streams back, so that calls seem to hang.", "Switch buffering off in every proxy: flush_interval -1 in reverse_proxy, proxy_buffering off in nginx."),
	rule("cache-scope", wrong, "An answer that depends on who asks may be kept and shown to others.", "Answer cacheScope private."),
	rule("tunnel-not-ready", wrong, "OpenAI's tunnel client would not become ready before this endpoint.", "See docs/tunnel.md."),

	// Tools and pages.
	rule("catalog-malformed", wrong, "A list cannot be relied on; hosts drop the tool or the whole list.", discovery.Malformed.Advice()),
	rule("catalog-too-large", wrong, "A list is larger than hosts take.", "Offer less, or shorter descriptions and schemas."),
	rule("tools-none", unsure, "There is no tool to be shown.", "Add tools; with a policy, see with caddy mcp-app explain what hides them."),
	rule("tools-many", aside, "Models choose worse among many tools, and every tool costs tokens.", "Show each caller what it needs; 20 tools are a good measure."),
	rule("page-missing", wrong, "A tool opens a page that cannot be read.", "Serve the resource that ui.resourceUri names; with mcp_app, add a resource rule if a rule hides it."),
	rule("page-uri", wrong, "A page is answered under another address than it was asked for.", "Answer the address as it was asked."),
	rule("page-empty", wrong, "A page has no content.", "Answer text or blob."),
	rule("csp-one-spelling", wrong, "ChatGPT has been seen to read openai/widgetCSP only, other hosts _meta.ui.csp only.", "Write both alike, or let mcp_app do it: openai { csp … } or mirror."),

	// The configuration.
	rule("endpoint-refused", wrong, "The endpoint does not let this principal in.", "Read the reason; caddy mcp-app explain says more."),
	rule("token-audience", wrong, "The token was made for another resource.", "If such tokens are meant for this endpoint, write the line; otherwise correct the authorization server."),
	rule("token-type", wrong, "The token's typ is not the one of access tokens.", "If such tokens are meant, write the line; otherwise use an access token, not an ID token."),
	rule("token-tenant", wrong, "The token names no tenant, or one that this route does not stand for.", "Compare the claim in tenant { claim … }, the route in require and the list in allow with the token."),
	rule("rule-unused", unsure, "A rule decides about nothing that the server lists to this principal.", "Correct the name, or take the rule out."),
	rule("declared-tool-missing", wrong, "A tool that the configuration names is not listed by the server.", "Correct the name in the openai or links block."),
	rule("navigate-unguarded", unsure, "A page's navigate tool is not that of links, so that only the page checks its URLs.", "Write the line."),
	rule("storage-local", aside, "Keys for sessions and cursors lie in a storage of this machine; replicas and new machines do not have them.", "Nothing for one machine with a durable disk; otherwise write state redis … or seal_keys …, or set a shared storage in the global options."),
	rule("state-local", aside, "Revocations and rate limits hold for this process only, and revocations are lost when it ends without a clean stop.", "Nothing for one process; otherwise write state redis …."),
}
