// Package mcpapp adds everything of this repository to a Caddy that imports it,
// so that the path of the module is what xcaddy needs:
//
//	xcaddy build --with github.com/caddy-mcp-app/caddy-mcp-app
//
// It registers the handler mcp_app with its Caddyfile directive, the stores of
// shared state, the sources of memberships, the routes of the admin API and the
// command `caddy mcp-app`; see package caddymodule for each.
package mcpapp

import _ "github.com/caddy-mcp-app/caddy-mcp-app/caddymodule" // registers itself
