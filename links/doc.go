// Package links checks, builds and takes apart the URLs that lead into a plugin
// app: app-relative URLs, plugin app links, and the choice between them and an
// ordinary web address.
//
// # Model
//
// An [AppURL] is a path inside an app; an [AppLink] leads to it through a plugin on
// one platform; a [Fallback] leads to it in an ordinary application; an [Opener]
// chooses between them for a reader.
//
// # Guarantees
//
// What [ParseAppURL] accepts cannot leave the app: no scheme, no host, no dot
// segments, however they are encoded, no backslashes, no controls. Every error says
// which byte is wrong. Nothing is normalized in silence: a URL passes as it is or
// not at all. The package is pure and fuzzed against other parsers.
//
// # Trade-offs
//
// Refusing is preferred to repairing, so that a few odd but harmless URLs are
// refused. Whether a page exists is not known here.
package links
