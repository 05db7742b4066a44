package e2e

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// errAtTheLogin ends a login where a person would be asked.
var errAtTheLogin = errors.New("a person would log in here")

// loginOf lets the SDK's client act on an answer as it does on its own, and
// returns the request to the authorization server that it would open.
func (g *gateway) loginOf(t *testing.T, status int, message string, header http.Header) (login url.Values, at string) {
	t.Helper()
	handler, err := sdkauth.NewAuthorizationCodeHandler(&sdkauth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: &oauthex.ClientCredentials{ClientID: "client"},
		RedirectURL:         "http://127.0.0.1/callback",
		Client:              http.DefaultClient, // the gateway's own reaches nothing else
		AuthorizationCodeFetcher: func(_ context.Context, args *sdkauth.AuthorizationArgs) (*sdkauth.AuthorizationResult, error) {
			address, err := url.Parse(args.URL)
			if err != nil {
				return nil, err
			}
			login, address.RawQuery = address.Query(), ""
			at = address.String()
			return nil, errAtTheLogin
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := g.nobody()
	c.url = strings.Replace(c.url, "acme.localhost", "127.0.0.1", 1) // the only name for which the SDK takes plain http
	request := c.request(t, http.MethodPost, c.url, message, header)
	response, err := g.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Errorf("status %d, want %d", response.StatusCode, status)
	}
	if err := handler.Authorize(t.Context(), request, response); !errors.Is(err, errAtTheLogin) { // closes the body
		t.Errorf("the client does not come to the login: %v", err)
	}
	return login, at
}

// What a client checks and decides on its way to a login, by the MCP
// specification: the document is that of the very resource, the issuer's
// metadata names that issuer, the scopes are those of the challenge.
func TestClientsFindTheLoginByTheirOwn(t *testing.T) {
	const own = "http://127.0.0.1:{$GATEWAY_PORT}"
	rules := "policy {\ntool get\ntool put {\nscopes decks.write\non_missing_scope challenge\n}\n}\n"
	site := siteAt(own, "mcp_app /mcp {$WORKSPACE} {\nresource "+own+"/mcp\n"+auth+rules+"}\n")
	g := start(t, stackWith(site, cataloged(func(string) string { return toolWith("get", `{}`) + "," + toolWith("put", `{}`) })))
	resource := strings.Replace(g.URL("acme"), "acme.localhost", "127.0.0.1", 1)

	grant := g.grant(viewer("acme"))
	grant.Audience = []string{resource}
	mine := http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}}
	grant.Claims["exp"] = 1
	expired := http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}}
	const put = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"put","arguments":{}}}`
	for name, tt := range map[string]struct {
		status  int
		message string
		header  http.Header
		scope   string
	}{
		"no token":         {http.StatusUnauthorized, initializeBody, nil, "mcp.use"},
		"an expired token": {http.StatusUnauthorized, pingBody, expired, "mcp.use"},
		"a tool asks more": {http.StatusForbidden, put, mine, "decks.write mcp.use"},
	} {
		login, at := g.loginOf(t, tt.status, tt.message, tt.header)
		if !strings.HasPrefix(at, g.Issuer.URL+"/") {
			t.Errorf("%s: the login is at %q, not the issuer's", name, at)
		}
		// The client puts what it has and what is asked for together, in any order.
		scopes := slices.Sorted(slices.Values(strings.Fields(login.Get("scope"))))
		if login.Get("resource") != resource || strings.Join(scopes, " ") != tt.scope || login.Get("code_challenge_method") != "S256" {
			t.Errorf("%s: the client asks for %v", name, login)
		}
	}
}
