package doctor

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/doctor"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// middleware is a fault of something that stands in the way.
type middleware func(next http.Handler) http.Handler

// swap is a handler whose fault can be changed while it serves.
type swap struct {
	mu    sync.RWMutex
	next  http.Handler
	fault http.Handler // nil: none
}

func (s *swap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	handler := s.next
	if s.fault != nil {
		handler = s.fault
	}
	s.mu.RUnlock()
	handler.ServeHTTP(w, r)
}

// to says what is served without a fault.
func (s *swap) to(next http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = next
}

// set makes something go wrong, or nothing with nil.
func (s *swap) set(m middleware) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = nil
	if m != nil {
		s.fault = m(s.next)
	}
}

// clinic is the sample server behind the gateway, which is behind a proxy of
// ours, beside an authorization server that ChatGPT could use.
type clinic struct {
	*stack.Stack
	front, behind *swap
	authority     *swap
	issuer        *issuer.Issuer
	url           string // of the proxy
	token         string
}

// site is a configuration that nothing is wrong with.
const site = `{
	admin off
	auto_https off
	persist_config off
	grace_period 1s
	log {
		output {$GATEWAY_LOG:stderr}
	}
}

http://127.0.0.1:{$GATEWAY_PORT} {
	mcp_app /mcp {$WORKSPACE} {
		resource {$FRONT}/mcp
		auth {
			issuer {$AUTHORITY} {
				jwks_url {$AUTHORITY}/keys
			}
			scopes mcp.use
		}
		tenant {
			claim org_id
			require acme
			allow acme
		}
		policy {
			tool *
			prompt *
			resource *
			template *
		}
		openai {
			entrypoint workspace.home global
			display ui://workspace/* inline fullscreen
			settings settings.read settings.update
		}
		origins https://chatgpt.com
	}
	respond 404
}
`

func start(t *testing.T) *clinic {
	t.Helper()
	c := &clinic{front: &swap{}, behind: &swap{}, authority: &swap{}}
	front := serve(t, c.front)
	c.url = front + "/mcp"
	authority := serve(t, c.authority)
	var err error
	if c.issuer, err = issuer.New(issuer.Config{URL: authority}); err != nil {
		t.Fatal(err)
	}
	c.authority.to(completed(c.issuer.Handler(), authority))
	server, err := workspace.Open(t.Context(), workspace.Config{JSON: true})
	if err != nil {
		t.Fatal(err)
	}
	c.behind.to(server.Handler())
	t.Setenv("FRONT", front)
	t.Setenv("AUTHORITY", authority)
	c.Stack, err = stack.Start(t.Context(), stack.Config{Caddyfile: []byte(site), Upstream: c.behind})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	gateway := &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", c.Port)}
	c.front.to(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(gateway)
		r.Out.Host = gateway.Host
	}})
	c.token = c.issue(t, issuer.Grant{})
	return c
}

// issue makes a token of somebody of acme.
func (c *clinic) issue(t *testing.T, g issuer.Grant) string {
	t.Helper()
	claims := map[string]any{"org_id": "acme"}
	maps.Copy(claims, g.Claims)
	g.Subject, g.Claims = "erin", claims
	if g.Audience == nil {
		g.Audience = []string{c.url}
	}
	if g.Scopes == nil {
		g.Scopes = []string{"mcp.use"}
	}
	made, err := c.issuer.Issue(g)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// serve runs a handler until the test ends and returns its address.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// completed adds to the issuer's documents what ChatGPT needs and the issuer
// does not have.
func completed(next http.Handler, base string) http.Handler {
	register := http.NewServeMux()
	register.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
	})
	register.Handle("/", edit(func(path string) bool { return strings.Contains(path, "/.well-known/") }, func(document map[string]any) {
		document["registration_endpoint"] = base + "/register"
		document["grant_types_supported"] = []string{"authorization_code", "refresh_token"}
	})(next))
	return register
}

// edit changes JSON objects that are answered for some paths.
func edit(which func(path string) bool, change func(document map[string]any)) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !which(r.URL.Path) {
				next.ServeHTTP(w, r)
				return
			}
			answer := record(next, r)
			var document map[string]any
			if json.Unmarshal(answer.Body.Bytes(), &document) == nil {
				change(document)
				answer.Body.Reset()
				_ = json.NewEncoder(answer.Body).Encode(document)
			}
			replay(w, answer)
		})
	}
}

func record(next http.Handler, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	return answer
}

func replay(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), answer.Header())
	w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// method reads which MCP method a request is about and leaves its body whole.
func method(r *http.Request) string {
	if r.Method != http.MethodPost {
		return ""
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	var message struct{ Method string }
	_ = json.Unmarshal(body, &message)
	return message.Method
}

// results changes the results of one method.
func results(of string, change func(result map[string]any)) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if method(r) != of {
				next.ServeHTTP(w, r)
				return
			}
			edit(func(string) bool { return true }, func(message map[string]any) {
				if result, ok := message["result"].(map[string]any); ok {
					change(result)
				}
			})(next).ServeHTTP(w, r)
		})
	}
}

// tool changes one tool of the list.
func tool(name string, change func(tool map[string]any)) middleware {
	return results("tools/list", func(result map[string]any) {
		tools, _ := result["tools"].([]any)
		for _, element := range tools {
			if one, ok := element.(map[string]any); ok && one["name"] == name {
				change(one)
			}
		}
	})
}

// answers replaces the answer to some requests.
func answers(which func(r *http.Request) bool, answer http.HandlerFunc) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if which(r) {
				answer(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// headers changes the headers of answers to some requests as they leave.
func headers(which func(r *http.Request) bool, change func(h http.Header)) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !which(r) {
				next.ServeHTTP(w, r)
				return
			}
			answer := record(next, r)
			change(answer.Header())
			replay(w, answer)
		})
	}
}

func status(code int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// path matches requests for one path.
func path(p string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Path == p }
}

// asks matches MCP requests of a method.
func asks(name string) func(*http.Request) bool {
	return func(r *http.Request) bool { return method(r) == name }
}

// doctorFor makes the doctor that the command makes.
func (c *clinic) doctorFor() *doctor.Doctor {
	return &doctor.Doctor{
		Target: discovery.Target{URL: c.url, Token: c.token}, Timeout: 20 * time.Second, StreamWait: 3 * time.Second,
		IssuerMetadata: token.IssuerMetadataURLs,
		Challenge: func(value string) (doctor.Challenge, error) {
			found, err := token.ParseChallenge(value)
			return doctor.Challenge{Metadata: found.ResourceMetadata, Scopes: found.Scopes, Error: found.Error}, err
		},
	}
}

// ids are the codes of a report's findings, each once, of at least a severity.
func ids(report *doctor.Report, least openai.Severity) []string {
	report.Worst(least)
	var found []string
	for _, f := range report.Findings {
		found = append(found, f.ID)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

var discarded = log.New(io.Discard, "", 0)

func authorized(r *http.Request) bool { return r.Header.Get("Authorization") != "" }

// id is that of a JSON-RPC request.
func id(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	var message struct{ ID json.RawMessage }
	_ = json.Unmarshal(body, &message)
	return string(message.ID)
}

func compress(w io.Writer, text string) {
	z := gzip.NewWriter(w)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
}
