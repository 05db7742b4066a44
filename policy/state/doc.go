// Package state keeps what the replicas of a gateway must agree on: revocations,
// registrations, counters.
//
// A [Store] is a map of short-lived entries. Keys have the form "group/name";
// the group says who uses the entry, and groups are listed, watched and bounded
// separately, so that a flood of counters cannot push out a revocation.
// [Memory] serves one process, [Redis] all replicas that share a Redis or
// Valkey server; both pass the same tests (package statetest).
//
// What to do while a store cannot be reached is not decided here: every failure
// of that kind wraps [ErrUnavailable], and each caller declares whether it goes
// on without the store or refuses.
//
// # Guarantees
//
// Every operation on one key is atomic and seen by the next one in any replica. No
// change is left out of a watch. Groups are bounded, so that clients cannot fill a
// store; times are those of the store, so that replicas with wrong clocks agree.
//
// # Trade-offs
//
// There are no transactions over several keys and no snapshots: what needs them does
// not belong here. A watch may tell more than there was, never less.
package state
