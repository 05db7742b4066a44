package caddymodule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// maxCell bounds one cell of the table, in characters.
const maxCell = 60

// cell makes a text of the server fit for the table. Secrets were replaced
// before.
func cell(text string) string {
	text = discovery.Clean(text, maxCell, nil)
	if text == "" {
		return "-"
	}
	return text
}

// printTable prints one line for each tool.
func (d *discovered) printTable(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	fmt.Fprintln(out, d.summary())
	if len(d.Tools) == 0 {
		return
	}
	var table bytes.Buffer
	columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "NAME\tTITLE\tHINTS\tENTRYPOINTS\tINPUT (* required)")
	for _, raw := range d.Tools {
		t := discoveredTool{rawjson.Value(raw)}
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\n", cell(t.name()), cell(t.title()), cell(t.hints(d.Source == fromServer)), cell(t.entrypoints()), cell(t.input()))
	}
	_ = columns.Flush() // to memory
	head, rest, _ := strings.Cut(table.String(), "\n")
	fmt.Fprintf(out, "\n%s\n%s", paint(out, bold, head), rest)
}

// summary is one sentence about the server.
func (d *discovered) summary() string {
	var parts []string
	switch {
	case d.Source == fromOpenAI:
		parts = append(parts, "OpenAI lists")
	case d.Server != nil && d.Server.Name != "":
		parts = append(parts, strings.TrimSpace(d.Server.Name+" "+d.Server.Version)+" ("+d.Era+", "+d.Version+") offers")
	default:
		parts = append(parts, "The server ("+d.Era+", "+d.Version+") offers")
	}
	counts := []string{count(len(d.Tools), "tool")}
	for _, list := range []struct {
		n    int
		what string
	}{{len(d.Prompts), "prompt"}, {len(d.Resources), "resource"}, {len(d.Templates), "template"}} {
		if list.n > 0 {
			counts = append(counts, count(list.n, list.what))
		}
	}
	text := parts[0] + " " + strings.Join(counts, ", ")
	if d.InputTokens > 0 {
		text += fmt.Sprintf(", for %d input tokens", d.InputTokens)
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printDiff prints what changed.
func (d *discovered) printDiff(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	if !d.Diff.Any() {
		fmt.Fprintln(out, "No difference.")
		return
	}
	for _, name := range d.Diff.Added {
		fmt.Fprintln(out, paint(out, green, "+ "+cell(name)))
	}
	for _, name := range d.Diff.Removed {
		fmt.Fprintln(out, paint(out, red, "- "+cell(name)))
	}
	for _, change := range d.Diff.Changed {
		fmt.Fprintln(out, paint(out, yellow, "~ "+cell(change.Name)+": "+cell(strings.Join(change.Members, ", "))))
	}
}

// showSchema prints the schemas of one tool.
func (f *discoverFlags) showSchema(cmd *cobra.Command, found *discovered) int {
	for _, raw := range found.Tools {
		t := discoveredTool{rawjson.Value(raw)}
		if t.name() != f.schema {
			continue
		}
		printJSON(cmd, struct {
			Name   string          `json:"name"`
			Input  json.RawMessage `json:"inputSchema"`
			Output json.RawMessage `json:"outputSchema,omitempty"`
		}{t.name(), json.RawMessage(t.Get("inputSchema")), json.RawMessage(t.Get("outputSchema"))})
		return exitClean
	}
	if *f.asJSON {
		found.Missing = []string{f.schema}
		printJSON(cmd, found)
	}
	cmd.PrintErrf("The server does not offer the tool %s.\n", visible(f.schema))
	return exitFindings
}
