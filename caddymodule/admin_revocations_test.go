package caddymodule

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// adminCall sends a request to the admin API's routes, and returns status and body;
// those of the error if it is one.
func adminCall(t *testing.T, method, path, contentType, body string) (*httptest.ResponseRecorder, string) {
	t.Helper()
	mux := http.NewServeMux()
	for _, route := range (adminAPI{}).Routes() {
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			err := route.Handler.ServeHTTP(w, r)
			var api caddy.APIError
			switch {
			case errors.As(err, &api):
				http.Error(w, api.Err.Error(), api.HTTPStatus)
			case err != nil:
				t.Errorf("%s %s: %v is no API error", method, path, err)
			}
		})
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w, w.Body.String()
}

func TestAdminRevokes(t *testing.T) {
	s := openTestState(t, newConfiguration(t, t.TempDir()), "")
	if w, body := adminCall(t, "GET", "/mcp_app/revocations", "", ""); w.Code != 200 || body != "{\"revocations\":[]}\n" {
		t.Errorf("nothing revoked: %d %s", w.Code, body)
	}
	if err := s.check(t.Context(), revocable()); err != nil {
		t.Fatal(err)
	}

	w, body := adminCall(t, "POST", "/mcp_app/revocations", "application/json", `{"subject":"alice","issuer":"https://id.example/","ttl":"1h"}`)
	var entry struct{ ID, Subject, Issuer, Expires string }
	if err := json.Unmarshal([]byte(body), &entry); w.Code != 201 || err != nil || entry.Subject != "alice" || entry.Expires == "" {
		t.Fatalf("%d %s, %v", w.Code, body, err)
	}
	if location := w.Header().Get("Location"); location != "/mcp_app/revocations/"+entry.ID {
		t.Errorf("Location %s", location)
	}
	wantKind(t, s.check(t.Context(), revocable()), token.InvalidToken)
	if w, body := adminCall(t, "GET", "/mcp_app/revocations", "", ""); w.Code != 200 || !strings.Contains(body, entry.ID) {
		t.Errorf("the list: %d %s", w.Code, body)
	}

	path := "/mcp_app/revocations/" + entry.ID
	if w, body := adminCall(t, "DELETE", path, "", ""); w.Code != 204 || body != "" {
		t.Errorf("lifting: %d %s", w.Code, body)
	}
	if err := s.check(t.Context(), revocable()); err != nil {
		t.Errorf("lifted: %v", err)
	}
	if w, _ := adminCall(t, "DELETE", path, "", ""); w.Code != 404 {
		t.Errorf("lifting again: %d", w.Code)
	}
}

func TestAdminRefuses(t *testing.T) {
	openTestState(t, newConfiguration(t, t.TempDir()), "")
	const good = `{"jti":"t1"}`
	for _, test := range []struct {
		name, method, path, contentType, body string
		want                                  int
	}{
		{"another method", "PUT", "/mcp_app/revocations", "application/json", good, 405},
		{"deleting everything", "DELETE", "/mcp_app/revocations", "", "", 405},
		{"reading one", "GET", "/mcp_app/revocations/x", "", "", 405},
		{"a form", "POST", "/mcp_app/revocations", "application/x-www-form-urlencoded", good, 415},
		{"plain text", "POST", "/mcp_app/revocations", "text/plain", good, 415},
		{"no type", "POST", "/mcp_app/revocations", "", good, 415},
		{"no JSON", "POST", "/mcp_app/revocations", "application/json", "jti=t1", 400},
		{"an unknown member", "POST", "/mcp_app/revocations", "application/json", `{"jti":"t1","tenants":["acme"]}`, 400},
		{"two things at once", "POST", "/mcp_app/revocations", "application/json", `{"jti":"t1","tenant":"acme"}`, 400},
		{"everything", "POST", "/mcp_app/revocations", "application/json", `{}`, 400},
		{"too much", "POST", "/mcp_app/revocations", "application/json", `{"jti":"` + strings.Repeat("x", maxAdminBody) + `"}`, 413},
		{"an unknown id", "DELETE", "/mcp_app/revocations/x", "", "", 404},
		{"no id", "DELETE", "/mcp_app/revocations/", "", "", 404},
	} {
		w, body := adminCall(t, test.method, test.path, test.contentType, test.body)
		if w.Code != test.want {
			t.Errorf("%s: %d %s, want %d", test.name, w.Code, body, test.want)
		}
		if test.want == 405 && w.Header().Get("Allow") == "" {
			t.Errorf("%s: no Allow", test.name)
		}
	}
}

func TestAdminWithoutState(t *testing.T) {
	if w, body := adminCall(t, "POST", "/mcp_app/revocations", "application/json", `{"jti":"t1"}`); w.Code != 503 {
		t.Errorf("no endpoint: %d %s", w.Code, body)
	}
	server := statetest.StartRedis(t)
	s := openTestState(t, newConfiguration(t, t.TempDir()), `{"name":"redis","url":"`+server.URL+`","timeout":200000000}`)
	if err := s.check(t.Context(), revocable()); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	if w, body := adminCall(t, "POST", "/mcp_app/revocations", "application/json", `{"jti":"t1"}`); w.Code != 503 {
		t.Errorf("Redis is down: %d %s", w.Code, body)
	}
	// Not acknowledged, but in force where it was asked for.
	wantKind(t, s.check(t.Context(), revocable()), token.InvalidToken)
}

