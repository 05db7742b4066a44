package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func init() { verbs = append(verbs, newExplainCommand) }

// maxClaims bounds a file with claims, in bytes.
const maxClaims = 64 << 10

// explainFlags are the flags of caddy mcp-app explain.
type explainFlags struct {
	config, adapter, endpoint  string
	tokens                     *tokenSource
	claims, tenant, host, tool string
	timeout                    time.Duration
	asJSON                     *bool
}

// newExplainCommand is caddy mcp-app explain.
func newExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain --config <file> [--endpoint <path>] [--token-file <file> | --token <token> | --claims <file>] [--tenant <name>] [--host <name>] [--tool <name>] [--json]",
		Short: "Shows what one principal sees at an endpoint, and which rule decides",
		Long: `Shows what one principal sees at an endpoint of a configuration: for each tool,
prompt, resource and template of the server whether it is shown, which rule
decides, and what is missing.

The configuration is loaded without being started. The principal is judged as a
caller would be: token, tenant, membership, revocation, scopes. Then the server is
asked for its lists in the principal's name; no tool is called.

With --claims, a JSON object as in a token (sub and the tenant's claim at least),
nobody's signature is needed. Then there is no token to pass on: the server is
told who asks by the identity headers alone.

Without a token or claims a caller who has not logged in is explained.

Exit codes: 0 explained, 1 the principal is refused, the server's lists could not
be had, or the --tool is hidden, 2 the command line or the configuration is wrong.`,
		Example: `  caddy mcp-app explain --config Caddyfile --endpoint /mcp --token-file token.txt
  caddy mcp-app explain --config Caddyfile --claims alice.json --tool cad.delete`,
		DisableFlagsInUseLine: true,
	}
	f := &explainFlags{tokens: tokenFlags(cmd), asJSON: jsonFlag(cmd)}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "Configuration file")
	flags.StringVar(&f.adapter, "adapter", "", "Name of the config adapter (default: by the file's name)")
	flags.StringVar(&f.endpoint, "endpoint", "", "Path or resource of the endpoint (default: the only one)")
	flags.StringVar(&f.claims, "claims", "", "File with claims in the place of a token; - is the standard input")
	flags.StringVar(&f.tenant, "tenant", "", "Tenant whose route is asked at (default: the one of the token)")
	flags.StringVar(&f.host, "host", "", "Host name under which the endpoint is called (default: that of its resource)")
	flags.StringVar(&f.tool, "tool", "", "Only this tool, with the text of its rule")
	flags.DurationVar(&f.timeout, "timeout", inventoryTimeout, "How long the whole explanation may take")
	cmd.RunE = verb(func(cmd *cobra.Command, args []string) int {
		switch {
		case len(args) > 0:
			return usageError(cmd, "explain takes flags only, not %q", args[0])
		case f.config == "":
			return usageError(cmd, "name the configuration with --config")
		case flags.Changed("claims") && (flags.Changed("token") || flags.Changed("token-file")):
			return usageError(cmd, "--claims stands in for a token and cannot stand beside one")
		}
		input, err := f.input(cmd)
		if err != nil {
			return usageError(cmd, "%v", err)
		}
		return f.explain(cmd, input)
	})
	return cmd
}

// input reads who is asked about.
func (f *explainFlags) input(cmd *cobra.Command) (input inspectionInput, err error) {
	input = inspectionInput{Tenant: f.tenant, Host: f.host}
	if !cmd.Flags().Changed("claims") {
		token, err := f.tokens.read(cmd)
		input.Token = token.Value
		return input, err
	}
	input.Claims, err = readSmall(cmd.InOrStdin(), f.claims, maxClaims)
	switch {
	case err != nil:
		return input, fmt.Errorf("--claims: %w", err)
	case len(input.Claims) == 0:
		return input, errors.New("--claims: the file is empty")
	}
	return input, nil
}

