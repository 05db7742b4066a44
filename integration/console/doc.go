// Package console tests caddy mcp-app console as its user meets it: the command
// in a process of its own, a running Caddy, a real browser, and servers that
// mean no good.
package console
