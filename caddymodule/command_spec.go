package caddymodule

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

func init() { verbs = append(verbs, newSpecCommand) }

// newSpecCommand is caddy mcp-app spec.
func newSpecCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spec [--json]",
		Short: "Shows in what the known revisions of the OpenAI extensions differ",
		Long: `Shows in what the known revisions of the OpenAI extensions differ for a gateway.
The revision that older clients get is chosen with openai { spec <revision> }.`,
		DisableFlagsInUseLine: true,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = verb(func(cmd *cobra.Command, args []string) int {
		if len(args) > 0 {
			return usageError(cmd, "spec takes no arguments")
		}
		if *asJSON {
			printJSON(cmd, specRows())
			return exitClean
		}
		out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintf(out, "RULE\t%s\t%s\tMEANING\n", openai.SpecE314720, openai.Spec02)
		for _, row := range specRows() {
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", row.Rule, yesNo(row.Holds[openai.SpecE314720]), yesNo(row.Holds[openai.Spec02]), row.Meaning)
		}
		_ = out.Flush() // nobody reads on
		return exitClean
	})
	return cmd
}

// specRow is one difference as it is printed.
type specRow struct {
	Rule    string          `json:"rule"`
	Meaning string          `json:"meaning"`
	Holds   map[string]bool `json:"holds"` // by revision
}

func specRows() []specRow {
	var rows []specRow
	for _, d := range openai.Differences() {
		rows = append(rows, specRow{
			Rule: d.Rule, Meaning: d.Meaning,
			Holds: map[string]bool{openai.SpecE314720: d.E314720, openai.Spec02: d.V02},
		})
	}
	return rows
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
