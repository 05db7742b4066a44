package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/node"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// upstream is the server of a test: a handler of this process, or the address
// of another one.
type upstream struct {
	handler http.Handler
	address string
}

// setup says how the gateway stands before it.
type setup struct {
	resource string // default: the endpoint on localhost
	policy   string // lines of the policy block
	more     string // lines of the mcp_app block
}

// gateway is a running one, with the token of somebody who may use it.
type gateway struct {
	*stack.Stack
	url, token string
	upstream   string // address
}

// start runs a gateway until the test ends. Caddy is one per process, so tests
// of this package never run in parallel.
func start(t *testing.T, u upstream, s setup) *gateway {
	t.Helper()
	caddyfile := fmt.Appendf(nil, `{
	admin off
	auto_https off
	persist_config off
	grace_period 1s
	log {
		output {$GATEWAY_LOG}
		level INFO
	}
}

http://:{$GATEWAY_PORT} {
	bind 127.0.0.1
	mcp_app /mcp %s {
		resource %s
		auth {
			issuer {$ISSUER} {
				jwks_url {$ISSUER}/keys
			}
		}
		policy {
			%s
		}
		%s
	}
}
`, cmp.Or(u.address, "{$WORKSPACE}"), cmp.Or(s.resource, "http://localhost:{$GATEWAY_PORT}/mcp"), s.policy, s.more)
	handler := u.handler
	if handler == nil {
		handler = http.NotFoundHandler()
	}
	running, err := stack.Start(t.Context(), stack.Config{Caddyfile: caddyfile, Upstream: handler})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			if log, err := os.ReadFile(running.LogFile); err == nil {
				t.Logf("log of the gateway, at its end:\n%s", log[max(0, len(log)-8<<10):])
			}
		}
		if err := running.Close(); err != nil {
			t.Errorf("closing the gateway: %v", err)
		}
	})
	g := &gateway{Stack: running, url: cmp.Or(s.resource, fmt.Sprintf("http://localhost:%d/mcp", running.Port))}
	g.upstream = cmp.Or(u.address, os.Getenv("WORKSPACE"))
	g.token = must(running.Issuer.Issue(issuer.Grant{Subject: "user", Audience: []string{g.url}}))(t)
	return g
}

// wire returns the HTTP side of a Go client that reaches the gateway under any
// host name.
func (g *gateway) wire(t *testing.T) *wire {
	t.Helper()
	transport := g.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	return &wire{next: transport, token: g.token}
}

// walkJS runs integration/node/client.mjs.
func (g *gateway) walkJS(t *testing.T, tools *node.Tools, sdk int, mode any, p plan) transcript {
	t.Helper()
	job := must(json.Marshal(map[string]any{"sdk": sdk, "mode": mode, "url": g.url, "token": g.token, "plan": p}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := tools.Command(ctx, "client.mjs", string(job))
	client.Stderr = t.Output()
	output, err := client.Output()
	if err != nil {
		t.Fatalf("running the client: %v\n%s", err, output)
	}
	var seen transcript
	if err := json.Unmarshal(output, &seen); err != nil {
		t.Fatalf("the client printed %q: %v", output, err)
	}
	return seen
}

// offers checks that without the gateway a server shows and does what the plan
// has the gateway hide; otherwise hiding would prove nothing.
func (p plan) offers(t *testing.T, address, revision string) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, nil)
	s := must(client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + address + "/mcp"},
		&mcp.ClientSessionOptions{ProtocolVersion: revision}))(t)
	defer s.Close()
	for kind, listed := range map[string][]string{
		p.HiddenTool:   all(t, s.Tools(t.Context(), nil), func(e *mcp.Tool) string { return e.Name }),
		p.HiddenPrompt: all(t, s.Prompts(t.Context(), nil), func(e *mcp.Prompt) string { return e.Name }),
	} {
		if !slices.Contains(listed, kind) {
			t.Errorf("the server does not list %q, only %q", kind, listed)
		}
	}
	must(s.CallTool(t.Context(), &mcp.CallToolParams{Name: p.HiddenTool}))(t)
	must(s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: p.HiddenResource}))(t)
}
