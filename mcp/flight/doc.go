// Package flight lets identical questions share one answer: those asked at the
// same time share the asking, later ones what was remembered. It is a store of
// facts, never of permissions.
//
// # Guarantees
//
// Of identical questions at one moment one is asked. Failures are never remembered,
// and a caller that gives up does not take the answer from those who still wait. Keys
// are hashes over lengths and texts, so that no two lists of words are one.
//
// # Trade-offs
//
// An answer may be as old as its time to live: only what several may know alike
// belongs here, and never whether somebody may do something.
package flight
