// Package openai puts the OpenAI extensions of MCP on messages of a server that
// knows nothing of them, and checks the messages of one that does.
//
// The operator's words are [Declarations]. [Compile] checks them once and gives
// an [Overlay], which is then applied to raw JSON: one element of a tools/list,
// one content item of a resources/read, the capabilities of a discover or
// initialize result. Every edit replaces single members; all other bytes stay
// as the server wrote them, and applying an Overlay twice gives the same bytes
// as once.
//
// What does not qualify is left undeclared and reported as a [Finding]: a host
// ignores a wrong declaration without a word, so the word has to come from
// here. The validators (settings, mentions, forms, file input) return errors
// instead, because there the message itself is at stake.
//
// The package knows no HTTP and no policy. Where an answer depends on the
// caller, it is handed in as a [Catalog] or a visibility function.
//
// # Guarantees
//
// Compile finds every mistake that needs no server. Declarations never make a tool
// look safer than its server says. An Overlay is immutable and safe for concurrent
// use, and what it writes is what both known revisions of the extensions read, by
// one table of their differences.
//
// # Trade-offs
//
// What ChatGPT does is known from its documentation and from public reports only.
// Where those disagree the package writes both spellings and reads either.
package openai
