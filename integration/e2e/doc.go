// Package e2e holds no code of its own: its tests prove on real sockets what
// the gateway promises, with the sample server, the token issuer and real MCP
// clients of both eras around it.
package e2e
