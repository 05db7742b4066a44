package caddymodule

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
)

func init() { verbs = append(verbs, newInitCommand) }

// initFlags are the flags of caddy mcp-app init.
type initFlags struct {
	tokens       *tokenSource
	headers      []string
	site         initSite
	output       string
	force        bool
	timeout      time.Duration
	asJSON       *bool
	resourceText string
}

// newInitCommand is caddy mcp-app init.
func newInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init <url> [--resource <url>] [--issuer <url>] [--tenant-claim <path>] [--token-file <file>] [--header <name:value>]... [--output <file> [--force]] [--json]",
		Short: "Asks a server what it offers, and writes a Caddyfile for it",
		Long: `Asks a server what it offers, as discover does, and writes a commented Caddyfile
for it: a rule for each tool, those that write apart from those that only read;
the entrypoints, settings, mentions and deep links that its tools are fit for;
the beginning of a tenant block; and what is still to mend before ChatGPT shows
all of it. No tool runs.

What the server says of itself is not trusted: its texts stand in comments only,
and a name that cannot be written safely gets no rule. Read the result before
you use it: it shows every tool to somebody.

Without --output the Caddyfile goes to the standard output. A file that is there
is kept unless --force is given.

Exit codes: 0 a Caddyfile was written, 1 the server could not be asked, 2 the
command line is wrong.`,
		Example: `  caddy mcp-app init http://127.0.0.1:3000/mcp --resource https://mcp.example.com/mcp --issuer https://login.example.com
  caddy mcp-app init http://127.0.0.1:3000/mcp --tenant-claim org_id --output Caddyfile`,
		DisableFlagsInUseLine: true,
	}
	f := &initFlags{tokens: tokenFlags(cmd), asJSON: jsonFlag(cmd)}
	flags := cmd.Flags()
	flags.StringVar(&f.resourceText, "resource", "", "Public URL of the endpoint, as users will enter it (default: https://mcp.example.com and the server's path)")
	flags.StringVar(&f.site.Issuer, "issuer", "https://login.example.com", "Issuer of the tokens that are accepted")
	flags.StringVar(&f.site.TenantClaim, "tenant-claim", "", "Claim that names the caller's tenant (default: the tenant block is a comment)")
	flags.StringVar(&f.site.WriteScope, "write-scope", "mcp.write", "Scope asked for where a tool writes")
	flags.StringArrayVar(&f.headers, "header", nil, "Header for the server, NAME:VALUE, sent as it is; may be repeated with other names")
	flags.StringVar(&f.output, "output", "", "File to write (default: the standard output)")
	flags.BoolVar(&f.force, "force", false, "Replace the file if it is there")
	flags.DurationVar(&f.timeout, "timeout", discovery.DefaultTimeout, "End of everything, also with a silent server")
	cmd.RunE = verb(f.run)
	return cmd
}

