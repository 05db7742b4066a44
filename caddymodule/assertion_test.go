package caddymodule

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

const assertionResource = "https://acme.example.com/mcp"

func openTestAssertions(t *testing.T, config configuration, audience string) *assertions {
	t.Helper()
	a, err := openAssertions(config.Context, &Assertion{Audience: audience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	return a
}

func serveAssertionKeys(t *testing.T, a *assertions, method string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	if err := a.serveKeys(w, httptest.NewRequestWithContext(t.Context(), method, assertionKeysPath, nil)); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAssertionCaddyfile(t *testing.T) {
	for _, test := range []struct{ text, want, fail string }{
		{text: "assertion", want: "{}"},
		{text: "assertion files", want: `{"audience":"files"}`},
		{text: "assertion files more", fail: "assertion [<audience>]"},
	} {
		d := caddyfile.NewTestDispenser(test.text)
		d.Next()
		var config *Assertion
		err := parseAssertion(&config)(d)
		if test.fail != "" {
			if err == nil || !strings.Contains(err.Error(), test.fail) {
				t.Errorf("%s: error %v, want %q", test.text, err, test.fail)
			}
			continue
		}
		raw, _ := json.Marshal(config)
		if err != nil || string(raw) != test.want {
			t.Errorf("%s: %s, %v; want %s", test.text, raw, err, test.want)
		}
		if err := parseAssertion(&config)(d); err == nil {
			t.Errorf("%s: accepted twice", test.text)
		}
	}
}

// A server that fetches the keys knows the caller as well as we do.
func TestServerVerifiesTheAssertion(t *testing.T) {
	storage := t.TempDir()
	a := openTestAssertions(t, newConfiguration(t, storage), "files")
	// The keys are fetched from another endpoint, after a reload of its own.
	other := openTestAssertions(t, newConfiguration(t, storage), "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = other.serveKeys(w, r) }))
	t.Cleanup(server.Close)
	holder, err := token.NewKeyHolder(token.KeyConfig{JWKSURL: server.URL + assertionKeysPath})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(holder.Close)
	verifier, err := token.NewVerifier(token.Config{
		Audiences: []string{"files"},
		Issuers:   []token.IssuerConfig{{Issuer: assertionResource, Keys: holder, Algorithms: []token.Algorithm{token.ES256}, TokenType: token.TypeJWT}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(verifier.Close)

	p := revocable()
	p.Scopes, p.ClientID = []string{"cad.read", "cad.write"}, "chatgpt"
	signed, err := a.header(t.Context(), p, assertionResource)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := verifier.Verify(t.Context(), signed)
	if err != nil {
		t.Fatal(err)
	}
	issuer, _ := claims.Lookup("sub_id.iss")
	if claims.Subject != p.Subject || issuer != p.Issuer || claims.Raw["tenant"] != "acme" || claims.Raw["scope"] != "cad.read cad.write" || claims.ClientID != "chatgpt" {
		t.Errorf("claims %v", claims.Raw)
	}
	again, err := a.header(t.Context(), p, assertionResource)
	if err != nil || again == signed {
		t.Errorf("the same assertion twice, %v", err)
	}
}

func TestNobodyHasNoAssertion(t *testing.T) {
	a := openTestAssertions(t, newConfiguration(t, t.TempDir()), "")
	for name, signer := range map[string]*assertions{"configured": a, "not configured": nil} {
		if signed, err := signer.header(t.Context(), &policy.Principal{Anonymous: true}, assertionResource); signed != "" || err != nil {
			t.Errorf("%s: %q, %v", name, signed, err)
		}
	}
	if off, err := openAssertions(newConfiguration(t, t.TempDir()).Context, nil); off != nil || err != nil {
		t.Errorf("without configuration: %v, %v", off, err)
	}
	(*assertions)(nil).close()
}

func TestAssertionKeysDocument(t *testing.T) {
	storage := t.TempDir()
	config := newConfiguration(t, storage)
	a := openTestAssertions(t, config, "")
	w := serveAssertionKeys(t, a, "GET")
	if w.Code != 200 || w.Header().Get("Cache-Control") != "public, max-age=300" || w.Header().Get("Content-Type") != "application/jwk-set+json" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	var document struct{ Keys []map[string]string }
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil || len(document.Keys) != 1 {
		t.Fatalf("%s, %v", w.Body, err)
	}
	for _, name := range []string{"kty", "crv", "x", "y", "kid", "use", "alg"} {
		delete(document.Keys[0], name)
	}
	if len(document.Keys[0]) > 0 {
		t.Errorf("published: %v", document.Keys[0])
	}
	if w := serveAssertionKeys(t, a, "POST"); w.Code != 405 || w.Header().Get("Allow") == "" {
		t.Errorf("POST: %d %v", w.Code, w.Header())
	}

	// A reload keeps the keys, another storage has its own.
	first := w.Body.String()
	a.close()
	config.unload()
	if w := serveAssertionKeys(t, openTestAssertions(t, newConfiguration(t, storage), ""), "GET"); w.Body.String() != first {
		t.Errorf("after a reload: %s, before: %s", w.Body, first)
	}
	elsewhere := t.TempDir()
	if w := serveAssertionKeys(t, openTestAssertions(t, newConfiguration(t, elsewhere), ""), "GET"); w.Body.String() == first {
		t.Error("two storages share their keys")
	}
}

func TestAssertionKeysCannotBeStored(t *testing.T) {
	storage := t.TempDir()
	blocked := storage + "/mcp_app"
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := openTestAssertions(t, newConfiguration(t, storage), "")
	if signed, err := a.header(t.Context(), revocable(), assertionResource); err == nil {
		t.Errorf("signed with a key that no replica knows: %s", signed)
	}
	if w := serveAssertionKeys(t, a, "GET"); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("keys: %d %v", w.Code, w.Header())
	}
}

// The server gets an assertion of its own for every request, never the client's,
// and verifies it with the keys of the site.
func TestServerGetsAnAssertion(t *testing.T) {
	issuer := newTokenIssuer(t)
	m := issuer.endpoint(t)
	var got []string
	for range 2 {
		serve(t, m, listTools(t, issuer.token(t, rand.Text())), func(w http.ResponseWriter, r *http.Request) error {
			got = append(got, r.Header["X-Mcp-App-Assertion"]...)
			return noTools(w, r)
		})
	}
	if len(got) != 2 || got[0] == got[1] {
		t.Fatalf("assertions %q", got)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = m.ServeHTTP(w, prepared(r, w), caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusTeapot)
			return nil
		}))
	}))
	t.Cleanup(site.Close)
	holder, err := token.NewKeyHolder(token.KeyConfig{JWKSURL: site.URL + assertionKeysPath})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(holder.Close)
	verifier, err := token.NewVerifier(token.Config{Audiences: []string{"files"}, Issuers: []token.IssuerConfig{{
		Issuer: assertionResource, Keys: holder, TokenType: token.TypeJWT,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(verifier.Close)
	claims, err := verifier.Verify(t.Context(), got[0])
	if err != nil || claims.Subject != "alice" || claims.Raw["tenant"] != "acme" {
		t.Errorf("%v, %v", claims, err)
	}
}
