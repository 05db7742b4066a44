package caddymodule

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func TestPlaceholdersNameTheVerifiedCaller(t *testing.T) {
	issuer := newTokenIssuer(t)
	m := issuer.endpoint(t)
	const all = "{http.auth.user.id} {http.auth.user.tenant} {http.mcp_app.subject} {http.mcp_app.tenant} {http.mcp_app.method} {http.mcp_app.era} {http.mcp_app.issuer}"
	ask := func(bearer, earlier string) (got string, status int) {
		w := httptest.NewRecorder()
		r := prepared(listTools(t, bearer), w)
		if earlier != "" { // a login of Caddy's own in front
			replacerOf(r).Set("http.auth.user.id", earlier)
			replacerOf(r).Set("http.auth.user.tenant", earlier)
		}
		err := m.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			got = replacerOf(r).ReplaceAll(all, "-")
			return noTools(w, r)
		}))
		if err != nil {
			t.Fatal(err)
		}
		if got == "" { // nobody was asked
			got = replacerOf(r).ReplaceAll(all, "-")
		}
		return got, w.Code
	}
	for _, earlier := range []string{"", "mallory"} {
		got, status := ask(issuer.token(t, "placeholders"), earlier)
		if want := "alice acme alice acme tools/list legacy " + issuer.URL; status != http.StatusOK || got != want {
			t.Errorf("after %q: %d, %q, want %q", earlier, status, got, want)
		}
	}
	if got, status := ask("not-a-token", ""); status != http.StatusUnauthorized || got != "- - - - - - -" {
		t.Errorf("without a good token: %d, %q", status, got)
	}
}
