package token

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	testissuer "github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

const testSecret = "s3cret/+ of%the:gateway"

// runningIssuer is a live issuer that knows us as client "gateway".
func runningIssuer(t testing.TB) *testissuer.Running {
	t.Helper()
	r, err := testissuer.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	r.Register("gateway", testSecret)

	return r
}

func testClient() ClientConfig {
	return ClientConfig{ClientID: "gateway", ClientSecret: testSecret}
}

// goodGrant is accepted by the introspectors of the tests.
func goodGrant() testissuer.Grant {
	return testissuer.Grant{Subject: "ada", Audience: []string{testAudience}, Scopes: []string{"orders.read"}}
}

func opaqueToken(t testing.TB, i *testissuer.Running, changes ...func(*testissuer.Grant)) string {
	t.Helper()
	g := goodGrant()
	for _, change := range changes {
		change(&g)
	}
	token, err := i.IssueOpaque(g)
	if err != nil {
		t.Fatal(err)
	}

	return token
}

func claiming(claims map[string]any) func(*testissuer.Grant) {
	return func(g *testissuer.Grant) { g.Claims = claims }
}

// introspectorFor asks a live issuer. Tests change the configuration.
func introspectorFor(t testing.TB, i *testissuer.Running, changes ...func(*IntrospectConfig)) *Introspector {
	t.Helper()
	config := IntrospectConfig{
		URL: i.IntrospectionURL(), Client: testClient(), Issuer: i.URL, Audiences: []string{testAudience},
	}
	for _, change := range changes {
		change(&config)
	}

	return newTestIntrospector(t, config)
}

func newTestIntrospector(t testing.TB, config IntrospectConfig) *Introspector {
	t.Helper()
	in, err := NewIntrospector(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)

	return in
}

// shiftedClock is the time of day plus what a test has let pass.
type shiftedClock struct{ passed atomic.Int64 }

func (c *shiftedClock) now() time.Time { return time.Now().Add(time.Duration(c.passed.Load())) }

func (c *shiftedClock) pass(d time.Duration) { c.passed.Add(int64(d)) }

// clockOf gives an introspector a clock that the test moves.
func clockOf(in *Introspector) *shiftedClock {
	c := &shiftedClock{}
	in.times.now, in.inquiries.now = c.now, c.now

	return c
}

// formServer is an endpoint on a loopback socket that answers as a test says.
func formServer(t testing.TB, answer func(http.ResponseWriter, *http.Request)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)

	return server
}

// wantSilent fails if an error could give a secret or a token away, in any of
// the forms in which they are sent.
func wantSilent(t testing.TB, err error, tokens ...string) {
	t.Helper()
	r, _ := http.NewRequest(http.MethodPost, "/", nil)
	r.SetBasicAuth("gateway", url.QueryEscape(testSecret))
	_, basic, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	for _, secret := range append(tokens, testSecret, url.QueryEscape(testSecret), "s3cret", basic) {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error gives %q away: %v", secret, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func sprint(v any) string { return fmt.Sprintf("%v %+v %#v", v, v, v) }
