// Package lru keeps the most recently used values of a bounded number.
//
// # Guarantees
//
// Never more values than its capacity, none older than its time to live, whatever
// the keys are that strangers choose.
//
// # Trade-offs
//
// One lock for all: it is for what costs far more than a lock to find out again.
package lru
