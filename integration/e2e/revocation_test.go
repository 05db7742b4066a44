package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

// administered is a Caddyfile whose admin API listens on a socket of its own.
func administered(t *testing.T, body string) (caddyfile []byte, admin *http.Client) {
	t.Helper()
	dir, err := os.MkdirTemp("", "adm") // short: paths of sockets are bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := dir + "/s"
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	// A reload replaces this listener as well.
	return []byte(strings.Replace(string(site(body)), "admin off", "admin unix/"+socket, 1)), &http.Client{Transport: retrying{transport}}
}

// revoke takes access back, as the README says.
func revoke(t *testing.T, admin *http.Client, what string) (undo func()) {
	t.Helper()
	a := askAdmin(t, admin, http.MethodPost, "/mcp_app/revocations", what)
	wantStatus(t, "revoking "+what, a, http.StatusCreated)
	return func() {
		t.Helper()
		wantStatus(t, "taking back "+what, askAdmin(t, admin, http.MethodDelete, a.header.Get("Location"), ""), http.StatusNoContent)
	}
}

func askAdmin(t *testing.T, admin *http.Client, method, path, body string) *answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := admin.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, response)
}

// pongOrStream answers messages, and keeps GET streams open until the client is
// gone.
func pongOrStream() http.Handler {
	message := answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json"}, `{"jsonrpc":"2.0","id":7,"result":{}}`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			silentStream(nil, make(chan struct{})).ServeHTTP(w, r)
			return
		}
		message.ServeHTTP(w, r)
	})
}

// endOf tells when a stream ends.
func endOf(stream *http.Response) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stream.Body)
	}()
	return ended
}

// withinASecond waits for the end of a stream, and allows a busy machine a
// little more than the promise.
func withinASecond(t *testing.T, what string, stream io.Reader) {
	t.Helper()
	began, ended := time.Now(), make(chan error, 1)
	go func() {
		_, err := io.ReadAll(stream)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%s: not a clean end: %v", what, err)
		}
		t.Logf("%s: ended after %s", what, time.Since(began).Round(time.Millisecond))
	case <-time.After(5 * time.Second):
		t.Fatalf("%s: the stream goes on", what)
	}
}

// states are the places where revocations can be kept.
func states(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"memory": "state memory\n", "redis": "state redis " + statetest.StartRedis(t).URL + "\n"}
}

func TestARevocationCountsForTheNextMessageAndOpenStreams(t *testing.T) {
	for name, line := range states(t) {
		t.Run(name, func(t *testing.T) {
			caddyfile, admin := administered(t, endpoint(allTools+line))
			g := start(t, stackWith(caddyfile, pongOrStream()))
			for what, request := range map[string]string{
				"the token":   `{"jti":"token-of-erin"}`,
				"the subject": `{"issuer":"` + g.Issuer.URL + `","subject":"erin@acme"}`,
				"the tenant":  `{"tenant":"acme"}`,
				"old tokens":  fmt.Sprintf(`{"tenant":"acme","issued_before":%q}`, time.Now().Add(time.Minute).UTC().Format(time.RFC3339)),
			} {
				grant := g.grant(editor("acme"))
				grant.Claims["jti"] = "token-of-erin"
				c := g.nobody()
				c.header.Set("Authorization", "Bearer "+g.issue(t, grant))
				other := g.bearer(t, viewer("globex"))
				stream, foreign := c.get(t.Context(), t, nil), endOf(other.get(t.Context(), t, nil))
				wantStatus(t, what+", before", c.post(t, pingMessage, nil), http.StatusOK)

				undo := revoke(t, admin, request)
				a := c.post(t, pingMessage, nil)
				wantStatus(t, what+", the next message", a, http.StatusUnauthorized)
				if params := challengeOf(t, a); params["error"] != "invalid_token" || params["resource_metadata"] == "" {
					t.Errorf("%s: challenge %v", what, params)
				}
				withinASecond(t, what, stream.Body)
				wantStatus(t, what+", somebody else", other.post(t, pingMessage, nil), http.StatusOK)
				select {
				case <-foreign:
					t.Errorf("%s: the stream of somebody else ended too", what)
				default:
				}

				admin.CloseIdleConnections()
				if err := g.reload(t, caddyfile); err != nil {
					t.Fatal(err)
				}
				wantStatus(t, what+", after a reload", c.post(t, pingMessage, nil), http.StatusUnauthorized)
				undo()
				wantStatus(t, what+", taken back", c.post(t, pingMessage, nil), http.StatusOK)
			}
		})
	}
}

// replica starts a Caddy of a process of its own for the same resource, as
// behind a load balancer, and returns how acme reaches it.
func (g *gateway) replica(t *testing.T, body string) (client *http.Client, url string) {
	t.Helper()
	port := statetest.FreePort(t)
	startReplica(t, []byte(strings.ReplaceAll(string(site(body)), "localhost:{$GATEWAY_PORT}/mcp", fmt.Sprintf("localhost:%d/mcp", g.Port))), port)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", port))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, strings.Replace(g.URL("acme"), fmt.Sprint(g.Port), fmt.Sprint(port), 1)
}

// Two Caddys, each a process of its own, know the same revocations where they
// share a Redis.
func TestAnotherCaddyFollowsARevocation(t *testing.T) {
	redis := statetest.StartRedis(t)
	caddyfile, admin := administered(t, endpoint(allTools+"state redis "+redis.URL+" {\nmax_stale 2s\n}\n"))
	g := start(t, stackWith(caddyfile, pongOrStream()))

	here := g.bearer(t, editor("acme"))
	client, url := g.replica(t, endpoint(allTools+"state redis "+redis.URL+" {\nmax_stale 2s\n}\n"))
	there := &caller{client, url, legacy, here.header}
	wantStatus(t, "here", here.post(t, pingMessage, nil), http.StatusOK)
	wantStatus(t, "there", there.post(t, pingMessage, nil), http.StatusOK)
	stream := there.get(t.Context(), t, nil)
	revoke(t, admin, `{"issuer":"`+g.Issuer.URL+`","subject":"erin@acme"}`)
	wantStatus(t, "here", here.post(t, pingMessage, nil), http.StatusUnauthorized)
	withinASecond(t, "the stream at the other Caddy", stream.Body)
	wantStatus(t, "there", there.post(t, pingMessage, nil), http.StatusUnauthorized)
	viewer := &caller{there.client, there.url, legacy, g.bearer(t, viewer("acme")).header}
	wantStatus(t, "somebody else, there", viewer.post(t, pingMessage, nil), http.StatusOK)

	// Without the shared state nobody is let in, once what is known is too old.
	redis.Stop()
	eventually(t, "nobody is let in", func() bool { return viewer.post(t, pingMessage, nil).status == http.StatusServiceUnavailable })
	if a := viewer.post(t, pingMessage, nil); a.header.Get("Retry-After") == "" || a.header.Get("WWW-Authenticate") != "" {
		t.Errorf("headers %v", a.header)
	}
}
