package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/fault"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

const (
	// patience bounds every wait; nothing takes that long unless it is broken.
	patience = 15 * time.Second
	// crowd is how many clients meet a fault at once: what each leaves behind
	// shows.
	crowd = 20

	secret = "secret-canary"
	list   = `{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"shown","inputSchema":{}},{"name":"` + secret + `","inputSchema":{}}]}}`
	event  = `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n\n"

	listTools = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	callTool  = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"shown","arguments":{}}}`
)

// world is a gateway with an injector before everything it depends on.
type world struct {
	*stack.Stack
	upstream, issuer, members *fault.Injector
	server                    *server
	client                    *http.Client
	transport                 *http.Transport
	caddyfile                 []byte
	subjects                  atomic.Int64
	goroutines                int
}

// server is the MCP server: it lists on tools/list, and streams the same list on
// tools/call.
type server struct {
	answer atomic.Pointer[http.HandlerFunc] // in place of its own
	calls  atomic.Int32
	lost   atomic.Int32
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if answer := s.answer.Load(); answer != nil {
		(*answer)(w, r)
		return
	}
	if strings.Contains(string(body), "tools/call") {
		s.calls.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, event+"data: "+list+"\n\n")
		return
	}
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		s.lost.Add(1)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, list)
}

// newWorld starts a gateway. more are lines of the endpoint; prepare is called
// before the gateway starts.
func newWorld(t *testing.T, more string, prepare func(*world)) *world {
	t.Helper()
	w := &world{server: &server{}}
	w.members = inject(t, serve(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, `{"member":true}`)
	})))
	w.upstream = inject(t, serve(t, w.server))
	keys, err := issuer.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	w.issuer = inject(t, strings.TrimPrefix(keys.URL, "http://"))
	if prepare != nil {
		prepare(w)
	}
	w.caddyfile = fmt.Appendf(nil, `{
	admin off
	auto_https off
	persist_config off
	grace_period 1s
	log {
		output {$GATEWAY_LOG:stderr}
	}
}
http://*.localhost:{$GATEWAY_PORT} {
	bind 127.0.0.1
	mcp_app /mcp %s {
		resource http://{http.request.host.labels.1}.localhost:{$GATEWAY_PORT}/mcp
		auth {
			issuer %s {
				jwks_url http://%s/keys
			}
		}
		tenant {
			claim org_id
			require {http.request.host.labels.1}
			allow acme
			members http http://%s {
				ttl 300ms
				timeout 3s
			}
		}
		policy {
			tool shown
		}
		%s
	}
}
`, w.upstream.Addr, keys.URL, w.issuer.Addr, w.members.Addr, more)
	if w.Stack, err = stack.Start(t.Context(), stack.Config{Caddyfile: w.caddyfile, Upstream: w.server}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.transport.CloseIdleConnections()
		if err := w.Close(); err != nil {
			t.Errorf("closing the stack: %v", err)
		}
	})
	_ = w.Issuer.Close() // ours is another one, with an injector before it
	w.Issuer = keys
	w.transport = w.Transport()
	w.transport.MaxIdleConnsPerHost = crowd
	w.client = &http.Client{Transport: w.transport, Timeout: patience}
	return w
}

// serve serves on a free port until the test ends, and returns the address.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.Listener.Addr().String()
}

