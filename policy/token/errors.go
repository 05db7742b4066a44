package token

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

var (
	// ErrNoToken says that the request carries no bearer credentials: no
	// Authorization header, or one of another scheme. The answer is a bare
	// challenge without an error code (RFC 6750 §3.1).
	ErrNoToken = errors.New("no bearer credentials")

	// ErrKeysUnavailable says that there are no signing keys to judge a token
	// by. It is wrapped by every *Error of kind Unavailable. The answer is 503
	// with Retry-After: a 401 would make clients throw a good token away.
	ErrKeysUnavailable = errors.New("signing keys are not available")
)

// Kind says which answer an Error deserves. The first two are the error codes
// of RFC 6750 §3.1.
type Kind string

const (
	// InvalidRequest is a malformed Authorization header: 400.
	InvalidRequest Kind = "invalid_request"
	// InvalidToken is a token that is malformed, badly signed, expired or
	// meant for somebody else: 401.
	InvalidToken Kind = "invalid_token"
	// Unavailable is a token that could not be judged: 503.
	Unavailable Kind = "unavailable"
)

// Error is the refusal of a header or a token.
type Error struct {
	Kind Kind

	// Reason is the exact cause for the operator's log. It may quote single
	// header parameters and claims, shortened, but never the token. It must
	// not reach the client.
	Reason string

	// Mismatch is set only if the signature was good and the token failed a
	// check that usually means a wrong configuration rather than an attack.
	Mismatch *Mismatch

	// RetryAfter is set for kind Unavailable: when the next attempt to fetch
	// the keys is due, between one second and one minute.
	RetryAfter time.Duration
}

// Mismatch names what a correctly signed token says and what the
// configuration wants instead, so that the operator can be told which line to
// write.
type Mismatch struct {
	// Member is "typ" or "aud".
	Member string
	// Issuer is the issuer that signed the token.
	Issuer string
	// Seen is what the token carries; empty if the member is absent. At most
	// 10 values of at most 256 bytes.
	Seen []string
	// Want is what would have been accepted.
	Want []string
}

func (e *Error) Error() string { return string(e.Kind) + ": " + e.Reason }

// Unwrap gives ErrKeysUnavailable for kind Unavailable.
func (e *Error) Unwrap() error {
	if e.Kind == Unavailable {
		return ErrKeysUnavailable
	}
	return nil
}

func refuse(format string, args ...any) *Error {
	return &Error{Kind: InvalidToken, Reason: fmt.Sprintf(format, args...)}
}

func mismatch(member, issuer string, seen, want []string) *Error {
	const maxSeen = 10
	shown := make([]string, 0, min(len(seen), maxSeen))
	for _, s := range seen[:min(len(seen), maxSeen)] {
		shown = append(shown, shorten(s))
	}

	return &Error{
		Kind:     InvalidToken,
		Reason:   fmt.Sprintf("the token of issuer %q has %s %q, expected one of %q", issuer, member, shown, want),
		Mismatch: &Mismatch{Member: member, Issuer: issuer, Seen: shown, Want: slices.Clone(want)},
	}
}

// shorten bounds text that a stranger chose before it enters a log line.
func shorten(s string) string {
	const limit = 256
	if len(s) <= limit {
		return s
	}
	// ToValidUTF8 removes the rune that the cut may have torn.
	return strings.ToValidUTF8(s[:limit-3], "") + "..."
}
