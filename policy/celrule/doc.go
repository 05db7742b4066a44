// Package celrule compiles and evaluates the conditions that operators write
// in CEL (https://cel.dev) behind `when`.
//
// A condition sees three things: `principal`, the verified caller; `claims`,
// everything the token says; and `request`, the use of one name. It is checked
// once, at load: names, types, that it gives a bool, and what it can cost at
// most. At run time it is bounded a second time, by what it really costs, and
// every error means no: a condition that cannot be judged is not met.
//
// # Guarantees
//
// What was compiled cannot cost more than its bound, however long the claims and
// arguments are. It reads nothing but what it is given, has no clock and no network,
// and an error is a no.
//
// # Trade-offs
//
// A condition is a few times dearer than a list of scopes or roles, and a rule that
// has one is never answered from what other callers may do: use the words of the
// rule where they are enough.
package celrule
