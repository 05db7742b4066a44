package token

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// documentServer is an authorization server whose metadata can be changed.
type documentServer struct {
	*httptest.Server
	asked  atomic.Int32
	answer atomic.Value // http.HandlerFunc
}

func newDocumentServer(t *testing.T) *documentServer {
	t.Helper()
	s := &documentServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		s.answer.Load().(http.HandlerFunc)(w, r)
	}))
	t.Cleanup(s.Close)

	return s
}

func (s *documentServer) serve(h http.HandlerFunc) { s.answer.Store(h) }

// serveAt serves a body at one path and 404 elsewhere.
func (s *documentServer) serveAt(path, body string, header map[string]string) {
	s.serve(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		for name, value := range header {
			w.Header().Set(name, value)
		}
		_, _ = w.Write([]byte(body))
	})
}

// documentOf is the document of an issuer, with a clock of the test's.
func documentOf(t *testing.T, issuer string) (*IssuerDocument, func(time.Duration)) {
	t.Helper()
	d, err := NewIssuerDocument(issuer, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	var passed atomic.Int64
	began := time.Now()
	d.now = func() time.Time { return began.Add(time.Duration(passed.Load())) }

	return d, func(by time.Duration) { passed.Add(int64(by)) }
}

const authorizationServer = "/.well-known/oauth-authorization-server"

func TestOnlyTheIssuersOwnMetadataIsPassedOn(t *testing.T) {
	s := newDocumentServer(t)
	good := fmt.Sprintf(`{"issuer":%q,"token_endpoint":"%s/token", "x":[1]}`, s.URL+"/a", s.URL)
	for name, tt := range map[string]struct {
		path, body string
		want       string // the reason, "" for the document as it is
	}{
		"as RFC 8414 says":             {authorizationServer + "/a", good, ""},
		"as OpenID Connect inserts":    {"/.well-known/openid-configuration/a", good, ""},
		"as OpenID Connect appends":    {"/a/.well-known/openid-configuration", good, ""},
		"nowhere":                      {"/elsewhere", good, "status 404"},
		"of another issuer":            {authorizationServer + "/a", strings.Replace(good, "/a\"", "/b\"", 1), "is of issuer"},
		"of an issuer with a slash":    {authorizationServer + "/a", strings.Replace(good, "/a\"", "/a/\"", 1), "is of issuer"},
		"of nobody":                    {authorizationServer + "/a", `{}`, "is of issuer"},
		"of two issuers":               {authorizationServer + "/a", strings.Replace(good, "{", `{"issuer":"https://evil.example",`, 1), "reading metadata"},
		"no object":                    {authorizationServer + "/a", `[]`, "reading metadata"},
		"a page":                       {authorizationServer + "/a", `<html>`, "reading metadata"},
		"too long":                     {authorizationServer + "/a", strings.Replace(good, "[1]", `"`+strings.Repeat("a", maxIssuerDocument)+`"`, 1), "longer than"},
		"far too long":                 {authorizationServer + "/a", strings.Repeat("a", 2<<20), "longer than"},
		"with something behind it":     {authorizationServer + "/a", good + "x", "reading metadata"},
		"with a name that looks alike": {authorizationServer + "/a", strings.Replace(good, `"issuer"`, `"Issuer"`, 1), "is of issuer"},
	} {
		t.Run(name, func(t *testing.T) {
			s.serveAt(tt.path, tt.body, nil)
			d, _ := documentOf(t, s.URL+"/a")
			got, err := d.Get(t.Context())
			if tt.want == "" && (err != nil || string(got) != tt.body) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || got != nil) {
				t.Errorf("got %.80s, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// A secure issuer does not send clients to places that are not.
func TestMetadataOfASecureIssuerNamesNothingInsecure(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"issuer":"https://login.example","token_endpoint":"https://login.example/token"}`: true,
		`{"issuer":"https://login.example","token_endpoint":"http://login.example/token"}`:  false,
		`{"issuer":"https://login.example","authorization_endpoint":"javascript:alert(1)"}`: false,
		`{"issuer":"https://login.example","jwks_uri":7}`:                                   false,
	} {
		d := must(NewIssuerDocument("https://login.example", roundTrip(func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			_, _ = w.WriteString(body)
			return w.Result(), nil
		})))
		if _, err := d.Get(t.Context()); (err == nil) != ok {
			t.Errorf("%s: %v, want accepted %v", body, err, ok)
		}
	}
	for _, issuer := range []string{"http://login.example", "ftp://login.example", "https://login.example?x=1", ""} {
		if _, err := NewIssuerDocument(issuer, nil); err == nil {
			t.Errorf("the issuer %q is accepted", issuer)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// However many ask, the authorization server is asked once until the document is
// old, and after a failure once in a while; the last good one outlives a day.
func TestTheAuthorizationServerIsAskedRarely(t *testing.T) {
	s := newDocumentServer(t)
	body := fmt.Sprintf(`{"issuer":%q}`, s.URL)
	expect := func(what string, d *IssuerDocument, more int32, ok bool) {
		t.Helper()
		before := s.asked.Load()
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if got, err := d.Get(t.Context()); (err == nil) != ok || ok && string(got) != body {
					t.Errorf("%s: %s, %v", what, got, err)
				}
			})
		}
		group.Wait()
		if asked := s.asked.Load() - before; asked != more {
			t.Errorf("%s: asked %d times, want %d", what, asked, more)
		}
	}
	for header, kept := range map[string]time.Duration{
		"": refreshByDefault, "max-age=300": 5 * time.Minute, "no-store": minDocumentAge, "max-age=1": minDocumentAge, "max-age=99999999": maxDocumentAge,
	} {
		d, pass := documentOf(t, s.URL)
		s.serveAt(authorizationServer, body, map[string]string{"Cache-Control": header})
		expect(header+", at first", d, 1, true)
		pass(kept - time.Second)
		expect(header+", while it is fresh", d, 0, true)
		pass(2 * time.Second)
		expect(header+", when it is old", d, 1, true)

		s.serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		pass(kept + time.Second)
		expect(header+", in an outage", d, 2, true) // both addresses of it
		expect(header+", right after", d, 0, true)
		pass(documentRetry + time.Second)
		expect(header+", a while after", d, 2, true)
		pass(DefaultMaxStale)
		expect(header+", a day after", d, 2, false)
		expect(header+", and right after that", d, 0, false)
		s.serveAt(authorizationServer, body, nil)
		pass(documentRetry + time.Second)
		expect(header+", when it is back", d, 1, true)
	}
}

// A server that says nothing holds a caller up for a moment only, and is sent
// nothing of the caller's.
func TestASilentAuthorizationServerHoldsNobodyUp(t *testing.T) {
	s := newDocumentServer(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	var header http.Header
	arrived := make(chan struct{}, 1)
	s.serve(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	d, _ := documentOf(t, s.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if got, err := d.Get(ctx); err == nil || got != nil {
		t.Errorf("got %s, %v", got, err)
	}
	for name := range header {
		switch name {
		case "Accept", "Accept-Encoding", "User-Agent":
		default:
			t.Errorf("the header %s is sent", name)
		}
	}
}
