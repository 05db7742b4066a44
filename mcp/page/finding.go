package page

import "github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"

// Finding is something an operator should know about one page.
type Finding = openai.Finding

func finding(code, uri, detail, fix string) []Finding {
	return []Finding{{Code: code, Subject: uri, Detail: detail, Fix: fix}}
}
