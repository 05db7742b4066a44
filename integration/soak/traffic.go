package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/fault"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

const (
	modern = "2026-07-28"
	meta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientInfo":{"name":"soak","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	hidden = "admin.purge_deck" // no rule shows it
)

var tenants = []string{"acme", "globex"}

// counts are what a drive came to.
type counts struct {
	good, unavailable, wrong, foreign atomic.Int64
	first                             atomic.Pointer[string]
	reloads, outages                  int
}

// soak is a gateway with an injector before its server, and two tenants whose
// data holds a canary each.
type soak struct {
	*stack.Stack
	*counts
	rate      int
	upstream  *fault.Injector
	server    *httptest.Server
	workspace *workspace.Server
	transport *http.Transport
	client    *http.Client
	caddyfile []byte
	canaries  map[string]string
	down      atomic.Int64 // outages in force, and those that have just ended
	reloading atomic.Int64 // the same of reloads
}

func newSoak(ctx context.Context, rate int) (s *soak, err error) {
	s = &soak{counts: &counts{}, rate: rate, canaries: make(map[string]string)}
	if s.workspace, err = workspace.Open(ctx, workspace.Config{}); err != nil {
		return nil, err
	}
	s.server = httptest.NewServer(s.workspace.Handler())
	if s.upstream, err = fault.New(s.server.Listener.Addr().String()); err != nil {
		return nil, err
	}
	example, err := os.ReadFile("Caddyfile.example")
	if err != nil {
		return nil, fmt.Errorf("run this at the top of the repository: %w", err)
	}
	s.caddyfile = []byte(strings.Replace(strings.ReplaceAll(string(example), "{$WORKSPACE:127.0.0.1:3000}", s.upstream.Addr), "level INFO", "level ERROR", 1))
	if s.Stack, err = stack.Start(ctx, stack.Config{Caddyfile: s.caddyfile, Upstream: s.workspace.Handler()}); err != nil {
		return nil, err
	}
	s.transport = s.Transport()
	s.transport.MaxIdleConnsPerHost = 64
	s.client = &http.Client{Transport: s.transport, Timeout: 20 * time.Second}
	for _, tenant := range tenants {
		s.canaries[tenant] = "canary-" + rand.Text()
		token, err := s.token(tenant, 0)
		if err != nil {
			return nil, err
		}
		status, body, err := s.send(ctx, tenant, token, "tools/call", "create_deck", `"name":"create_deck","arguments":{"title":"`+s.canaries[tenant]+`"},`)
		if err != nil || status != http.StatusOK || strings.Contains(body, `"isError":true`) {
			return nil, fmt.Errorf("making the canary of %s: %d %s %w", tenant, status, body, err)
		}
	}
	return s, nil
}

func (s *soak) close() {
	s.transport.CloseIdleConnections()
	s.upstream.Close()
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	_ = s.workspace.Close()
	s.server.CloseClientConnections()
	s.server.Close()
}

func (s *soak) token(tenant string, n int) (string, error) {
	return s.Issuer.Issue(issuer.Grant{
		Subject: fmt.Sprintf("user-%d@%s", n, tenant), Audience: []string{s.URL(tenant)},
		Scopes: []string{"mcp.use", "decks.write", "settings.write"}, TTL: time.Hour, Claims: map[string]any{"org_id": tenant},
	})
}

// send asks in the modern era.
func (s *soak) send(ctx context.Context, tenant, token, method, name, params string) (int, string, error) {
	body := `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + meta + `}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL(tenant), strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {modern}, "Mcp-Method": {method},
	}
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// kinds of traffic, with what a right answer holds; %s is the tenant's canary.
var kinds = []struct{ method, name, params, want string }{
	{"tools/list", "", "", `"list_decks"`},
	{"tools/call", "list_decks", `"name":"list_decks","arguments":{},`, "%s"},
	{"tools/call", "list_decks", `"name":"list_decks","arguments":{},`, "%s"},
	{"tools/call", hidden, `"name":"` + hidden + `","arguments":{},`, `"error"`},
	{"server/discover", "", "", `"workspace"`},
}

