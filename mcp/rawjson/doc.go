// Package rawjson reads and edits JSON as bytes: it checks a text strictly
// once, then finds and replaces single members without touching any other
// byte.
//
// Typed structs lose members they do not know and invent others; a gateway
// must do neither. A [Value] is therefore a part of the original text, and an
// edit copies everything around the changed member as it stands.
//
// # Guarantees
//
// [Parse] accepts exactly one JSON value of valid UTF-8 without repeated members, up
// to a depth. After that nothing fails: [Value.Get] of what is not there is an empty
// Value, which is distinct from null. Edits return a new text and never write into
// the old one.
//
// # Trade-offs
//
// A lookup scans the text. For a handful of lookups in a message this is faster than
// building a tree, and it needs no memory; for thousands of lookups it would not be.
package rawjson
