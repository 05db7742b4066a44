package store

import "fmt"

// Code says what kind of refusal an [Error] is. Programs branch on it.
type Code string

// The codes of refusals.
const (
	Invalid         Code = "invalid_arguments"
	NoTenant        Code = "no_tenant"
	NoSubject       Code = "no_subject"
	Unknown         Code = "not_found"
	Stale           Code = "stale_revision"
	Conflict        Code = "conflict"
	Full            Code = "workspace_full"
	BadCursor       Code = "bad_cursor"
	ConnectionDown  Code = "connection_not_usable"
	RelayDown       Code = "relay_unavailable"
	InternalFailure Code = "internal_error" // never made here: what others see of any other error
)

// Error is a refusal that the caller may read.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`

	// Revision is the newest one, with the code stale_revision.
	Revision *int64 `json:"revision,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Refuse makes an error that the caller may read.
func Refuse(code Code, message string) *Error { return &Error{Code: code, Message: message} }

func refuse(code Code, format string, a ...any) *Error {
	return Refuse(code, fmt.Sprintf(format, a...))
}

// stale refuses a change to something that others have changed since.
func stale(what string, newest int64) *Error {
	e := refuse(Stale, "%s is at revision %d by now: read it again and decide anew", what, newest)
	e.Revision = &newest

	return e
}

// unknown is the one answer for what does not exist and for what is another
// tenant's.
func unknown(what string) *Error { return refuse(Unknown, "unknown %s", what) }
