package doctor

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// DefaultTimeout bounds each group of questions; a whole check takes a few of
// them only where a server is silent.
const DefaultTimeout = discovery.DefaultTimeout

// streamWait is how long the first event of an open stream may take.
const streamWait = 5 * time.Second

// Doctor checks one address. Target, Challenge and IssuerMetadata must be set.
type Doctor struct {
	// Target is the endpoint, with the credentials of whoever asks.
	Target discovery.Target
	// Transport carries the requests; nil takes one of package discovery's own.
	Transport http.RoundTripper
	// Timeout bounds each group of questions; 0 takes [DefaultTimeout].
	Timeout time.Duration
	// StreamWait is how long the first event of an open stream may take; 0 means
	// five seconds.
	StreamWait time.Duration
	// Tunnel also asks as OpenAI's tunnel client does when it starts.
	Tunnel bool
	// Review, if set, judges each page as well.
	Review func(item rawjson.Value) []openai.Finding
	// Progress, if set, is told what is asked next.
	Progress func(what string)

	// Challenge reads a WWW-Authenticate value (RFC 6750 §3, RFC 9728 §5.1).
	Challenge func(value string) (Challenge, error)
	// IssuerMetadata lists where the metadata of an authorization server may be
	// (RFC 8414 §3.1).
	IssuerMetadata func(issuer string) ([]string, error)
}

// Challenge is what counts of a Bearer challenge.
type Challenge struct {
	Metadata string
	Scopes   []string
	Error    string
}

// Finding is one thing to mend or to know.
type Finding struct {
	ID       string          `json:"id"` // of a [Rule], stable
	Severity openai.Severity `json:"severity"`
	// Subject is a tool, a page, an address or another name; empty for the
	// endpoint itself.
	Subject string `json:"subject,omitempty"`
	Detail  string `json:"detail"` // what is the case here
	Why     string `json:"why"`    // what that means
	Fix     string `json:"fix"`
	// Line is what to write into the Caddyfile, where that is known.
	Line string `json:"line,omitempty"`
}

// Skipped is a group of checks that could not be made.
type Skipped struct {
	Check  string `json:"check"`
	Reason string `json:"reason"`
}

// Report is what a check found out.
type Report struct {
	URL      string `json:"url"`
	Server   string `json:"server,omitempty"`
	Era      string `json:"era,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	// Login is strict, mixed or none; empty if that could not be told.
	Login string `json:"login,omitempty"`
	Tools int    `json:"tools"`
	// Redirects are the addresses that the authorization server must let ChatGPT
	// come back to.
	Redirects []string  `json:"redirects,omitempty"`
	Findings  []Finding `json:"findings"`
	Skipped   []Skipped `json:"skipped"`

	secrets []string
}

// NewReport begins a report in which none of the secrets will stand, whatever a
// server says.
func NewReport(secrets ...string) *Report { return &Report{secrets: secrets} }

// Add notes a finding, once for each code and subject, and cleans what may be of
// the server in it. An empty fix takes the rule's.
func (r *Report) Add(f Finding) {
	rule, _ := RuleOf(f.ID)
	f.Severity, f.Why = rule.Severity, rule.Meaning
	f.Fix = cmp.Or(f.Fix, rule.Fix)
	f.Subject, f.Detail = discovery.Clean(f.Subject, discovery.MaxText, r.secrets), discovery.Clean(f.Detail, 2*discovery.MaxText, r.secrets)
	same := func(other Finding) bool { return other.ID == f.ID && other.Subject == f.Subject }
	if !slices.ContainsFunc(r.Findings, same) {
		r.Findings = append(r.Findings, f)
	}
}

// AddOpenAI notes what package openai found.
func (r *Report) AddOpenAI(found ...openai.Finding) {
	for _, f := range found {
		r.Add(Finding{ID: f.Code, Subject: f.Subject, Detail: f.Detail, Fix: f.Fix})
	}
}

// Skip notes checks that could not be made.
func (r *Report) Skip(check, reason string) {
	r.Skipped = append(r.Skipped, Skipped{check, reason})
}

// Merge takes over what another look has found.
func (r *Report) Merge(other *Report) {
	for _, f := range other.Findings {
		r.Add(f)
	}
	r.Skipped = append(r.Skipped, other.Skipped...)
}

// Complete makes empty lists of missing ones, so that programs need not ask.
func (r *Report) Complete() {
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	if r.Skipped == nil {
		r.Skipped = []Skipped{}
	}
}

// Worst cuts the findings to those of at least a severity, the gravest first,
// and reports whether any is left.
func (r *Report) Worst(least openai.Severity) bool {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return rank(f.Severity) > rank(least) })
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(rank(a.Severity)-rank(b.Severity), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Subject, b.Subject))
	})
	return len(r.Findings) > 0
}

func rank(s openai.Severity) int {
	return slices.Index([]openai.Severity{openai.Broken, openai.Doubtful, openai.Note}, s)
}

// Check asks everything. The error is about the target; whatever goes wrong with
// the server is a finding.
func (d *Doctor) Check(ctx context.Context) (*Report, error) {
	if err := d.Target.Check(); err != nil {
		return nil, err
	}
	c := &check{Doctor: d, ctx: ctx, secrets: d.Target.Secrets(), report: NewReport(d.Target.Secrets()...)}
	c.report.URL = d.Target.Shown()
	c.run()
	c.report.Complete()
	return c.report, nil
}

// check is one run of a doctor.
type check struct {
	*Doctor
	ctx     context.Context //nolint:containedctx // one run is one context
	secrets []string
	report  *Report

	offers *discovery.Report // in the era that clients take first
	older  *discovery.Report // in the legacy era, nil if that was not asked
	speaks bool              // server/discover is answered
}

func (c *check) run() {
	c.address()
	reached := c.reach()
	if !reached {
		return
	}
	c.login()
	c.boundary()
	c.paths()
	if c.Tunnel {
		c.tunnel()
	}
	if c.offers.Failure != nil && !c.offers.ToolsComplete {
		return
	}
	c.handshakes()
	c.streams()
	c.catalog()
	c.pages()
}

func (c *check) add(id, subject, detail string) {
	c.report.Add(Finding{ID: id, Subject: subject, Detail: detail})
}

func (c *check) say(what string) {
	if c.Progress != nil {
		c.Progress(what)
	}
}

func (c *check) clean(text string) string { return discovery.Clean(text, 120, c.secrets) }

func (c *check) engine(eras ...mcp.Era) *discovery.Engine {
	return &discovery.Engine{Transport: c.Transport, Timeout: c.Timeout, Eras: eras, Progress: c.Progress}
}

// anonymous is the target without anybody's credentials.
func (c *check) anonymous() discovery.Target { return discovery.Target{URL: c.Target.URL} }
