package issuer

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func running(t *testing.T) *Running {
	t.Helper()

	r, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})

	return r
}

// get fetches a document that must be there and decodes it.
func get[T any](t *testing.T, url string) (v T) {
	t.Helper()

	status, body := fetch(t, url)
	if status != http.StatusOK {
		t.Fatalf("%s gives %d", url, status)
	}
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s gives %s: %v", url, body, err)
	}

	return v
}

func fetch(t *testing.T, url string) (status int, body []byte) {
	t.Helper()

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	body, err = io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}

	return res.StatusCode, body
}

func TestMetadataNamesThisIssuerToTheByte(t *testing.T) {
	i := running(t)
	for _, name := range []string{"oauth-authorization-server", "openid-configuration"} {
		m := get[metadata](t, i.URL+"/.well-known/"+name)
		if m.Issuer != i.URL {
			t.Errorf("%s says issuer %q, want %q", name, m.Issuer, i.URL)
		}
		if m.JWKSURI != i.JWKSURL() || len(get[keySet](t, m.JWKSURI).Keys) != 3 {
			t.Errorf("%s says keys are at %q", name, m.JWKSURI)
		}

		// One is named because it must be, and honest about not being there.
		for endpoint, want := range map[string]int{
			m.AuthorizationEndpoint: http.StatusNotImplemented,
			m.TokenEndpoint:         http.StatusMethodNotAllowed,
			m.IntrospectionEndpoint: http.StatusMethodNotAllowed,
		} {
			if status, _ := fetch(t, endpoint); status != want {
				t.Errorf("%s gives %d, want %d", endpoint, status, want)
			}
		}
	}
}

func TestIssuerWithPathServesEveryWellKnownForm(t *testing.T) {
	// The server's URL is known only once it runs, the issuer's before.
	var handler http.Handler
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(web.Close)

	i, err := New(Config{URL: web.URL + "/tenants/one"})
	if err != nil {
		t.Fatal(err)
	}
	handler = i.Handler()

	for _, path := range []string{
		"/.well-known/oauth-authorization-server/tenants/one",
		"/.well-known/openid-configuration/tenants/one",
		"/tenants/one/.well-known/openid-configuration",
	} {
		m := get[metadata](t, web.URL+path)
		if m.Issuer != web.URL+"/tenants/one" || m.JWKSURI != web.URL+"/tenants/one/keys" {
			t.Errorf("%s says %+v", path, m)
		}
	}
	if status, _ := fetch(t, web.URL+"/.well-known/oauth-authorization-server"); status != http.StatusNotFound {
		t.Errorf("the document of another issuer gives %d", status)
	}
}

func TestIssuerURLIsChecked(t *testing.T) {
	for _, url := range []string{
		"", "login.example.com", "ftp://login.example.com", "https://", "https://login.example.com/",
		"https://login.example.com?x", "https://login.example.com#", "https://login example.com",
	} {
		if _, err := New(Config{URL: url}); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
}

func TestContextEndsARunningIssuer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-r.closed
	if err := r.Close(); err != nil { // waits for the first
		t.Error(err)
	}
	if res, err := http.Get(r.JWKSURL()); err == nil {
		res.Body.Close()
		t.Error("a closed issuer answers")
	}
}
