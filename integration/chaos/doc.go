// Package chaos breaks everything around the gateway, one thing after another,
// over real sockets: for each fault the client gets the declared answer, nothing
// hidden comes through, no goroutine is left, and what works before works again
// afterwards without a restart. docs/reliability.md says what is declared.
package chaos
