// Package registrations proves with processes of the built Caddy that replicas
// agree about ephemeral registrations.
package registrations
