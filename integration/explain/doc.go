// Package explain tests what operators see of decisions: the audit log, the
// access log, live events, explanations by command and by Caddy's admin endpoint.
// Everything runs for real: server, issuer, Caddy with its sockets and log files.
package explain
