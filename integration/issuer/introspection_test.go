package issuer

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// ask posts a form as a client that authenticates by client_secret_basic, or if
// it has no name with what is in the form.
func ask(t *testing.T, url, id, secret string, form url.Values) (status int, answer map[string]any, header http.Header) {
	t.Helper()

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if id != "" {
		req.SetBasicAuth(id, secret)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(body, &answer) // faults send something else

	return res.StatusCode, answer, res.Header
}

func TestIntrospectionTellsWhatTheGrantSays(t *testing.T) {
	i := running(t)
	i.Register("gateway", "s3cret")
	grant := Grant{
		Subject: "ada", Audience: []string{"a", "b"}, Scopes: []string{"x", "y"},
		Claims: map[string]any{"org_id": "acme"},
	}
	opaque, err := i.IssueOpaque(grant)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := i.Issue(grant)
	if err != nil {
		t.Fatal(err)
	}

	for kind, token := range map[string]string{"opaque": opaque, "signed": signed} {
		introspect := func() map[string]any {
			_, answer, _ := ask(t, i.IntrospectionURL(), "gateway", "s3cret", url.Values{"token": {token}})
			return answer
		}
		answer := introspect()
		if answer["active"] != true || answer["sub"] != "ada" || answer["scope"] != "x y" || answer["org_id"] != "acme" ||
			answer["iss"] != i.URL || answer["token_type"] != "Bearer" || answer["exp"] == nil {
			t.Errorf("%s: %v", kind, answer)
		}
		i.Revoke(token)
		if answer := introspect(); !reflect.DeepEqual(answer, map[string]any{"active": false}) {
			t.Errorf("%s, revoked: %v", kind, answer)
		}
	}

	expired, err := i.IssueOpaque(Grant{TTL: -time.Second})
	if err != nil {
		t.Fatal(err)
	}
	changed := signed[:len(signed)-4] + "AAAA"
	for name, token := range map[string]string{"expired": expired, "unknown": "abc", "badly signed": changed, "JWT-like": "a.b.c"} {
		if _, answer, _ := ask(t, i.IntrospectionURL(), "gateway", "s3cret", url.Values{"token": {token}}); answer["active"] != false || len(answer) != 1 {
			t.Errorf("%s: %v", name, answer)
		}
	}
}

func TestClientsAuthenticateByOneMethod(t *testing.T) {
	i := running(t)
	i.Register("a:b c", "p%+ w")
	i.Register("public", "")
	token, err := i.IssueOpaque(Grant{})
	if err != nil {
		t.Fatal(err)
	}

	form := func(members ...string) url.Values {
		values := url.Values{"token": {token}}
		for n := 0; n < len(members); n += 2 {
			values.Set(members[n], members[n+1])
		}
		return values
	}
	id, secret := url.QueryEscape("a:b c"), url.QueryEscape("p%+ w") // RFC 6749 §2.3.1
	for name, tc := range map[string]struct {
		id, secret string
		form       url.Values
		status     int
		code       any
	}{
		"basic":            {id, secret, form(), 200, nil},
		"post":             {"", "", form("client_id", "a:b c", "client_secret", "p%+ w"), 200, nil},
		"public":           {"", "", form("client_id", "public"), 200, nil},
		"wrong secret":     {id, "other", form(), 401, "invalid_client"},
		"unknown client":   {"nobody", "other", form(), 401, "invalid_client"},
		"nothing":          {"", "", form(), 401, "invalid_client"},
		"both methods":     {id, secret, form("client_id", "a:b c", "client_secret", "p%+ w"), 400, "invalid_request"},
		"not form-encoded": {"%zz", secret, form(), 400, "invalid_request"},
		"no token":         {id, secret, url.Values{}, 400, "invalid_request"},
	} {
		status, answer, header := ask(t, i.IntrospectionURL(), tc.id, tc.secret, tc.form)
		if status != tc.status || answer["error"] != tc.code {
			t.Errorf("%s: %d %v", name, status, answer)
		}
		if challenged := header.Get("WWW-Authenticate") != ""; challenged != (status == 401 && tc.id != "") {
			t.Errorf("%s: challenge %q", name, header.Get("WWW-Authenticate"))
		}
	}
}

func TestFaultsReachTheEndpointsOfClients(t *testing.T) {
	i := running(t)
	i.Register("gateway", "s3cret")
	token, err := i.IssueOpaque(Grant{Subject: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	introspect := func() (int, map[string]any, http.Header) {
		return ask(t, i.IntrospectionURL(), "gateway", "s3cret", url.Values{"token": {token}})
	}

	for fault, want := range map[Fault]int{Down: 503, NotFound: 404, Throttled: 429, BrokenJSON: 200, Twice: 200} {
		i.SetFault(Introspection, fault)
		status, _, header := introspect()
		if status != want || fault == Throttled && header.Get("Retry-After") != "7" {
			t.Errorf("%s gives %d %v", fault, status, header)
		}
	}
	i.SetFault(Introspection, WrongIssuer)
	if _, answer, _ := introspect(); answer["iss"] == i.URL || answer["active"] != true {
		t.Errorf("wrong issuer gives %v", answer)
	}
	if n := i.Fetches(Introspection); n != 6 {
		t.Errorf("%d requests counted", n)
	}

	i.SetFault(JWKS, Moved)
	if _, err := http.Get(i.JWKSURL()); err == nil || i.Fetches(JWKS) < 2 {
		t.Errorf("moved to the same place, fetched %d times: %v", i.Fetches(JWKS), err)
	}
	i.SetFault(JWKS, Twice)
	if _, body := fetch(t, i.JWKSURL()); !json.Valid(body) || strings.Count(string(body), `"keys"`) != 2 {
		t.Errorf("every member twice: %s", body)
	}
}

func TestExchangeGivesATokenForTheTarget(t *testing.T) {
	i := running(t)
	i.Register("gateway", "s3cret")
	signed, err := i.Issue(Grant{Subject: "ada", Audience: []string{"front"}, Scopes: []string{"x", "y"}})
	if err != nil {
		t.Fatal(err)
	}
	opaque, err := i.IssueOpaque(Grant{Subject: "ada", Scopes: []string{"x", "y"}, TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	form := func(token string, members ...string) url.Values {
		values := url.Values{
			"grant_type": {exchangeGrant}, "subject_token": {token},
			"subject_token_type": {tokenTypePrefix + "access_token"}, "audience": {"back"},
		}
		for n := 0; n < len(members); n += 2 {
			values.Set(members[n], members[n+1])
			if members[n+1] == "" {
				values.Del(members[n])
			}
		}
		return values
	}

	for token, ttl := range map[string]float64{signed: 300, opaque: 60} {
		status, answer, _ := ask(t, i.TokenURL(), "gateway", "s3cret", form(token, "resource", "https://back.example", "scope", "x"))
		if status != 200 || answer["token_type"] != "Bearer" || answer["issued_token_type"] != tokenTypePrefix+"access_token" ||
			answer["scope"] != "x" || answer["expires_in"].(float64) > ttl || answer["expires_in"].(float64) < ttl-10 {
			t.Fatalf("%d %v", status, answer)
		}
		_, claims, err := verify(t, get[keySet](t, i.JWKSURL()), answer["access_token"].(string))
		if err != nil || claims["sub"] != "ada" || claims["client_id"] != "gateway" || claims["scope"] != "x" ||
			!reflect.DeepEqual(claims["aud"], []any{"back", "https://back.example"}) {
			t.Errorf("%v, %v", claims, err)
		}
	}

	i.Revoke(opaque)
	for name, tc := range map[string]struct {
		form url.Values
		code string
	}{
		"another grant":            {form(signed, "grant_type", "client_credentials"), "unsupported_grant_type"},
		"revoked token":            {form(opaque), "invalid_request"},
		"no token type":            {form(signed, "subject_token_type", ""), "invalid_request"},
		"unknown requested type":   {form(signed, "requested_token_type", tokenTypePrefix+"saml2"), "invalid_request"},
		"no target":                {form(signed, "audience", ""), "invalid_target"},
		"a scope the user has not": {form(signed, "scope", "x admin"), "invalid_scope"},
	} {
		if status, answer, _ := ask(t, i.TokenURL(), "gateway", "s3cret", tc.form); status != 400 || answer["error"] != tc.code {
			t.Errorf("%s: %d %v", name, status, answer)
		}
	}
	if status, answer, _ := ask(t, i.TokenURL(), "gateway", "wrong", form(signed)); status != 401 || answer["error"] != "invalid_client" {
		t.Errorf("wrong secret: %d %v", status, answer)
	}
}