// ask sends one message and judges the answer.
func (s *soak) ask(ctx context.Context, n int, tokens map[string][]string) {
	kind, tenant := kinds[n%len(kinds)], tenants[n/len(kinds)%len(tenants)]
	down, reloading := s.down.Load() > 0, s.reloading.Load() > 0
	status, body, err := s.send(ctx, tenant, tokens[tenant][n%len(tokens[tenant])], kind.method, kind.name, kind.params)
	down, reloading = down || s.down.Load() > 0, reloading || s.reloading.Load() > 0
	for _, other := range tenants {
		if other != tenant && strings.Contains(body, s.canaries[other]) {
			s.foreign.Add(int64(len(s.canaries[other])))
		}
	}
	want := strings.ReplaceAll(kind.want, "%s", s.canaries[tenant])
	switch {
	case err == nil && strings.Contains(body, want) && (kind.name == hidden || status == http.StatusOK):
		s.good.Add(1)
	case reloading && err != nil, down && (err != nil || status == http.StatusBadGateway || status == http.StatusServiceUnavailable):
		s.unavailable.Add(1) // said so, and not something else
	default:
		s.wrong.Add(1)
		said, _ := json.Marshal(body[:min(len(body), 300)])
		first := fmt.Sprintf("%s %s of %s: %d %s %v", kind.method, kind.name, tenant, status, said, err)
		s.first.CompareAndSwap(nil, &first)
	}
}

// drive sends messages at the rate for a while, with a reload and an outage every
// so often.
func (s *soak) drive(duration, reload, outage time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), duration)
	defer cancel()
	tokens := make(map[string][]string)
	for _, tenant := range tenants {
		for n := range 50 {
			if token, err := s.token(tenant, n); err == nil {
				tokens[tenant] = append(tokens[tenant], token)
			}
		}
	}
	var running sync.WaitGroup
	running.Go(func() { every(ctx, reload, s.reload) })
	running.Go(func() { every(ctx, outage, s.breakDown) })
	ticker := time.NewTicker(time.Second / time.Duration(s.rate))
	defer ticker.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		select {
		case <-ticker.C:
			running.Go(func() { s.ask(context.WithoutCancel(ctx), n, tokens) })
		case <-ctx.Done():
		}
	}
	running.Wait()
	s.transport.CloseIdleConnections()
	s.upstream.Break()
}

func every(ctx context.Context, interval time.Duration, do func()) {
	if interval <= 0 {
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// disturb marks what is sent meanwhile, and shortly before and after.
func disturb(mark *atomic.Int64, do func()) {
	mark.Add(1)
	do()
	time.Sleep(300 * time.Millisecond)
	mark.Add(-1)
}

// reload replaces the configuration by the same. While Caddy replaces its
// listeners, connections that the old one has not accepted are reset.
func (s *soak) reload() {
	disturb(&s.reloading, func() {
		if err := s.Reload(s.caddyfile); err != nil {
			s.wrong.Add(1)
			first := err.Error()
			s.first.CompareAndSwap(nil, &first)
		}
		s.reloads++
	})
}

// breakDown makes the server fail for two seconds, each time in another way.
func (s *soak) breakDown() {
	rules := []fault.Rule{{Refuse: true}, {Then: fault.Reset, After: 150}, {Then: fault.Garbage}, {Then: fault.Close}}
	disturb(&s.down, func() {
		_ = s.upstream.Set(rules[s.outages%len(rules)])
		time.Sleep(2 * time.Second)
		_ = s.upstream.Set(fault.Rule{})
		s.outages++
	})
}

// said is the first wrong answer.
func (c *counts) said() string {
	if first := c.first.Load(); first != nil {
		return *first
	}
	return ""
}
