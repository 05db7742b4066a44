package caddymodule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
)

// Exit codes of the verbs.
const (
	exitClean    = 0
	exitFindings = 1 // something is wrong with what was looked at
	exitUsage    = 2 // the command line is wrong, nothing was looked at
)

// verbs make the subcommands of caddy mcp-app. A file with a verb adds its
// constructor in an init function.
var verbs []func() *cobra.Command

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "mcp-app",
		Usage: "<verb>",
		Short: "Builds, checks and explains what mcp_app gives to ChatGPT",
		Long: `
Builds, checks and explains what mcp_app gives to ChatGPT. Results go to the
standard output, with --json as one JSON value; what is wrong goes to the
standard error.

Exit codes: 0 all is well, 1 something was found or refused, 2 the command line
is wrong.
`,
		CobraFunc: setUpCommand,
	})
}

// setUpCommand makes a cobra command into mcp-app with all its verbs.
func setUpCommand(cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = verb(func(cmd *cobra.Command, args []string) int {
		var names []string
		for _, known := range cmd.Commands() {
			names = append(names, known.Name())
		}
		if len(args) == 0 {
			return usageError(cmd, "name a verb: %s", strings.Join(names, ", "))
		}
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			names = near
		}
		return usageError(cmd, "unknown verb %q, did you mean %s?", args[0], strings.Join(names, ", "))
	})
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return verb(func(cmd *cobra.Command, _ []string) int { return usageError(cmd, "%v", err) })(cmd, nil)
	})
	for _, construct := range verbs {
		cmd.AddCommand(construct())
	}
}

// errFindings makes Caddy exit with exitFindings. Everything has been said.
var errFindings = errors.New("something was found")

// verb adapts a function that says all there is to say and returns an exit code.
func verb(run func(cmd *cobra.Command, args []string) int) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		code := run(cmd, args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		switch code {
		case exitClean:
			return nil
		case exitFindings:
			return errFindings
		default:
			// Caddy's error with an exit code can only be had from here.
			return caddycmd.WrapCommandFuncForCobra(func(caddycmd.Flags) (int, error) { return code, nil })(cmd, nil)
		}
	}
}

// usageError says what is wrong with the command line.
func usageError(cmd *cobra.Command, format string, args ...any) int {
	cmd.PrintErrf(format+"\n", args...)
	cmd.PrintErrf("%s\nTry %s --help for more.\n", "Usage: "+cmd.UseLine(), cmd.CommandPath())
	return exitUsage
}

// printJSON writes the one result of a verb.
func printJSON(cmd *cobra.Command, result any) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(result)
	if err == nil {
		_, err = cmd.OutOrStdout().Write(visibleJSON(text.Bytes()))
	}
	if err != nil {
		cmd.PrintErrln(fmt.Errorf("writing the result: %w", err))
	}
}

// visibleJSON escapes what cannot be seen, which in JSON stands inside strings
// only: a terminal would act on some of it.
func visibleJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || strconv.IsPrint(r) && (r != utf8.RuneError || size > 1):
			out = append(out, text[:size]...)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}

// jsonFlag adds --json.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "Print the result as JSON")
}
