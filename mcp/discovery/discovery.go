package discovery

import (
	"context"
	"net/http"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// DefaultTimeout ends a whole discovery, by the clock on the wall.
const DefaultTimeout = 35 * time.Second

// Engine asks servers. The zero value is ready for use; it may be used by
// several goroutines at once.
type Engine struct {
	// Transport carries the requests; nil takes one of our own, which honours
	// the proxy variables of the environment.
	Transport http.RoundTripper
	// Timeout ends a discovery; 0 takes [DefaultTimeout].
	Timeout time.Duration
	// MaxTools bounds each list; 0 takes [mcp.DefaultMaxTools].
	MaxTools int
	// Eras are asked in their order; nil takes the modern one, then the legacy.
	Eras []mcp.Era
	// ToolsOnly leaves out prompts, resources and templates.
	ToolsOnly bool
	// Progress, if set, is told before each request what is asked.
	Progress func(what string)
}

// Report is what a server offers, and how it said so. After a failure it holds
// what was had before.
type Report struct {
	URL      string // without query
	Era      mcp.Era
	Version  string // the protocol version that was spoken
	Versions []string
	// Handshake is the result of server/discover or initialize.
	Handshake rawjson.Value
	// NotModern is why a legacy answer was not a modern one, nil if that was not
	// asked.
	NotModern *Error

	Tools, Prompts, Resources, Templates []rawjson.Value
	// ToolsComplete says that Tools are all there are, also if something else
	// failed afterwards.
	ToolsComplete bool

	Steps    []Step // in their order
	Started  time.Time
	Duration time.Duration
	Failure  *Error // nil: complete
}

// Server returns name and version the server gives itself, not cleaned.
func (r *Report) Server() (name, version string) {
	info := r.Handshake.Get("serverInfo")
	if r.Era == mcp.Modern {
		info = r.Handshake.Get("_meta", "io.modelcontextprotocol/serverInfo")
	}
	name, _ = info.Get("name").Text()
	version, _ = info.Get("version").Text()
	return name, version
}

// Discover asks the server. The report is there in any case, unless the target
// itself is refused; the error is an [*Error].
func (e *Engine) Discover(ctx context.Context, t Target) (*Report, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	ctx, d, end := e.begin(ctx, t)
	defer end()
	err := d.run(ctx)
	d.report.Duration = time.Since(d.report.Started)
	if err != nil {
		d.report.Failure = d.classify(ctx, err)
		return d.report, d.report.Failure
	}
	return d.report, nil
}

// begin prepares a run and bounds its context.
func (e *Engine) begin(ctx context.Context, t Target) (bounded context.Context, d *discovery, end func()) {
	timeout := e.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	d = &discovery{
		engine: e, target: t, secrets: t.Secrets(), probe: timeout / 3,
		report: &Report{URL: t.Shown(), Started: time.Now()},
		client: NewClient(e.Transport), maxTools: e.MaxTools,
	}
	if d.maxTools <= 0 {
		d.maxTools = mcp.DefaultMaxTools
	}
	return bounded, d, func() {
		cancel()
		if e.Transport == nil {
			d.client.CloseIdleConnections()
		}
	}
}

// discovery is one run of an engine.
type discovery struct {
	engine   *Engine
	target   Target
	secrets  []string
	maxTools int
	probe    time.Duration // how long a silent server is given to speak modern
	client   *http.Client
	era      mcp.Era
	retried  bool
	asking   string
	report   *Report
}
