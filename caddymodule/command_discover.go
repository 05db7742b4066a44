package caddymodule

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
)

func init() { verbs = append(verbs, newDiscoverCommand) }

// discoverFlags are the flags of caddy mcp-app discover.
type discoverFlags struct {
	tokens               *tokenSource
	headers              []string
	search, schema, diff string
	allowed              []string
	timeout              time.Duration
	asJSON               *bool

	openai, yes, headerOnly              bool
	model, tunnel, openaiKey, openaiBase string
}

// newDiscoverCommand is caddy mcp-app discover.
func newDiscoverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "discover <url> [--token-file <file>] [--header <name:value>]... [--search <text>] [--allowed-tools <names>] [--schema <tool> | --diff <file>] [--openai] [--json]",
		Short: "Lists what an MCP server offers, as a client or as OpenAI sees it",
		Long: `Lists what an MCP server offers: asks it as a client does, in the newer era of
the protocol first and in the older one if need be, to the last page. Nothing is
called but discovery: no tool runs, no page is read.

With --openai the list is what OpenAI's hosted MCP finds there. That sends the
server's address and token to OpenAI and costs input tokens; it is asked first,
or --yes says so. The key is taken from OPENAI_API_KEY or a file.

Exit codes: 0 everything was listed; 1 the server could not be asked, its list
cannot be relied on, an allowed tool is missing, or --diff found a difference; 2
the command line is wrong.`,
		Example: `  caddy mcp-app discover https://mcp.example.com/mcp --token-file token.txt
  caddy mcp-app discover https://mcp.example.com/mcp --header 'X-API-Key: k' --json > before.json
  caddy mcp-app discover https://mcp.example.com/mcp --diff before.json
  caddy mcp-app discover https://mcp.example.com/mcp --openai --openai-key '{file./run/secrets/openai}'`,
		DisableFlagsInUseLine: true,
	}
	f := &discoverFlags{tokens: tokenFlags(cmd), asJSON: jsonFlag(cmd)}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.headers, "header", nil, "Header for the server, NAME:VALUE, sent as it is; may be repeated with other names")
	flags.StringVar(&f.search, "search", "", "Show tools with this text in name, title or description only")
	flags.StringSliceVar(&f.allowed, "allowed-tools", nil, "Show these tools only, and find it wrong if one is missing; separated by commas")
	flags.StringVar(&f.schema, "schema", "", "Show the schemas of this tool only")
	flags.StringVar(&f.diff, "diff", "", "Compare with this earlier result of --json")
	flags.DurationVar(&f.timeout, "timeout", discovery.DefaultTimeout, "End of everything, also with a silent server")
	flags.BoolVar(&f.openai, "openai", false, "Ask OpenAI what it finds on the server")
	flags.BoolVar(&f.yes, "yes", false, "Agree that --openai sends address and token to OpenAI and costs input tokens")
	flags.BoolVar(&f.headerOnly, "header-only", false, "With --openai: send the token as a header of the server")
	flags.StringVar(&f.model, "model", "", "With --openai: the model (default gpt-5.6-luna)")
	flags.StringVar(&f.tunnel, "tunnel-id", "", "With --openai: a Secure MCP Tunnel instead of an address")
	flags.StringVar(&f.openaiKey, "openai-key", "", "With --openai: where the API key is, {file./path} or {env.NAME} (default: the variable OPENAI_API_KEY)")
	flags.StringVar(&f.openaiBase, "openai-base-url", "", "With --openai: base URL of the API (default: the variable OPENAI_BASE_URL, else https://api.openai.com/v1)")
	cmd.RunE = verb(f.run)
	return cmd
}

func (f *discoverFlags) run(cmd *cobra.Command, args []string) int {
	flags := cmd.Flags()
	for _, needs := range []string{"yes", "header-only", "model", "tunnel-id", "openai-key", "openai-base-url"} {
		if flags.Changed(needs) && !f.openai {
			return usageError(cmd, "--%s goes with --openai", needs)
		}
	}
	switch {
	case len(args) > 1:
		return usageError(cmd, "discover takes one address, not %d", len(args))
	case len(args) == 0 && !flags.Changed("tunnel-id"):
		return usageError(cmd, "name the server's address, such as https://mcp.example.com/mcp")
	case flags.Changed("schema") && flags.Changed("diff"):
		return usageError(cmd, "--schema and --diff exclude each other")
	case f.timeout <= 0:
		return usageError(cmd, "--timeout must be longer than nothing")
	}
	target, err := f.target(cmd)
	if err != nil {
		return usageError(cmd, "%s", usageText(err))
	}
	if len(args) == 1 {
		target.URL = args[0]
	}
	var earlier *discovered
	if flags.Changed("diff") {
		if earlier, err = readDiscovered(f.diff); err != nil {
			return usageError(cmd, "%v", err)
		}
	}
	var found *discovered
	var failure *discovery.Error
	if f.openai {
		check, err := f.hostedCheck(cmd, target)
		if err != nil {
			return usageError(cmd, "%s", usageText(err))
		}
		agreed, err := f.consent(cmd, check)
		if err != nil {
			return usageError(cmd, "%v", err)
		}
		if !agreed {
			cmd.PrintErrln("Nothing was sent.")
			return exitFindings
		}
		found, failure = askHosted(cmd, check)
	} else {
		if err := target.Check(); err != nil {
			return usageError(cmd, "%s", usageText(err))
		}
		found, failure = f.askDirect(cmd, target)
	}
	return f.show(cmd, found, earlier, failure)
}

