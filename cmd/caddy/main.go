// Command caddy is Caddy with its standard modules and mcp_app.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/caddy-mcp-app/caddy-mcp-app"
)

func main() { caddycmd.Main() }
