package token

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// callError is a call of an endpoint that said nothing about the token.
type callError struct {
	reason     string        // without anything that was sent
	status     int           // zero if there was no answer
	code       string        // a code of oauthCodes, or empty
	retryAfter time.Duration // zero if unknown
	counts     bool          // the endpoint failed, whatever the token was
}

func (f *callError) Error() string { return f.reason }

// oauthCodes are the error codes that may be repeated (RFC 6749 §5.2, RFC 6750
// §3.1, RFC 8693 §2.2.2). Any other text of an answer may be an echo of what
// was sent.
var oauthCodes = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client",
	"unsupported_grant_type", "invalid_scope", "invalid_target", "invalid_token",
	"insufficient_scope", "access_denied", "unsupported_token_type",
	"server_error", "temporarily_unavailable", "slow_down",
}

// configurationCodes blame the client, not the token.
var configurationCodes = []string{
	"invalid_client", "unauthorized_client", "unsupported_grant_type", "unsupported_token_type",
}

// statusFailure judges an answer that is not 200.
func statusFailure(r *reply) *callError {
	f := &callError{status: r.status}
	if object, err := strict.Object(r.body); err == nil {
		if code, _ := object["error"].(string); slices.Contains(oauthCodes, code) {
			f.code = code
		}
	}

	f.reason = fmt.Sprintf("status %d", r.status)
	if f.code != "" {
		f.reason += " " + f.code
	}
	switch {
	case f.status == http.StatusUnauthorized || slices.Contains(configurationCodes, f.code):
		f.reason += "; is the client authentication right?"
	case f.status >= 300 && f.status < 400:
		f.reason += "; redirects are not followed"
	}

	switch f.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge:
		// A token can be the reason, and its bearer must not be able to stop the
		// calls for all others.
		f.counts = slices.Contains(configurationCodes, f.code)
	default:
		f.counts = true
	}
	if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
		if s, err := strconv.ParseUint(r.header.Get("Retry-After"), 10, 31); err == nil {
			f.retryAfter = time.Duration(s) * time.Second
		}
	}

	return f
}

// noAnswer is for an error of the transport.
func noAnswer(err error) *callError {
	return &callError{reason: describe(err), counts: true}
}

// describe repeats only kinds of errors whose text is known to be about the
// connection: others quote lines of the answer, or the address with its query.
func describe(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return "no answer in time"
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Error()
	}

	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the server speaks HTTP without TLS"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before the end of the answer"
	default:
		return "no readable HTTP answer"
	}
}