// target reads who asks. What the command line says about credentials, be it
// that there are none, is never filled up from elsewhere.
func (f *discoverFlags) target(cmd *cobra.Command) (discovery.Target, error) {
	headers, err := discovery.Headers(f.headers)
	if err != nil {
		return discovery.Target{}, err
	}
	target := discovery.Target{Header: headers}
	own, hasOwn := headers["Authorization"]
	if hasOwn && own[0] == "" {
		delete(headers, "Authorization") // none, whatever the environment says
	}
	if hasOwn && !cmd.Flags().Changed("token") && !cmd.Flags().Changed("token-file") {
		return target, nil
	}
	token, err := f.tokens.read(cmd)
	if err != nil {
		return discovery.Target{}, err
	}
	if hasOwn {
		return discovery.Target{}, errors.New("--token and --token-file exclude --header Authorization")
	}
	target.Token = token.Value
	return target, nil
}

// usageText is what is wrong, without the class.
func usageText(err error) string {
	if e, ok := errors.AsType[*discovery.Error](err); ok {
		return e.Detail
	}
	return err.Error()
}

// discoverTransport is for tests of this package; nil takes the engine's own.
var discoverTransport http.RoundTripper

func (f *discoverFlags) askDirect(cmd *cobra.Command, target discovery.Target) (*discovered, *discovery.Error) {
	line := showProgress(cmd)
	engine := discovery.Engine{Timeout: f.timeout, Transport: discoverTransport, Progress: line.show}
	report, err := engine.Discover(cmd.Context(), target)
	line.end()
	failure, _ := errors.AsType[*discovery.Error](err)
	return discoveredDirectly(report, target.Secrets()), failure
}

// show prints the outcome and returns the exit code.
func (f *discoverFlags) show(cmd *cobra.Command, found, earlier *discovered, failure *discovery.Error) int {
	code := exitClean
	if failure != nil {
		code = exitFindings
		found.Failure = describe(failure)
	}
	if failure == nil && cmd.Flags().Changed("allowed-tools") {
		if found.Missing = found.missing(f.allowed); len(found.Missing) > 0 {
			code = exitFindings
		}
	}
	found.filter(f.keeps(cmd))
	if cmd.Flags().Changed("schema") {
		if failure == nil {
			return f.showSchema(cmd, found)
		}
	} else if earlier != nil && failure == nil {
		earlier.filter(f.keeps(cmd))
		if found.Diff = found.compare(earlier); found.Diff.Any() {
			code = exitFindings
		}
	}
	switch {
	case *f.asJSON:
		printJSON(cmd, found)
	case failure != nil && !found.toolsComplete: // part of a list would pass for the whole
	case found.Diff != nil:
		found.printDiff(cmd)
	default:
		found.printTable(cmd)
	}
	f.complain(cmd, found)
	return code
}

// complain says on the standard error what is wrong.
func (f *discoverFlags) complain(cmd *cobra.Command, found *discovered) {
	for _, name := range found.Missing {
		cmd.PrintErrf("%s\n", paint(cmd.ErrOrStderr(), yellow, "The server does not offer the allowed tool "+visible(name)+"."))
	}
	if found.Note != "" {
		cmd.PrintErrln(found.Note)
	}
	if found.Failure != nil {
		cmd.PrintErrln(paint(cmd.ErrOrStderr(), red, found.Failure.Text))
		cmd.PrintErrln(found.Failure.Advice)
	}
}

// keeps tells which tools are of interest.
func (f *discoverFlags) keeps(cmd *cobra.Command) func(t discoveredTool) bool {
	allowed := make(map[string]bool)
	for _, name := range f.allowed {
		allowed[strings.TrimSpace(name)] = true
	}
	narrowed := cmd.Flags().Changed("allowed-tools")
	text := strings.ToLower(f.search)
	return func(t discoveredTool) bool {
		if narrowed && !allowed[t.name()] {
			return false
		}
		return strings.Contains(strings.ToLower(t.name()+"\n"+t.title()+"\n"+t.text("description")), text)
	}
}

// variable returns an environment variable if no flag spoke.
func variable(cmd *cobra.Command, flag, value, name string) string {
	if cmd.Flags().Changed(flag) {
		return value
	}
	return os.Getenv(name)
}
