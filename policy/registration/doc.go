// Package registration keeps ephemeral registrations: a short-lived id under
// which one endpoint shows a few tools only, for a number of calls.
//
// An id narrows what its bearer may do anyway and never identifies anybody. It
// is a secret all the same, since it tells what somebody is working on and lets
// others use up the calls: only its SHA-256 is kept. Registrations live in a
// [state.Store], so that replicas agree about them; while that cannot be asked
// nothing is known about an id, and nobody is let in with one.
//
// # Model
//
// A [Registry] makes a [Registration] from a [Request], finds it by its [Handle],
// counts its calls and ends it. The id is told once; the handle, its hash, is what
// lists and logs hold.
//
// # Guarantees
//
// No more calls than asked for are let through, on all replicas together. Unknown,
// ended and foreign ids give the same error, [ErrNotFound]. What has ended stays
// known for a while, so that its end can be asked for.
//
// # Trade-offs
//
// A call is counted before it is made: one that fails in the server has been spent,
// since the server may have done its work. Nothing is let in while the store cannot
// be reached, because a guess could exceed the count.
package registration
