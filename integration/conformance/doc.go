// Package conformance holds no code of its own: its test runs the protocol's
// conformance suite through the gateway and directly, and compares every check.
package conformance
