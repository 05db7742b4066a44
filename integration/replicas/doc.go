// Package replicas proves with processes of Caddy, each with a storage
// of its own and one Redis between them, that replicas agree: about sessions,
// cursors, registrations, revocations and limits, also when one is killed.
package replicas