func (f *initFlags) run(cmd *cobra.Command, args []string) int {
	switch {
	case len(args) != 1:
		return usageError(cmd, "name one server's address, such as http://127.0.0.1:3000/mcp")
	case f.force && f.output == "":
		return usageError(cmd, "--force goes with --output")
	case f.timeout <= 0:
		return usageError(cmd, "--timeout must be longer than nothing")
	}
	target, err := (&discoverFlags{tokens: f.tokens, headers: f.headers}).target(cmd)
	if err != nil {
		return usageError(cmd, "%s", usageText(err))
	}
	target.URL = args[0]
	if err := target.Check(); err != nil {
		return usageError(cmd, "%s", usageText(err))
	}
	if err := f.site.place(target.URL, f.resourceText); err != nil {
		return usageError(cmd, "%v", err)
	}
	if _, err := os.Lstat(f.output); f.output != "" && err == nil && !f.force {
		return usageError(cmd, "%s is there already; name another file, or add --force to replace it", f.output)
	}
	line := showProgress(cmd)
	engine := discovery.Engine{Timeout: f.timeout, Transport: discoverTransport, Progress: line.show}
	report, err := engine.Discover(cmd.Context(), target)
	line.end()
	if failure, ok := errors.AsType[*discovery.Error](err); ok && (report == nil || !report.ToolsComplete) {
		if *f.asJSON {
			printJSON(cmd, map[string]any{"failure": describe(failure)})
		}
		cmd.PrintErrln(paint(cmd.ErrOrStderr(), red, failure.Error()))
		cmd.PrintErrln(failure.Class.Advice())
		return exitFindings
	}
	draft := newDraft(report, target.Secrets(), f.site)
	text, err := draft.caddyfile()
	if err != nil {
		cmd.PrintErrln(err.Error())
		return exitFindings
	}
	if f.output != "" {
		if err := writeNew(f.output, text, f.force); err != nil {
			if *f.asJSON {
				printJSON(cmd, map[string]any{"error": err.Error()})
			}
			cmd.PrintErrln(err.Error())
			return exitFindings
		}
	}
	switch {
	case *f.asJSON:
		printJSON(cmd, draft.result(text, f.output))
	case f.output == "":
		fmt.Fprint(cmd.OutOrStdout(), text)
	default:
		fmt.Fprintf(cmd.OutOrStdout(), "%s has rules for %d of %d tools.\n", visible(f.output), draft.ruled(), len(draft.tools))
		fmt.Fprintf(cmd.OutOrStdout(), "Read it, then: caddy validate --config %s --adapter caddyfile\n", visible(f.output))
	}
	return exitClean
}

// writeNew writes a file that others may read, and replaces one only by force.
func writeNew(name, text string, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(name, flags, 0o644) //nolint:gosec // the operator names it; a Caddyfile holds no secrets
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; name another file, or add --force to replace it", name)
	}
	if err != nil {
		return fmt.Errorf("writing the Caddyfile: %w", err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing the Caddyfile: %w", err)
	}
	return nil
}

// initSite is what the command line says about the site.
type initSite struct {
	Address, Path, Upstream string // of the site, the endpoint and the server
	Resource, Issuer        string
	TenantClaim, WriteScope string
}

// place works out where the endpoint and its server are, and refuses what cannot
// be written into a Caddyfile.
func (s *initSite) place(server, resource string) error {
	from, err := url.Parse(server)
	if err != nil {
		return errors.New("the server's address is no URL")
	}
	s.Path = from.EscapedPath()
	if s.Path == "" {
		s.Path = "/"
	}
	s.Upstream = from.Host
	if from.Scheme == "https" {
		s.Upstream = "https://" + from.Host
	} else if from.Port() == "" {
		s.Upstream = from.Host + ":80"
	}
	s.Resource = resource
	if resource == "" {
		s.Resource = "https://mcp.example.com" + s.Path
	}
	public, err := url.Parse(s.Resource)
	switch {
	case err != nil || public.Host == "" || public.Scheme != "https" && public.Scheme != "http":
		return errors.New("--resource is the https URL under which users will reach the endpoint, such as https://mcp.example.com" + s.Path)
	case public.EscapedPath() != s.Path:
		return fmt.Errorf("--resource must have the server's path, %s: the endpoint passes requests on under its own path", s.Path)
	}
	s.Address = public.Host
	if public.Scheme == "http" {
		s.Address = "http://" + public.Host
	}
	for name, value := range map[string]string{
		"the server's address": s.Upstream, "the server's path": s.Path, "--resource": s.Resource,
		"--issuer": s.Issuer, "--tenant-claim": s.TenantClaim, "--write-scope": s.WriteScope,
	} {
		if _, ok := caddyfileWord(value); value != "" && (!ok || strings.Contains(value, " ")) {
			return fmt.Errorf("%s cannot be written into a Caddyfile as it is: braces, quotes, blanks and control characters do not belong there", name)
		}
	}
	if s.Issuer == "" || s.WriteScope == "" {
		return errors.New("--issuer and --write-scope must not be empty")
	}
	return nil
}