// Through Caddy's own admin endpoint.
func TestAdminOverItsSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "admin.sock")
	off := false
	config := &caddy.Config{
		Admin:   &caddy.AdminConfig{Listen: "unix/" + socket, Config: &caddy.ConfigSettings{Persist: &off}},
		Logging: quietLogging(t),
	}
	if err := caddy.Run(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caddy.Stop() })
	s := openTestState(t, newConfiguration(t, t.TempDir()), "")
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	t.Cleanup(client.CloseIdleConnections)
	send := func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://admin"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(answer)
	}
	status, answer := send("POST", "/mcp_app/revocations", `{"tenant":"acme"}`)
	if status != 201 {
		t.Fatalf("revoking: %d %s", status, answer)
	}
	wantKind(t, s.check(t.Context(), revocable()), token.InvalidToken)
	var entry struct{ ID string }
	if err := json.Unmarshal([]byte(answer), &entry); err != nil {
		t.Fatal(err)
	}
	if status, answer := send("POST", "/mcp_app/revocations", `{"tenant":"acme","tenant":"globex"}`); status != 400 || !strings.Contains(answer, "error") {
		t.Errorf("a repeated member: %d %s", status, answer)
	}
	if status, answer := send("DELETE", "/mcp_app/revocations/"+entry.ID, ""); status != 204 {
		t.Errorf("lifting: %d %s", status, answer)
	}
	if err := s.check(t.Context(), revocable()); err != nil {
		t.Errorf("lifted: %v", err)
	}
}

// tokenIssuer publishes one key and signs tokens with it.
type tokenIssuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newTokenIssuer(t testing.TB) *tokenIssuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	i := &tokenIssuer{key: key}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","kid":"k","alg":"ES256","x":%q,"y":%q}]}`, encode(point[1:33]), encode(point[33:]))
	}))
	t.Cleanup(i.Close)
	return i
}

// token is one for alice of the tenant acme.
func (i *tokenIssuer) token(t testing.TB, id string) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	now := time.Now().Unix()
	signed := encode([]byte(`{"typ":"at+jwt","alg":"ES256","kid":"k"}`)) + "." + encode(fmt.Appendf(nil,
		`{"iss":%q,"sub":"alice","aud":"https://acme.example.com/mcp","org":"acme","jti":%q,"iat":%d,"exp":%d,"scope":"x"}`, i.URL, id, now, now+600))
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// endpoint is a handler that takes this issuer's tokens.
func (i *tokenIssuer) endpoint(t testing.TB) *Handler {
	t.Helper()
	return mustLoad(t, "resource https://acme.example.com/mcp\nauth {\nissuer "+i.URL+" {\njwks_url "+i.URL+"\n}\n}\ntenant {\nclaim org\n}\npolicy {\ntool *\n}\nidentity {\nassertion files\n}")
}

func listTools(t *testing.T, bearer string) *http.Request {
	t.Helper()
	return post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, map[string]string{
		"Authorization": "Bearer " + bearer, "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2025-06-18", "X-Mcp-App-Assertion": "forged",
	})
}

var noTools = answering(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)

// A revocation holds for the next message and ends what is open; other tokens
// of the same caller go on.
func TestRevokedTokenOpensNothingAndEndsStreams(t *testing.T) {
	issuer := newTokenIssuer(t)
	m := issuer.endpoint(t)
	// What is revoked stays in the storage, which the tests of the package share.
	id := rand.Text()
	revoked := issuer.token(t, id)
	if w := serve(t, m, listTools(t, revoked), noTools); w.Code != http.StatusOK {
		t.Fatalf("before: %d %s", w.Code, w.Body)
	}
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://acme.example.com/mcp", nil)
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("Authorization", "Bearer "+revoked)
		r.Header.Set("Accept", "text/event-stream")
		w := httptest.NewRecorder()
		stream := func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			close(begun)
			<-r.Context().Done()
			return r.Context().Err()
		}
		if err := m.ServeHTTP(w, prepared(r, w), caddyhttp.HandlerFunc(stream)); err != nil {
			t.Error(err)
		}
	}()
	<-begun
	asked := time.Now()
	if w, body := adminCall(t, "POST", "/mcp_app/revocations", "application/json", `{"jti":"`+id+`"}`); w.Code != http.StatusCreated {
		t.Fatalf("revoking: %d %s", w.Code, body)
	}
	<-ended
	if took := time.Since(asked); took > time.Second {
		t.Errorf("the stream went on for %s", took)
	}
	if w := serve(t, m, listTools(t, revoked), noTools); w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("after: %d %v", w.Code, w.Header())
	}
	if w := serve(t, m, listTools(t, issuer.token(t, rand.Text())), noTools); w.Code != http.StatusOK {
		t.Errorf("another token: %d %s", w.Code, w.Body)
	}
}
