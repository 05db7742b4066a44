package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// filesAudience is the resource that the files beside the endpoint are.
const filesAudience = "https://files.example"

// startFiles runs a site whose /files the tokens of the endpoint's issuer open,
// through Caddy's own authentication handler. That has no Caddyfile words, so
// it takes the place of another handler.
func startFiles(t *testing.T) (g *gateway, admin *http.Client) {
	t.Helper()
	caddyfile, admin := administered(t, endpoint(allTools+"state memory\n")+`route /files {
	vars place provider
	respond "{http.auth.user.id}|{http.auth.user.issuer}|{http.auth.user.client_id}"
}
`)
	caddyfile = bytes.Replace(caddyfile, []byte("persist_config off"), []byte("persist_config off\n\tstorage file_system "+t.TempDir()), 1)
	g = start(t, stackWith(caddyfile, pong()))
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(caddyfile, nil)
	if err != nil {
		t.Fatal(err)
	}
	const place = `{"handler":"vars","place":"provider"}`
	if !bytes.Contains(config, []byte(place)) {
		t.Fatalf("no place for the provider in %s", config)
	}
	config = bytes.Replace(config, []byte(place), marshal(t, map[string]any{
		"handler": "authentication", "providers": map[string]any{"mcp_jwt": map[string]any{
			"issuers":   []any{map[string]any{"issuer": g.Issuer.URL, "jwks_url": g.Issuer.URL + "/keys"}},
			"audiences": []string{filesAudience}, "scopes": []string{"files.read"},
			"implies": map[string][]string{"files.all": {"files.read"}}, "state": map[string]string{"name": "memory"},
		}},
	}), 1)
	g.client.Transport = retrying{g.client.Transport}
	if err := caddy.Load(config, true); err != nil {
		t.Fatal(err)
	}
	return g, admin
}

func TestTokensOpenOtherPartsOfTheSiteToo(t *testing.T) {
	g, admin := startFiles(t)
	c, files := g.nobody(), strings.Replace(g.URL("acme"), "/mcp", "/files", 1)
	grant := func(audience string, scopes ...string) issuer.Grant {
		grant := g.grant(person{"erin@acme", "acme", scopes})
		grant.Audience, grant.Claims = []string{audience}, map[string]any{"client_id": "browser"}
		return grant
	}
	get := func(grant issuer.Grant) *answer {
		return c.send(t, http.MethodGet, files, "", http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}})
	}

	// First, before any key is known: nobody is told to log in again.
	g.Issuer.SetFault(issuer.JWKS, issuer.Down)
	down := get(grant(filesAudience, "files.read"))
	wantStatus(t, "without keys", down, http.StatusUnauthorized)
	if down.header.Get("Retry-After") == "" || down.header.Get("WWW-Authenticate") != "" {
		t.Errorf("without keys: headers %v", down.header)
	}
	g.Issuer.SetFault(issuer.JWKS, issuer.None)
	eventually(t, "the keys are there", func() bool { return get(grant(filesAudience, "files.read")).status == http.StatusOK })

	for name, grant := range map[string]issuer.Grant{"the scope": grant(filesAudience, "files.read"), "one that implies it": grant(filesAudience, "files.all")} {
		a := get(grant)
		if want := "erin@acme|" + g.Issuer.URL + "|browser"; a.status != http.StatusOK || string(a.body) != want {
			t.Errorf("%s: %s, want %s", name, a, want)
		}
	}
	expired := grant(filesAudience, "files.read")
	expired.TTL = -time.Hour
	for name, grant := range map[string]issuer.Grant{
		"for the endpoint only": grant(g.URL("acme"), "files.read"), "without the scope": grant(filesAudience, "mcp.use"), "expired": expired,
	} {
		a := get(grant)
		wantStatus(t, name, a, http.StatusUnauthorized)
		if params := challengeOf(t, a); params["error"] != "invalid_token" || params["scope"] != "files.read" {
			t.Errorf("%s: challenge %v", name, params)
		}
		if strings.Contains(string(a.body), "erin") {
			t.Errorf("%s: %s", name, a)
		}
	}
	a := c.send(t, http.MethodGet, files, "", nil)
	wantStatus(t, "without a token", a, http.StatusUnauthorized)
	if params := challengeOf(t, a); params["error"] != "" || params["scope"] != "files.read" {
		t.Errorf("without a token: challenge %v", params)
	}

	undo := revoke(t, admin, `{"issuer":"`+g.Issuer.URL+`","subject":"erin@acme"}`)
	wantStatus(t, "revoked", get(grant(filesAudience, "files.read")), http.StatusUnauthorized)
	undo()
	wantStatus(t, "allowed again", get(grant(filesAudience, "files.read")), http.StatusOK)
}
