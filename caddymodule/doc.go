// Package caddymodule is the Caddy module http.handlers.mcp_app: a gateway that
// stands in front of an unchanged MCP server and makes it a tenant-safe ChatGPT
// plugin.
//
// The package holds configuration, HTTP and wiring. What may be seen is decided
// in package policy, how messages are read and rewritten in package mcp, what
// ChatGPT expects in package mcp/openai.
//
// A request walks through endpoint.go from top to bottom: boundary,
// authentication, strict reading, decision, forward; the answer comes back through
// responsewriter.go and mcp.Rewriter. The JSON fields of [Handler] are the
// configuration; the files caddyfile*.go read the same words from a Caddyfile,
// admin*.go answer at Caddy's admin endpoint, command*.go are caddy mcp-app.
//
// # Guarantees
//
// Loading a configuration does no network I/O and leaves the old one serving if it
// fails. What a client sends never passes through Caddy's replacer. Whatever shows
// or uses a name asks the caller's one view. A caller is told what may be known
// outside, the operator's log everything needed to act.
//
// # Trade-offs
//
// Everything that depends on Caddy is here, so that the other packages can be used
// and tested without it; it is the largest package for that.
package caddymodule
