package token

import (
	"errors"
	"net/http"
	"slices"
	"time"
)

// ExchangeKind says whose fault it is that there is no token for the upstream.
type ExchangeKind string

const (
	// ExchangeDenied means that the server gives none for this caller: 403. Its
	// own token is good for us, so that 401 would send the client into a login
	// that changes nothing.
	ExchangeDenied ExchangeKind = "denied"
	// ExchangeMisconfigured means that the server gives us none for anybody, or
	// something that we cannot use: 502, and a matter for the operator.
	ExchangeMisconfigured ExchangeKind = "misconfigured"
	// ExchangeUnavailable means that the server cannot be asked at the moment:
	// 503 with Retry-After.
	ExchangeUnavailable ExchangeKind = "unavailable"
)

// ExchangeError says why there is no token for the upstream.
type ExchangeError struct {
	Kind ExchangeKind

	// Status is what the token endpoint answered, zero if it did not.
	Status int

	// Code is its error code (RFC 6749 §5.2, RFC 8693 §2.2.2), empty if there
	// was none that is known.
	Code string

	// Reason is the exact cause for the operator's log, without any token or
	// secret. It must not reach the client.
	Reason string

	// RetryAfter is set for ExchangeUnavailable, between one second and one
	// minute.
	RetryAfter time.Duration
}

func (e *ExchangeError) Error() string {
	return "exchanging token: " + string(e.Kind) + ": " + e.Reason
}

// exchangeRefusal returns a refusal to be remembered if an answer is about the
// caller's token, and else the failure as it is.
func exchangeRefusal(f *callError) error {
	denied := f.status == http.StatusBadRequest || f.status == http.StatusForbidden
	if !denied || f.code == "" || slices.Contains(configurationCodes, f.code) {
		return f
	}

	return &ExchangeError{Kind: ExchangeDenied, Status: f.status, Code: f.code, Reason: f.reason}
}

// exchangeError turns an error of a call into one for the caller, who gets one
// of his own.
func exchangeError(err error) *ExchangeError {
	if refused, ok := errors.AsType[*ExchangeError](err); ok {
		return new(*refused)
	}
	f, ok := errors.AsType[*callError](err)
	if !ok {
		return &ExchangeError{Kind: ExchangeMisconfigured, Reason: err.Error()}
	}

	e := &ExchangeError{Kind: ExchangeMisconfigured, Status: f.status, Code: f.code, Reason: f.reason}
	if f.status == 0 || f.status >= 500 || f.status == http.StatusTooManyRequests || f.status == http.StatusRequestTimeout {
		e.Kind = ExchangeUnavailable
		e.RetryAfter = retryAfter(f.retryAfter)
	}

	return e
}
