// Package interop holds no code of its own: its tests put servers and clients of
// several makes on both sides of the gateway, in both eras of the protocol, and
// servers that answer as no server should.
package interop
