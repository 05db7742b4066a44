package caddymodule

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/doctor"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

func init() { verbs = append(verbs, newDoctorCommand) }

// doctorFlags are the flags of caddy mcp-app doctor.
type doctorFlags struct {
	config, adapter, endpoint string
	tokens                    *tokenSource
	headers                   []string
	tenant, host, severity    string
	timeout                   time.Duration
	tunnel, offline           bool
	asJSON                    *bool
}

// newDoctorCommand is caddy mcp-app doctor.
func newDoctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [<url>] [--config <file> [--endpoint <path>]] [--token-file <file> | --token <token>] [--tunnel] [--severity <word>] [--json]",
		Short: "Finds out why ChatGPT does not show a tool, and says what to write",
		Long: `Finds out why ChatGPT does not show a tool: asks the address as hosts, browsers
and, with --tunnel, OpenAI's tunnel client do, and says for each finding what is
wrong, why that matters and what to do. Documents, handshakes, lists and pages
are asked for; no tool is called.

With --config the endpoint is looked at from inside as well, without being
started: what the configuration declares is compared with what the server lists,
and a token that is refused is explained with the line to write. The address is
then that of the endpoint's resource, unless one is given; --offline leaves the
address out.

Every finding has an id, which docs/findings.md explains. Shown are errors and
warnings; --severity note shows everything, --severity error less.

Exit codes: 0 nothing of that severity was found, 1 something was, 2 the command
line or the configuration is wrong.`,
		Example: `  caddy mcp-app doctor https://mcp.example.com/mcp --token-file token.txt
  caddy mcp-app doctor --config Caddyfile --endpoint /mcp --token-file token.txt
  caddy mcp-app doctor http://127.0.0.1:8443/mcp --tunnel --json`,
		DisableFlagsInUseLine: true,
	}
	f := &doctorFlags{tokens: tokenFlags(cmd), asJSON: jsonFlag(cmd)}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "Configuration file")
	flags.StringVar(&f.adapter, "adapter", "", "Name of the config adapter (default: by the file's name)")
	flags.StringVar(&f.endpoint, "endpoint", "", "Path or resource of the endpoint (default: the only one)")
	flags.StringVar(&f.tenant, "tenant", "", "With --config: tenant whose route is asked at (default: the one of the token)")
	flags.StringVar(&f.host, "host", "", "With --config: host name under which the endpoint is called (default: that of its resource)")
	flags.BoolVar(&f.offline, "offline", false, "With --config: do not ask the address")
	flags.StringArrayVar(&f.headers, "header", nil, "Header for the server, NAME:VALUE, sent as it is; may be repeated with other names")
	flags.BoolVar(&f.tunnel, "tunnel", false, "Ask as OpenAI's tunnel client does, too")
	flags.StringVar(&f.severity, "severity", string(openai.Doubtful), "Least severity that is shown and counts: error, warning or note")
	flags.DurationVar(&f.timeout, "timeout", doctor.DefaultTimeout, "How long one group of questions may take")
	cmd.RunE = verb(f.run)
	return cmd
}

func (f *doctorFlags) run(cmd *cobra.Command, args []string) int {
	flags := cmd.Flags()
	if f.config == "" {
		for _, needs := range []string{"endpoint", "tenant", "host", "offline", "adapter"} {
			if flags.Changed(needs) {
				return usageError(cmd, "--%s goes with --config", needs)
			}
		}
	}
	least := openai.Severity(f.severity)
	switch {
	case len(args) > 1:
		return usageError(cmd, "doctor takes one address, not %d", len(args))
	case len(args) == 0 && f.config == "":
		return usageError(cmd, "name the endpoint's address, such as https://mcp.example.com/mcp, or a configuration with --config")
	case len(args) > 0 && f.offline:
		return usageError(cmd, "an address and --offline exclude each other")
	case least != openai.Broken && least != openai.Doubtful && least != openai.Note:
		return usageError(cmd, "--severity is error, warning or note")
	case f.timeout <= 0:
		return usageError(cmd, "--timeout must be longer than nothing")
	}
	target, err := (&discoverFlags{tokens: f.tokens, headers: f.headers}).target(cmd)
	if err != nil {
		return usageError(cmd, "%s", usageText(err))
	}
	if len(args) == 1 {
		target.URL = args[0]
		if err := target.Check(); err != nil {
			return usageError(cmd, "%s", usageText(err))
		}
	}
	line := showProgress(cmd)
	report, err := f.check(cmd, target, line)
	line.end()
	if err != nil {
		return usageError(cmd, "%s", usageText(err))
	}
	found := report.Worst(least)
	if *f.asJSON {
		printJSON(cmd, report)
	} else {
		printDoctor(cmd, report)
	}
	if found {
		return exitFindings
	}
	return exitClean
}

