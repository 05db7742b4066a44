// Package discover runs the built binary's discover command against real
// servers of both eras and several makes, and against a recorded Responses API.
// It has tests only.
package discover
