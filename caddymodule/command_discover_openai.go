package caddymodule

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai/hosted"
)

// keyPlaceholder is how the API key is named: never itself, since other
// processes can see a command line.
var keyPlaceholder = regexp.MustCompile(`^\{(file|env)\.[^{}]+\}$`)

// hostedCheck builds the question to OpenAI and refuses one that cannot be asked.
func (f *discoverFlags) hostedCheck(cmd *cobra.Command, target discovery.Target) (hosted.Check, error) {
	key := variable(cmd, "openai-key", f.openaiKey, "OPENAI_API_KEY")
	if cmd.Flags().Changed("openai-key") && key != "" {
		if !keyPlaceholder.MatchString(key) {
			return hosted.Check{}, errors.New("--openai-key names where the key is, such as {file./run/secrets/openai} or {env.NAME}; the key itself would be visible to other processes")
		}
		key = strings.TrimSpace(caddy.NewReplacer().ReplaceAll(key, ""))
	}
	check := hosted.Check{
		BaseURL: variable(cmd, "openai-base-url", f.openaiBase, "OPENAI_BASE_URL"), Key: key, Model: f.model,
		ServerURL: target.URL, TunnelID: f.tunnel, Token: target.Token, Header: target.Header, HeaderOnly: f.headerOnly,
		AllowedTools: f.allowed, Timeout: f.timeout, Transport: discoverTransport,
	}
	return check, check.Check()
}

// consent tells what is about to be sent where, and asks, unless --yes says that
// this was agreed to.
func (f *discoverFlags) consent(cmd *cobra.Command, check hosted.Check) (bool, error) {
	sent := "the server's address"
	if check.TunnelID != "" {
		sent = "the tunnel's id"
	}
	if check.Token != "" {
		sent += ", its token"
	}
	for _, name := range slices.Sorted(maps.Keys(check.Header)) {
		sent += ", the header " + name
	}
	base, err := url.Parse(check.BaseURL)
	if err != nil || base.Host == "" {
		base = &url.URL{Host: "api.openai.com"}
	}
	cmd.PrintErrf("This sends %s to OpenAI (%s), which connects to the server; the tool definitions are paid as input tokens.\n", sent, visible(base.Host))
	if f.yes {
		return true, nil
	}
	if f.tokens.file == "-" {
		return false, errors.New("the standard input is the token: agree with --yes")
	}
	cmd.PrintErr("Continue? [y/N] ")
	answer, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 64)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("reading the answer: %w", err)
	}
	if !isTerminal(cmd.ErrOrStderr()) || errors.Is(err, io.EOF) {
		cmd.PrintErrln()
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// askHosted asks OpenAI.
func askHosted(cmd *cobra.Command, check hosted.Check) (*discovered, *discovery.Error) {
	line := showProgress(cmd)
	check.Progress = line.show
	catalog, err := check.List(cmd.Context())
	line.end()
	failure, _ := errors.AsType[*discovery.Error](err)
	return discoveredByOpenAI(check, catalog), failure
}