// check looks from inside, if there is a configuration, and from outside.
func (f *doctorFlags) check(cmd *cobra.Command, target discovery.Target, line *progress) (*doctor.Report, error) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	d := newDoctor()
	inside := doctor.NewReport(target.Secrets()...)
	if f.config != "" {
		line.show("configuration")
		loaded, err := provisionConfig(f.config, f.adapter)
		if err != nil {
			return nil, err
		}
		defer loaded.release()
		m, err := chooseEndpoint(loaded.endpoints, f.endpoint)
		if err != nil {
			return nil, err
		}
		input := inspectionInput{Token: target.Token, Tenant: f.tenant, Host: f.host}
		bounded, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		if err := m.examine(bounded, loaded.app, input, inside); err != nil {
			return nil, err
		}
		if target.URL == "" {
			target.URL = m.publicURL(loaded.app, input)
		}
		d.Review = m.reviewPage
	}
	d.Target, d.Transport, d.Timeout, d.Tunnel, d.Progress = target, discoverTransport, f.timeout, f.tunnel, line.show
	if f.offline {
		inside.URL = target.Shown()
		inside.Complete()
		return inside, nil
	}
	report, err := d.Check(ctx)
	if err != nil {
		return nil, err
	}
	report.Merge(inside)
	return report, nil
}

// printDoctor writes the report for people. Nothing of the server's text reaches
// the terminal as it is.
func printDoctor(cmd *cobra.Command, report *doctor.Report) {
	out := cmd.OutOrStdout()
	say := func(format string, args ...any) {
		for i, arg := range args {
			if text, ok := arg.(string); ok {
				args[i] = visible(text)
			}
		}
		fmt.Fprintf(out, format+"\n", args...)
	}
	say("%s", report.URL)
	if report.Server != "" {
		login := ""
		if report.Login != "" {
			login = ", login " + report.Login
		}
		say("%s (%s, %s) offers %d tools%s", report.Server, report.Era, report.Protocol, report.Tools, login)
	}
	colours := map[openai.Severity]string{openai.Broken: red, openai.Doubtful: yellow, openai.Note: bold}
	for _, f := range report.Findings {
		fmt.Fprintln(out)
		about := visible(f.Detail)
		if f.Subject != "" {
			about = visible(f.Subject) + ": " + about
		}
		fmt.Fprintln(out, paint(out, colours[f.Severity], string(f.Severity)+" "+f.ID)+"  "+about)
		say("    Why: %s", f.Why)
		say("    Fix: %s", f.Fix)
		if f.Line != "" {
			say("    Write: %s", f.Line)
		}
	}
	if len(report.Redirects) > 0 {
		fmt.Fprintln(out)
		say("The authorization server must let ChatGPT come back to %s", strings.Join(report.Redirects, " and "))
	}
	if len(report.Skipped) > 0 {
		fmt.Fprintln(out)
		for _, s := range report.Skipped {
			say("not checked: %s (%s)", s.Check, s.Reason)
		}
	}
	fmt.Fprintln(out)
	if len(report.Findings) == 0 {
		fmt.Fprintln(out, paint(out, green, "Nothing was found."))
		return
	}
	say("%d findings; docs/findings.md explains each id.", len(report.Findings))
}
