package pages

import (
	"fmt"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/doctor"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

const findingsHead = `# Findings

<!-- Written by go run ./integration/docs/reference, from the tables in mcp/doctor/rule.go and mcp/openai/rule.go. -->

What ` + "`caddy mcp-app doctor`" + `, ` + "`explain`" + `, the admin API and the log call by an id. An id never changes its meaning. The finding itself says what is the case and where; here stands what it means and what to do.

`

var severities = []struct {
	severity openai.Severity
	title    string
	text     string
}{
	{openai.Broken, "Errors", "A host does not get, or refuses, what is offered."},
	{openai.Doubtful, "Warnings", "It works in part, or a review asks about it."},
	{openai.Note, "Notes", "It may be meant so, or matters to other hosts than ChatGPT. `doctor --severity note` shows them."},
}

// Findings writes docs/findings.md.
func Findings(string) ([]byte, error) {
	var b strings.Builder
	b.WriteString(findingsHead)
	for _, s := range severities {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n| Id | Meaning | Fix |\n| --- | --- | --- |\n", s.title, s.text)
		for _, rule := range doctor.Rules() {
			if rule.Severity == s.severity {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", rule.ID, cell(rule.Meaning), cell(rule.Fix))
			}
		}
		b.WriteString("\n")
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n"), nil
}

// cell keeps a text from being read as markup of the table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, `\`, `\\`).Replace(text)
}
