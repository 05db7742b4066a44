package caddymodule

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
)

// readyOf asks until want is the answer, and returns the last one.
func readyOf(t *testing.T, want int, list ...*Handler) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		w := httptest.NewRecorder()
		if err := writeReady(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp_app/ready", nil), list); err != nil {
			t.Fatal(err)
		}
		if w.Code == want || time.Now().After(deadline) {
			if w.Code != want {
				t.Errorf("%d %s, want %d", w.Code, w.Body, want)
			}
			return w.Body.String()
		}
	}
}

func TestAnEndpointIsReadyOnceItsKeysAreThere(t *testing.T) {
	issuer := newTokenIssuer(t)
	lines := func(jwks string) string {
		return "resource https://acme.example.com/mcp\nauth {\nissuer " + issuer.URL + " {\njwks_url " + jwks + "\n}\n}\npolicy {\ntool *\n}"
	}
	good := mustLoad(t, lines(issuer.URL))
	if body := readyOf(t, http.StatusOK, good); !strings.Contains(body, `"ready":true`) {
		t.Errorf("no message came before, and the answer is %s", body)
	}
	down := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(down.Close)
	bad := mustLoad(t, lines(down.URL+"/keys"))
	body := readyOf(t, http.StatusServiceUnavailable, good, bad)
	var answer struct{ Endpoints []readiness }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Endpoints) != 2 || !answer.Endpoints[0].Ready || answer.Endpoints[1].Ready || len(answer.Endpoints[1].Reasons) != 1 {
		t.Errorf("%s, %v", body, err)
	}
}

func TestNothingConfiguredIsNotReady(t *testing.T) {
	readyOf(t, http.StatusServiceUnavailable)
	if w, body := adminCall(t, http.MethodPost, "/mcp_app/ready", "application/json", "{}"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d %s", w.Code, body)
	}
}

// probedStorage answers a Load and counts everything else as a change.
type probedStorage struct {
	certmagic.Storage
	load func(context.Context) ([]byte, error)
}

func (s probedStorage) Load(ctx context.Context, _ string) ([]byte, error) { return s.load(ctx) }

func TestAProbeMakesNoSealingKey(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, test := range []struct{ found, want error }{{fs.ErrNotExist, nil}, {broken, broken}} {
		s := &sealKeys{source: storageKeys{probedStorage{load: func(context.Context) ([]byte, error) { return nil, test.found }}}, sealCache: new(sealCache)}
		// The storage panics at Lock and Store.
		if err := s.probe(t.Context()); !errors.Is(err, test.want) {
			t.Errorf("%v: %v, want %v", test.found, err, test.want)
		}
	}
}

func TestAProbeWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &sealKeys{source: storageKeys{probedStorage{load: func(context.Context) ([]byte, error) {
			<-release
			return nil, fs.ErrNotExist
		}}}, sealCache: new(sealCache)}
		s.mu.Lock() // somebody is making the key
		ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
		defer cancel()
		if err := s.probe(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a storage that hangs: %v", err)
		}
		for range 3 {
			if err := s.probe(t.Context()); !errors.Is(err, errBusy) {
				t.Errorf("another probe meanwhile: %v", err)
			}
		}
		close(release)
		synctest.Wait()
		if err := s.probe(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
