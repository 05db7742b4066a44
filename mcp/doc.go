// Package mcp reads and rewrites the Model Context Protocol as it travels over
// Streamable HTTP, for a gateway that must neither misread a request nor let an
// answer pass unfiltered.
//
// It works on raw JSON (package rawjson) and knows two eras: legacy, up to
// revision 2025-11-25, with `initialize` and sessions, and modern, from
// 2026-07-28 on, where every request stands alone. Who may see what is asked of
// interfaces; nothing here knows about tokens, tenants or Caddy.
//
// # Model
//
// A [Reader] turns headers and body into one [Request]. What comes back is handed to
// a [Rewriter], message by message, which filters lists, gates capabilities and
// withholds what it cannot read. A [Catalog] is what the server lists to one caller,
// asked through a [Conversation]. A [Sealer] binds session ids, cursors and task ids
// to the caller that got them.
//
// # Guarantees
//
// A request has one meaning: repeated members, members in another case, batches and
// trailing bytes are errors with the id, if it could be read. An answer is treated
// by its shape and not by what was asked, since a stream may carry anything. Bytes
// that need no change leave as they came. Everything is bounded: bytes, depth,
// events, entries.
//
// # Trade-offs
//
// Messages are not decoded into types of an SDK, which lose members they do not know
// and invent others; what is read is read by name. A list is judged whole, so that
// its size is bounded rather than streamed.
package mcp
