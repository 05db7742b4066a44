package replicas

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

// resource is the one name of the replicas.
const resource = "https://mcp.example.com/mcp"

// group is some replicas before the sample server, which puts one item on a page
// of a list, and an issuer.
type group struct {
	upstream string
	redis    *statetest.Redis
	issuer   *issuer.Running
	replicas []*replica
}

func startGroup(t *testing.T) *group {
	t.Helper()
	server, err := workspace.Open(t.Context(), workspace.Config{PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		upstream.Close()
	})
	g := &group{upstream: strings.TrimPrefix(upstream.URL, "http://"), redis: statetest.StartRedis(t)}
	if g.issuer, err = issuer.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.add(t)
	g.add(t)
	return g
}

// add starts one more replica.
func (g *group) add(t *testing.T) *replica {
	t.Helper()
	r := start(t, g.upstream, g.redis.URL, fmt.Sprintf(`resource %s
		auth {
			issuer %[2]s {
				jwks_url %[2]s/keys
			}
		}
		tenant {
			claim org_id
		}
		rate_limit 12 1h per principal tools get_deck`, resource, g.issuer.URL))
	g.replicas = append(g.replicas, r)
	return r
}

func (g *group) token(t *testing.T, subject, id string) string {
	t.Helper()
	token, err := g.issuer.Issue(issuer.Grant{Subject: subject, Audience: []string{resource}, Claims: map[string]any{"org_id": "acme", "jti": id}})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// turns sends each request to the next replica, as a balancer without memory.
type turns struct {
	token    string
	replicas []*replica
	next     atomic.Int64
}

func (a *turns) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(a.replicas[a.next.Add(1)%int64(len(a.replicas))].url)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = to.Scheme, to.Host
	r.Header.Set("Authorization", "Bearer "+a.token)
	return http.DefaultTransport.RoundTrip(r)
}

// connect opens a session of the Go SDK's client over all replicas in turn.
func (g *group) connect(t *testing.T, era, token string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "replicas", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: g.replicas[0].url, HTTPClient: &http.Client{Transport: &turns{token: token, replicas: g.replicas}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != era {
		t.Fatalf("negotiated %s, want %s", got, era)
	}
	return session
}

// tools reads the list, which has one tool on a page and so a cursor for each.
func tools(t *testing.T, session *mcp.ClientSession) (n int) {
	t.Helper()
	for _, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatalf("after %d tools: %v", n, err)
		}
		n++
	}
	return n
}

// A client whose every request reaches another replica notices nothing: neither
// in its session nor on the pages of a list, also not when a replica is replaced
// by a new one.
func TestAClientMayAlternateBetweenReplicas(t *testing.T) {
	g, whole := startGroup(t), t
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			session := g.connect(t, era, g.token(t, "ann", "ann1"))
			if n := tools(t, session); n < 10 {
				t.Fatalf("%d tools", n)
			}
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					title := fmt.Sprint("deck ", era, i)
					result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "create_deck", Arguments: map[string]any{"title": title}})
					if err != nil || result.IsError {
						t.Errorf("%s: %v, %v", title, err, result)
					}
				})
			}
			all.Wait()
			if err := g.replicas[1].process.Kill(); err != nil {
				t.Fatal(err)
			}
			*g.replicas[1] = *g.add(whole) // lives for both eras
			g.replicas = g.replicas[:2]
			if n := tools(t, session); n < 10 {
				t.Errorf("with a new replica: %d tools", n)
			}
		})
	}
}

// What is revoked at one is refused by all, also when the one is killed as soon
// as it has said so; and a new replica knows it from the start.
func TestARevocationIsKnownToAllReplicas(t *testing.T) {
	g := startGroup(t)
	for round := range 3 {
		first := g.replicas[0]
		token, other := g.token(t, "ann", fmt.Sprint("id", round)), g.token(t, "ann", fmt.Sprint("other", round))
		for _, r := range g.replicas {
			if status := r.list(t, token); status != http.StatusOK {
				t.Fatalf("before: %d", status)
			}
		}
		answer := send(t, first.admin, "http://admin/mcp_app/revocations", fmt.Sprintf(`{"jti":"id%d"}`, round), nil)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusCreated {
			t.Fatalf("revoking: %s", answer.Status)
		}
		if err := first.process.Kill(); err != nil {
			t.Fatal(err)
		}
		g.replicas = g.replicas[1:]
		added := g.add(t)
		for _, r := range g.replicas {
			statetest.Eventually(t, "the revocation at the other", func() bool { return r.list(t, token) == http.StatusUnauthorized })
			if status := r.list(t, other); status != http.StatusOK {
				t.Errorf("another token of the same caller: %d", status)
			}
		}
		// What a new replica has not learned yet it does not let in.
		if status := added.list(t, token); status != http.StatusUnauthorized {
			t.Errorf("the new replica: %d", status)
		}
	}
}

// A limit is one for all replicas, exact to the call.
func TestALimitIsOneForAllReplicas(t *testing.T) {
	g := startGroup(t)
	token := g.token(t, "ann", "ann1")
	var within, beyond atomic.Int32
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			switch status := g.replicas[i%2].tool(t, token, "get_deck"); status {
			case http.StatusOK:
				within.Add(1)
			case http.StatusTooManyRequests:
				beyond.Add(1)
			default:
				t.Errorf("status %d", status)
			}
		})
	}
	all.Wait()
	if within.Load() != 12 || beyond.Load() != 18 {
		t.Errorf("%d within and %d beyond a limit of 12", within.Load(), beyond.Load())
	}
	if status := g.replicas[0].tool(t, g.token(t, "bob", "bob1"), "get_deck"); status != http.StatusOK {
		t.Errorf("another caller: %d", status)
	}
}

// Whoever has a session keeps it while Redis is away, also over a reload; and who
// comes later with the session of somebody else has none.
func TestSessionsOutliveRedisAndStayTheirOwners(t *testing.T) {
	g := startGroup(t)
	const legacy = "2025-11-25"
	session := g.connect(t, legacy, g.token(t, "ann", "ann1"))
	tools(t, session)
	header := map[string]string{"Mcp-Session-Id": session.ID(), "Mcp-Protocol-Version": legacy, "Authorization": "Bearer " + g.token(t, "bob", "bob1")}
	for _, r := range g.replicas {
		answer := send(t, http.DefaultClient, r.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("another caller's session: %s", answer.Status)
		}
	}
	g.redis.Stop()
	for _, r := range g.replicas {
		r.reload(t)
	}
	// What was idle over the reload is closed by Caddy, and a POST is not repeated.
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if n := tools(t, session); n < 10 {
		t.Errorf("without Redis: %d tools", n)
	}
}
