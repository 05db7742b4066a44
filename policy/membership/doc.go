// Package membership says whether the subject of a token is a member of a
// tenant at this moment, and with which roles. A token says what was true when
// it was issued; a [Source] is asked on every message, so that whoever is
// removed is out with the next one.
//
// There are three sources: the token's own claims, a file, and a service of the
// operator over HTTP. All fail closed: no answer is not a yes, but
// [ErrUnavailable].
//
// # Guarantees
//
// Every message is judged by what the source knows now, or knew at most [MaxTTL]
// ago. Roles and scopes of a member only ever narrow what the token grants.
//
// # Trade-offs
//
// A service that is down locks everybody out once what was remembered is too old. A
// file is read again when it changes, and keeps its last good content.
package membership
