// Package token authenticates MCP requests as an OAuth 2.0 resource server: it
// takes bearer tokens from headers, verifies them against the signing keys of
// their issuers, and writes challenges and resource metadata.
//
// # Model
//
// [Bearer] takes a token out of headers, a [Verifier] turns it into [Claims], and a
// [Challenge] or [ResourceMetadata] tells a client what to do without one. Opaque tokens go
// to an introspection endpoint instead.
//
// # Guarantees
//
// The algorithm is chosen from the operator's list and the key, never from the
// token alone. A token is read strictly: one b64 token, no repeated members, an exp
// that is a real time. Keys that cannot be had are an error of their own, which
// callers answer with 503 and not with 401, so that an outage logs nobody out.
// Errors hold reasons for the log and no part of a token.
//
// # Trade-offs
//
// Verified tokens are remembered until they end, for speed; revocation is therefore
// asked elsewhere, on every message. Signatures are checked by a library that one
// file imports; fetching and choosing keys is written here, because an outage must
// not be multiplied into one fetch for each request.
package token