func (f *explainFlags) explain(cmd *cobra.Command, input inspectionInput) int {
	loaded, err := provisionConfig(f.config, f.adapter)
	if err != nil {
		return usageError(cmd, "%v", err)
	}
	defer loaded.release()
	m, err := chooseEndpoint(loaded.endpoints, f.endpoint)
	if err != nil {
		return usageError(cmd, "%v", err)
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	x, err := m.explain(ctx, loaded.app, input, f.tool)
	if err != nil {
		return usageError(cmd, "%v", err)
	}
	if f.tool != "" {
		x.keepTool(f.tool)
	}
	if *f.asJSON {
		printJSON(cmd, x)
	} else {
		x.print(cmd.OutOrStdout(), f.tool != "")
	}
	switch {
	case x.Refused != nil:
		cmd.PrintErrf("The principal is refused: %s\n", visible(x.Refused.Reason))
	case x.CatalogError != "":
		cmd.PrintErrf("The server's lists could not be had: %s\n", visible(x.CatalogError))
	case f.tool != "" && !x.Tools[0].Visible:
	default:
		return exitClean
	}
	return exitFindings
}

// keepTool leaves only one tool to be seen.
func (x *explanation) keepTool(name string) {
	for _, tool := range x.Tools {
		if tool.Name == name {
			x.Tools = []explainedName{tool}
		}
	}
	x.Prompts, x.Resources, x.Templates, x.Methods, x.Capabilities, x.UnusedRules = nil, nil, nil, nil, nil, nil
	var findings []explainedFinding
	for _, f := range x.Findings {
		if f.Subject == name {
			findings = append(findings, f)
		}
	}
	x.Findings = findings
	x.complete()
}

// print writes the explanation for people. Nothing of the server's or the
// token's text reaches the terminal as it is.
func (x *explanation) print(w io.Writer, withRule bool) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { _ = out.Flush() }() // nobody reads on
	row := func(cells ...string) {
		for i, cell := range cells {
			cells[i] = loggable(cell)
		}
		fmt.Fprintln(out, strings.TrimRight(strings.Join(cells, "\t"), "\t "))
	}
	row("endpoint", strings.TrimSpace(x.Endpoint+"  "+x.Resource))
	row("principal", x.Principal.words())
	if len(x.Principal.Scopes) > 0 {
		row("scopes", strings.Join(x.Principal.Scopes, " "))
	}
	if len(x.Principal.Roles) > 0 {
		row("roles", strings.Join(x.Principal.Roles, " "))
	}
	if r := x.Refused; r != nil {
		row("refused", fmt.Sprintf("%d, %s: %s", r.Status, r.Cause, r.Reason))
		return
	}
	if s := x.Server; s != nil {
		row("server", strings.TrimSpace(fmt.Sprintf("%s %s, %s era, protocol %s", s.Name, s.Version, s.Era, s.ProtocolVersion)))
	}
	for _, list := range []struct {
		heading string
		names   []explainedName
	}{{"TOOL", x.Tools}, {"PROMPT", x.Prompts}, {"RESOURCE", x.Resources}, {"TEMPLATE", x.Templates}, {"METHOD", x.Methods}} {
		if len(list.names) == 0 {
			continue
		}
		_ = out.Flush() // each table has columns of its own
		fmt.Fprintln(out)
		row(list.heading, "DECISION", "RULE", "WHY ("+summary(list.names)+")")
		for _, name := range list.names {
			row(name.Name, name.Decision, name.ruleWords(), name.why())
			if withRule && name.Rule != nil {
				_ = out.Flush()
				for line := range strings.SplitSeq(name.Rule.Caddyfile, "\n") {
					fmt.Fprintln(out, "    "+visible(strings.ReplaceAll(line, "\t", "    ")))
				}
			}
		}
	}
	x.printRest(out, row)
}

func (x *explanation) printRest(out *tabwriter.Writer, row func(...string)) {
	section := func(yes bool, cells ...string) {
		if yes {
			_ = out.Flush()
			fmt.Fprintln(out)
			row(cells...)
		}
	}
	section(len(x.Capabilities) > 0, "CAPABILITY", "ADVERTISED", "WHY")
	for _, c := range x.Capabilities {
		row(c.Name, yesNo(c.Advertised), c.Reason)
	}
	section(len(x.Findings) > 0, "FINDING", "ABOUT", "WHAT")
	for _, f := range x.Findings {
		row(f.Code, f.Subject, f.Detail+". Fix: "+f.Fix)
	}
	section(len(x.UnusedRules) > 0, "RULES THAT FIT NOTHING THE SERVER LISTS")
	for _, rule := range x.UnusedRules {
		row(string(rule.Kind)+" "+rule.Pattern, rule.Source)
	}
	section(len(x.Notes) > 0, "NOTES")
	for _, note := range x.Notes {
		row(note)
	}
}

func (p explainedPrincipal) words() string {
	switch p.By {
	case "none":
		return "anybody: the endpoint judges no tokens"
	case "anonymous":
		return "a caller without a token"
	}
	words := p.Subject
	if p.Tenant != "" {
		words += " of tenant " + p.Tenant
	}
	return fmt.Sprintf("%s, by %s of %s", words, p.By, p.Issuer)
}

// ruleWords names the rule and where it stands.
func (n explainedName) ruleWords() string {
	if n.Rule == nil {
		return n.DecidedBy
	}
	words := string(n.Rule.Kind) + " " + n.Rule.Pattern
	if n.Rule.Source != "" {
		words += " (" + n.Rule.Source + ")"
	}
	return words
}

// why says what is missing.
func (n explainedName) why() string {
	var words []string
	if n.Reason != "" {
		words = append(words, n.Reason)
	}
	if named := func(missing string) bool { return strings.Contains(n.Reason, missing) }; !slices.ContainsFunc(n.Missing, named) && len(n.Missing) > 0 {
		words = append(words, "needs "+strings.Join(n.Missing, ", "))
	}
	if len(n.AtCall) > 0 {
		words = append(words, "a call must meet "+strings.Join(n.AtCall, " and "))
	}
	if !n.Listed {
		words = append(words, "not listed by the server")
	}
	return strings.Join(words, "; ")
}
