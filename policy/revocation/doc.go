// Package revocation takes back access before a token ends by itself: of one token, of everything a subject holds, or of a whole tenant.
//
// A [List] answers from a snapshot in memory, without a lock and without
// asking anybody. It keeps the snapshot equal to a shared [state.Store]: what
// one replica revokes the others learn within a second, and what the store
// loses they give back to it. When the store cannot be reached for longer than
// the list may be out of date, the list refuses everybody rather than let a
// revoked caller in.
//
// # Guarantees
//
// A revocation that was acknowledged counts for the next message in this process, for
// streams and calls that are open, and within a second in every replica. No outage
// lets a revoked caller in.
//
// # Trade-offs
//
// An outage that lasts longer than the list may be out of date locks out everybody
// else as well. Entries end when the tokens they mean must have ended.
package revocation
