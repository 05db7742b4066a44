package caddymodule

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	_ "github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile" // the Caddyfile adapter
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy" // what stands behind the module
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"            // where sealing keys are kept
	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
)

// TestMain keeps what Caddy stores out of the home directory.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mcp-app-module-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _, _ = caddy.BufferedLog() // what is logged before a test's own configuration counts
	caddy.DefaultStorage = &certmagic.FileStorage{Path: dir}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// sealKey is a key for tests, so that none is made and stored.
const sealKey = "seal_keys AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"

// open is an endpoint without authentication that shows everything.
const open = "auth {\nmode none\n}\npolicy {\ndefault allow\n}\n"

// load makes a handler out of the lines of a mcp_app block, as Caddy would, and
// with a sealing key of its own.
func load(t testing.TB, lines string) (*Handler, error) {
	t.Helper()
	m := new(Handler)
	text := "mcp_app /mcp {\n" + sealKey + lines + "\n}"
	if err := m.UnmarshalCaddyfile(caddyfile.NewTestDispenser(text)); err != nil {
		t.Fatalf("reading the block: %v", err)
	}
	ctx := newConfiguration(t, t.TempDir()).Context
	t.Cleanup(func() {
		if err := m.Cleanup(); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	if err := m.Provision(ctx); err != nil {
		return nil, err
	}
	m.logger = zap.NewNop()
	return m, m.Validate()
}

// mustLoad is load where nothing may be wrong.
func mustLoad(t testing.TB, lines string) *Handler {
	t.Helper()
	m, err := load(t, lines)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// post builds a POST with a JSON body.
func post(t testing.TB, body string, header map[string]string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://acme.example.com/mcp", strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4711"
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return r
}

// serve runs a request through a handler with next behind it.
func serve(t testing.TB, m *Handler, r *http.Request, next caddyhttp.HandlerFunc) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	if err := m.ServeHTTP(w, prepared(r, w), next); err != nil {
		t.Fatalf("serving: %v", err)
	}
	return w
}

// prepared gives a request what Caddy's server gives it.
func prepared(r *http.Request, w http.ResponseWriter) *http.Request {
	return caddyhttp.PrepareRequest(r, caddy.NewReplacer(), w, nil)
}

// answering is a next handler with a fixed answer.
func answering(status int, header http.Header, body string) caddyhttp.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) error {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, err := w.Write([]byte(body))
		return err
	}
}

// adapt turns a Caddyfile into JSON.
func adapt(text string) (string, error) {
	raw, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	return string(raw), err
}

// validate loads a Caddyfile the way `caddy validate` does.
func validate(t testing.TB, text string) error {
	t.Helper()
	raw, err := adapt(text)
	if err != nil {
		return err
	}
	var config caddy.Config
	if err := json.Unmarshal([]byte(raw), &config); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"logs":{"default":{"writer":{"output":"discard"}}}}`), &config.Logging); err != nil {
		t.Fatal(err)
	}
	return caddy.Validate(&config)
}

// withLocalAddress sets the address on which a connection was accepted.
func withLocalAddress(r *http.Request, address any) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, address))
}
