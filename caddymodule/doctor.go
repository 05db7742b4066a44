package caddymodule

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/doctor"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// newDoctor makes a doctor that knows how OAuth writes things.
func newDoctor() *doctor.Doctor {
	return &doctor.Doctor{
		IssuerMetadata: token.IssuerMetadataURLs,
		Challenge: func(value string) (doctor.Challenge, error) {
			c, err := token.ParseChallenge(value)
			return doctor.Challenge{Metadata: c.ResourceMetadata, Scopes: c.Scopes, Error: c.Error}, err
		},
	}
}

// examineConfig says what a configuration alone gives away. Nothing is asked.
func (m *Handler) examineConfig(report *doctor.Report) {
	for _, p := range m.OpenAI.Pages {
		if p.Navigate != "" && p.Navigate != m.Links.Navigate {
			report.Add(doctor.Finding{
				ID: "navigate-unguarded", Subject: p.URI, Detail: "its navigate tool is " + p.Navigate,
				Line: "links { navigate " + p.Navigate + " }",
			})
		}
	}
	if m.seal.local() {
		report.Add(doctor.Finding{ID: "storage-local", Detail: "the storage is a folder of this machine"})
	}
	if !m.state.shared {
		report.Add(doctor.Finding{ID: "state-local", Detail: "the state is in this process"})
	}
}

// examine looks at the endpoint from inside, as one principal, and says where
// that principal would call it. Errors are those of inspect.
func (m *Handler) examine(ctx context.Context, app *caddyhttp.App, input inspectionInput, report *doctor.Report) error {
	m.examineConfig(report)
	input.build = func(in *inspection) { in.report(report) }
	in, err := m.inspect(ctx, app, input)
	if err != nil {
		return err
	}
	if in.e == nil {
		in.reportRefusal(report)
	}
	return nil
}

// reportRefusal tells why the principal is not let in, and which line would
// change that.
func (in *inspection) reportRefusal(report *doctor.Report) {
	reason, cause := "the reason is in the log", ""
	if in.refused != nil {
		reason, cause = in.refused.Reason, in.refused.Cause
	}
	switch {
	case in.Token == "":
		report.Skip("the configuration as seen by a caller", "the endpoint wants a login: give a token")
	case in.mismatch != nil:
		f := doctor.Finding{ID: "token-audience", Detail: reason, Line: lineFor(in.mismatch)}
		if in.mismatch.Member == "typ" {
			f.ID = "token-type"
		} else if f.Line == "" {
			f.Fix = hintAudience
		}
		report.Add(f)
	case cause == causeTenant:
		report.Add(doctor.Finding{ID: "token-tenant", Detail: reason})
	default:
		report.Add(doctor.Finding{ID: "endpoint-refused", Detail: reason})
	}
}

// report tells about a principal that is let in.
func (in *inspection) report(report *doctor.Report) {
	if in.failure != nil {
		report.Skip("the configuration as seen by a caller", loggable(in.failure.Error()))
		return
	}
	_, found := in.decorated()
	report.AddOpenAI(found...)
	for _, rule := range in.unused() {
		detail := "the server lists no " + string(rule.Kind) + " that it fits"
		if rule.Source != "" {
			detail += " (" + rule.Source + ")"
		}
		report.Add(doctor.Finding{ID: "rule-unused", Subject: string(rule.Kind) + " " + rule.Pattern, Detail: detail})
	}
	for _, name := range in.e.declaredTools() {
		if _, ok := in.lists.tools.Tool(name); !ok {
			report.Add(doctor.Finding{ID: "declared-tool-missing", Subject: name, Detail: "the server does not list it to this principal"})
		}
	}
}

// declaredTools lists the tools that the configuration gives a meaning.
func (m *Handler) declaredTools() []string {
	d := m.describe(nil)
	names := slices.Clone(d.Entrypoints)
	names = append(names, d.Capabilities.SettingsRead, d.Capabilities.SettingsUpdate, d.Capabilities.MentionsSearch, d.Capabilities.Navigate)
	for _, tool := range m.OpenAI.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// reviewPage judges a page as it leaves the endpoint.
func (m *Handler) reviewPage(item rawjson.Value) []openai.Finding { return m.injector.Review(item) }

// publicURL is where clients call the endpoint, for the tenant of the input.
func (m *Handler) publicURL(app *caddyhttp.App, input inspectionInput) string {
	where, _ := siteOf(app, m)
	address := m.inspectionAddress(&inspection{inspectionInput: input}, where)
	if resource, err := url.Parse(m.routeResource(&inspection{inspectionInput: input})); (err != nil || resource.Host == "") && where.server != nil {
		for _, listen := range where.server.Listen {
			if _, port, err := net.SplitHostPort(strings.TrimPrefix(listen, "tcp/")); err == nil {
				address.Host = net.JoinHostPort(address.Hostname(), port)
				break
			}
		}
	}
	return address.String()
}
