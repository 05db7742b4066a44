package doctor

import (
	"errors"
	"net/http"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/tunnelcheck"
)

func (c *check) streamWait() time.Duration {
	if c.StreamWait > 0 {
		return c.StreamWait
	}
	return streamWait
}

// streams opens a stream that does not end by itself and whose first event
// comes at once (MCP 2026-07-28, basic/patterns "Subscriptions"): a proxy that
// collects answers before it passes them on never lets it through.
func (c *check) streams() {
	if c.offers.Era != mcp.Modern {
		c.report.Skip("stream flushing", "servers of the older era promise no event that could be waited for")
		return
	}
	c.say("streams")
	header, body, err := discovery.Modern("subscriptions/listen", rawjson.Value(`{"notifications":{"toolsListChanged":true}}`))
	if err != nil {
		return
	}
	engine := c.engine()
	engine.Timeout = c.streamWait()
	step, _, err := engine.Probe(c.ctx, c.Target, http.MethodPost, header, body)
	failure, _ := errors.AsType[*discovery.Error](err)
	switch {
	case failure != nil && failure.Class == discovery.Timeout:
		c.add("stream-buffered", "", "the first event of an open stream did not come within "+c.streamWait().String())
	case failure != nil || step.Status/100 != 2 || !step.Stream:
		c.report.Skip("stream flushing", "the server opens no stream for subscriptions/listen")
	}
}

// tunnel asks as the tunnel client does when it starts.
func (c *check) tunnel() {
	c.say("tunnel")
	client := tunnelcheck.Client{Target: c.Target.URL, HTTP: discovery.NewClient(c.Transport)}
	ready, err := client.Start(c.ctx)
	if err != nil {
		c.add("tunnel-not-ready", "", "the tunnel client could not start: "+c.clean(err.Error()))
		return
	}
	for _, problem := range ready.Check(c.report.Login == "strict" || c.report.Login == "mixed") {
		c.add("tunnel-not-ready", problem, problem)
	}
}
