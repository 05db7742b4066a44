// Package attack plays callers of one tenant who want something of another,
// over real sockets against the sample server behind the module.
package attack
