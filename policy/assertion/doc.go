// Package assertion tells the upstream who calls, in a signed form that it can check by itself: short-lived ES256 JWTs and the public keys to verify them.
//
// [Keys] is one key set for all endpoints and replicas that share a storage. A
// key is made at first use, and followed by another after 30 days: the new one
// is published ten minutes before anything is signed with it, so that every
// verifier that refreshes its copy in that time knows it, and the old one stays
// published until the last assertion signed by it has ended. Its private part
// is then erased.
//
// # Guarantees
//
// An assertion names its server, so that one server cannot use it at another, and
// lives for a minute. Every key is published well before its first signature and
// until its last one has ended. Nothing is signed with a key that could not be kept.
//
// # Trade-offs
//
// While the storage is away there is no rotation, and without a first key there are
// no assertions: calls that need one are refused.
package assertion
