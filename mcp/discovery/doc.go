// Package discovery asks an MCP server what it offers, as a client would: the
// modern era first, then the legacy one, all pages, whatever framing the server
// chooses. [Engine.Discover] calls nothing but discovery methods; no tool, prompt or resource
// is ever used.
//
// It shares the reading of answers and pages with the gateway's own catalog (see
// [mcp.Conversation]) and adds what a stranger needs who asks over the network:
// a deadline that also ends a silent server, refused redirects and cookies,
// failures as classes with advice, and the evidence of every request. Text of
// the server is for [Clean] before anybody sees it.
//
// # Guarantees
//
// An [Engine] asks for lists and calls nothing. A [Report] is there after a failure
// too, with what was had before it and the evidence of every request; no credential
// stands in it. Redirects are never followed, since they could carry a token away.
// Every failure has a [Class] with advice.
//
// # Trade-offs
//
// One retry at most, and none after 401, 403 or 429: a check must not become a part
// of the trouble it looks at. Lists beyond their bounds are an error rather than cut,
// because half a catalog would be taken for the whole.
package discovery
