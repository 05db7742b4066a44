// Package ratelimit bounds how often something is done in a time: by all, by a
// tenant, by a caller, with some tools.
//
// A [Limit] counts in windows: so many calls from the first one on until the
// window ends, then anew. That is easy to say and to share between replicas; at
// the seam of two windows twice as many may come in quick succession. Counting
// is done by a [Counter], in this process ([Local]) or in a store that all
// replicas share. A limit saves the server from too much work; it is no
// permission, and comes after all questions of who may.
//
// # Guarantees
//
// Within a window no more calls are let through than the limit says, by all replicas
// together where they share a [Counter]. Strangers cannot make it hold more keys than
// its bound.
//
// # Trade-offs
//
// Windows, not a sliding average; and while the shared counters are away each process
// counts for itself, lets through or refuses, as the operator has said.
package ratelimit
