// Command timing measures whether the time of an answer tells a hidden name from
// one that does not exist. It runs the sample server behind the module, calls a
// hidden and an unknown tool in turn, and prints both distributions with a rank
// test:
//
//	go run ./integration/attack/timing [-n 2000]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

const caddyfile = `{
	admin off
	auto_https off
	persist_config off
	log {
		output {$GATEWAY_LOG:stderr}
		level ERROR
	}
}

http://*.localhost:{$GATEWAY_PORT} {
	bind 127.0.0.1
	mcp_app /mcp {$WORKSPACE} {
		resource http://{http.request.host.labels.1}.localhost:{$GATEWAY_PORT}/mcp
		auth {
			issuer {$ISSUER} {
				jwks_url {$ISSUER}/keys
			}
		}
		tenant {
			claim org_id
			require {http.request.host.labels.1}
			allow acme globex
		}
		policy {
			tool workspace.*
			tool admin.purge_deck {
				tenants globex
			}
		}
	}
}
`

func main() {
	n := flag.Int("n", 2000, "calls of each kind")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *n); err != nil {
		fmt.Fprintln(os.Stderr, "timing:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, n int) (err error) {
	s, err := stack.Start(ctx, stack.Config{Caddyfile: []byte(caddyfile), Workspace: workspace.Config{JSON: true}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	token, err := s.Issuer.Issue(issuer.Grant{
		Subject: "mallory", Audience: []string{s.URL("acme")}, Scopes: []string{"mcp.use"}, Claims: map[string]any{"org_id": "acme"},
	})
	if err != nil {
		return err
	}
	transport := s.Transport()
	defer transport.CloseIdleConnections()
	c := prober{&http.Client{Transport: transport}, s.URL("acme"), token}
	// Names of one length, one hidden by a rule, one of nobody, in turn.
	names := []string{"admin.purge_deck", "admin.nobody_has"}
	times := make([][]time.Duration, len(names))
	for i := range n + 200 {
		for which := range names {
			which = (which + i) % len(names) // neither is always first
			took, err := c.call(ctx, names[which])
			if err != nil {
				return err
			}
			if i >= 200 { // warm by then
				times[which] = append(times[which], took)
			}
		}
	}
	for which, name := range names {
		sorted := slices.Sorted(slices.Values(times[which]))
		fmt.Fprintf(out, "%-18s %d calls  median %v  p90 %v  p99 %v\n", name, n, sorted[n/2], sorted[n*90/100], sorted[n*99/100])
	}
	z := rankTest(times[0], times[1])
	fmt.Fprintf(out, "rank test (Mann-Whitney): z = %.2f, p = %.3f", z, math.Erfc(math.Abs(z)/math.Sqrt2))
	fmt.Fprintln(out, "; |z| over 3 would tell the two apart")
	return nil
}

type prober struct {
	client     *http.Client
	url, token string
}

// call times one call of a tool that the caller cannot have.
func (c prober) call(ctx context.Context, tool string) (time.Duration, error) {
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"timing","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + c.token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		r.Header.Set(name, value)
	}
	begin := time.Now()
	response, err := c.client.Do(r)
	if err != nil {
		return 0, err
	}
	answer, err := io.ReadAll(response.Body)
	took := time.Since(begin)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return 0, err
	}
	if !strings.Contains(string(answer), "-32602") {
		return 0, fmt.Errorf("%s is answered with %d %s", tool, response.StatusCode, answer)
	}
	return took, nil
}

// rankTest is the normal approximation of the Mann-Whitney U test: how many
// standard deviations the ranks of a lie from where they would be if a and b
// came from one distribution.
func rankTest(a, b []time.Duration) float64 {
	type sample struct {
		took  time.Duration
		first bool
	}
	var all []sample
	for _, took := range a {
		all = append(all, sample{took, true})
	}
	for _, took := range b {
		all = append(all, sample{took, false})
	}
	slices.SortFunc(all, func(x, y sample) int { return int(x.took - y.took) })
	ranks := 0.0
	for i, s := range all {
		if s.first {
			ranks += float64(i + 1)
		}
	}
	na, nb := float64(len(a)), float64(len(b))
	u := ranks - na*(na+1)/2
	return (u - na*nb/2) / math.Sqrt(na*nb*(na+nb+1)/12)
}