func inject(t *testing.T, target string) *fault.Injector {
	t.Helper()
	i, err := fault.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

// token is one that the gateway has never seen.
func (w *world) token(t *testing.T) string {
	t.Helper()
	text, err := w.Issuer.Issue(issuer.Grant{
		Subject: fmt.Sprintf("user-%d", w.subjects.Add(1)), Audience: []string{w.URL("acme")},
		Claims: map[string]any{"org_id": "acme"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (w *world) request(ctx context.Context, t *testing.T, token, body string) *http.Request {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, w.URL("acme"), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"},
	}
	if body == "" {
		r.Header.Del("Content-Type")
		r.Header.Set("Accept", "text/event-stream")
	}
	return r
}

// address is the gateway's.
func (w *world) address() string { return fmt.Sprintf("127.0.0.1:%d", w.Port) }

// got is what a client got: a status, or 0 for none, and the body as far as it
// came.
type got struct {
	status int
	body   string
	err    error
}

func (w *world) send(t *testing.T, token, body string) got {
	t.Helper()
	return w.do(w.request(t.Context(), t, token, body))
}

func (w *world) do(r *http.Request) got {
	response, err := w.client.Do(r)
	if err != nil {
		return got{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return got{response.StatusCode, string(body), err}
}

// all sends the same message as many clients at once.
func (w *world) all(t *testing.T, body string, timeout time.Duration) []got {
	t.Helper()
	answers := make([]got, crowd)
	var clients sync.WaitGroup
	for i := range answers {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		request := w.request(ctx, t, w.token(t), body)
		clients.Go(func() {
			defer cancel()
			answers[i] = w.do(request)
		})
	}
	clients.Wait()
	return answers
}

// works checks that everything works, perhaps after a while.
func (w *world) works(t *testing.T, when string) {
	t.Helper()
	token := w.token(t)
	for _, body := range []string{listTools, callTool} {
		var last got
		deadline := time.Now().Add(patience)
		for {
			last = w.send(t, token, body)
			if last.status == http.StatusOK && last.err == nil && strings.Contains(last.body, `"shown"`) {
				break
			}
			if time.Now().After(deadline) {
				log, _ := os.ReadFile(w.LogFile)
				t.Fatalf("%s, nothing works: %+v\n%s", when, last, log[max(0, len(log)-2000):])
			}
			time.Sleep(100 * time.Millisecond)
		}
		noSecret(t, when, last)
	}
}

func noSecret(t *testing.T, when string, answers ...got) {
	t.Helper()
	for _, a := range answers {
		if strings.Contains(a.body, secret) || strings.Contains(a.body, "127.0.0.1") {
			t.Errorf("%s, something inside came out: %s", when, a.body)
		}
	}
}

// settle remembers how many goroutines there are when nothing is wrong.
func (w *world) settle(t *testing.T) {
	t.Helper()
	w.works(t, "before the fault")
	w.all(t, listTools, patience) // what a crowd opens stays open for a while
	w.quiet()
	time.Sleep(200 * time.Millisecond)
	w.goroutines = runtime.NumGoroutine()
}

func (w *world) quiet() {
	w.transport.CloseIdleConnections()
	w.upstream.Break()
	w.members.Break()
	w.issuer.Break()
}

// survive runs a fault and checks what has to hold after each.
func (w *world) survive(t *testing.T, name string, meet func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		met.Add(1)
		w.settle(t)
		meet(t)
		w.server.answer.Store(nil)
		for _, i := range []*fault.Injector{w.upstream, w.members, w.issuer} {
			if err := i.Set(fault.Rule{}); err != nil {
				t.Fatal(err)
			}
		}
		w.works(t, "after the fault")
		statetest.Eventually(t, "no goroutine is left", func() bool {
			w.quiet()
			return runtime.NumGoroutine() < w.goroutines+crowd/2
		})
		if !t.Failed() {
			survived.Add(1)
		}
	})
}

func set(t *testing.T, i *fault.Injector, rule fault.Rule) {
	t.Helper()
	if err := i.Set(rule); err != nil {
		t.Fatal(err)
	}
}

// wantAll checks every answer.
func wantAll(t *testing.T, answers []got, status int, contains string) {
	t.Helper()
	for _, a := range answers {
		if a.status != status || !strings.Contains(a.body, contains) {
			t.Errorf("got %d %q %v, want %d with %q", a.status, a.body, a.err, status, contains)
			break
		}
	}
	noSecret(t, "during the fault", answers...)
}
