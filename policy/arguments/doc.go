// Package arguments holds the arguments of tool calls against the JSON Schema
// that the server advertises for them, before the server sees them.
//
// It knows draft 2020-12 (the default of MCP) and draft-07, with references
// inside the schema only. What it does not know for certain, it says: such a
// schema is [UnsupportedError], and the operator decides what that means. Formats
// and content keywords are annotations and not checked, as both drafts have it.
//
// Schemas come from a server and arguments from anybody, so everything is
// bounded: sizes, depth, patterns (RE2, and no larger than it takes), and the
// work of one check, in proportion to the arguments. Numbers are compared
// exactly, not as binary fractions.
//
// Package github.com/google/jsonschema-go does not serve here: a schema of the
// shape {"$ref": "#"} makes it overflow the stack, its work has no bound, and
// its errors show the arguments instead of where in them the mistake is.
//
// # Guarantees
//
// Arguments that pass fit the schema, whichever of the two drafts it is of; those that do
// not are told where, never what they hold. A check takes time in proportion to the
// arguments, and a schema that could cost more is refused as a whole.
//
// # Trade-offs
//
// Fewer schemas than a general validator knows: references into other documents,
// dynamic references and patterns that RE2 has not are unsupported.
package arguments
