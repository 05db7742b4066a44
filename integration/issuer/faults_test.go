package issuer

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

func TestFaultsSpoilOneDocumentAndCountFetches(t *testing.T) {
	i := running(t)
	oauth := i.URL + "/.well-known/oauth-authorization-server"
	oidc := i.URL + "/.well-known/openid-configuration"

	for fault, want := range map[Fault]int{Down: 503, NotFound: 404, BrokenJSON: 200, EmptySet: 200} {
		i.SetFault(JWKS, fault)
		status, body := fetch(t, i.JWKSURL())
		if status != want {
			t.Errorf("%s gives %d, want %d", fault, status, want)
		}
		switch fault {
		case BrokenJSON:
			if json.Valid(body) {
				t.Errorf("%s gives %s", fault, body)
			}
		case EmptySet:
			if string(body) != `{"keys":[]}` {
				t.Errorf("%s gives %s", fault, body)
			}
		}
	}
	i.SetFault(JWKS, None)
	if n := len(get[keySet](t, i.JWKSURL()).Keys); n != 3 {
		t.Errorf("%d keys after the faults, want 3", n)
	}

	i.SetFault(OAuthMetadata, WrongIssuer)
	if m := get[metadata](t, oauth); m.Issuer == i.URL {
		t.Error("the wrong issuer is the right one")
	}
	if m := get[metadata](t, oidc); m.Issuer != i.URL {
		t.Error("a fault of one document reached another")
	}

	for document, want := range map[Document]int{JWKS: 5, OAuthMetadata: 1, OIDCMetadata: 1} {
		if got := i.Fetches(document); got != want {
			t.Errorf("%s fetched %d times, want %d", document, got, want)
		}
	}
}

// A slow answer must be slow by nothing but the test's own will.
func TestSlowHoldsAnswersUntilLifted(t *testing.T) {
	i := running(t)
	i.SetFault(JWKS, Slow)

	answered := make(chan int, 1)
	go func() {
		res, err := http.Get(i.JWKSURL())
		if err != nil {
			answered <- 0
			return
		}
		defer res.Body.Close()
		answered <- res.StatusCode
	}()

	for i.Fetches(JWKS) == 0 {
		select {
		case status := <-answered:
			t.Fatalf("answered %d at once", status)
		default:
			runtime.Gosched()
		}
	}
	select {
	case status := <-answered:
		t.Fatalf("answered %d while slow", status)
	default:
	}

	i.SetFault(JWKS, None)
	if status := <-answered; status != http.StatusOK {
		t.Errorf("answered %d after all", status)
	}
}

func TestSlowLetsGoOfClientsThatLeave(t *testing.T) {
	i, err := New(Config{URL: "https://login.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	i.SetFault(JWKS, Slow)

	ctx, cancel := context.WithCancel(t.Context())
	let := make(chan struct{})
	go func() {
		defer close(let)
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, i.JWKSURL(), nil)
		i.Handler().ServeHTTP(httptest.NewRecorder(), req)
	}()
	for i.Fetches(JWKS) == 0 {
		runtime.Gosched()
	}
	cancel()
	<-let
}

func TestEndlessBodyHasNoEnd(t *testing.T) {
	i := running(t)
	i.SetFault(JWKS, Endless)

	res, err := http.Get(i.JWKSURL())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	const more = 8 << 20 // than any key set may have
	body, err := io.ReadAll(io.LimitReader(res.Body, more))
	if err != nil || len(body) != more || !bytes.HasPrefix(body, []byte(`{"keys":[`)) {
		t.Errorf("read %d bytes, %v", len(body), err)
	}
}
