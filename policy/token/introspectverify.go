package token

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Verify judges a token and returns its claims, which are shared and must not
// be changed. If audiences are given they replace the configured ones, for
// resources whose name depends on the request.
//
// It waits for the endpoint, for at most 3 seconds more than the configured
// timeout. The error is always an *Error, of kind InvalidToken or Unavailable;
// the latter whenever the server could not be asked or did not answer as it
// should, because the token may well be good.
func (in *Introspector) Verify(ctx context.Context, token string, audiences ...string) (*Claims, error) {
	switch {
	case len(token) > MaxTokenBytes:
		return nil, refuse("the token is longer than 16 KiB")
	case !isB64Token(token):
		return nil, refuse("the token is not a bearer token (RFC 6750 §2.1)")
	}

	claims, err := in.inquiries.ask(ctx, hashToken(token), func(ctx context.Context) (kept[*Claims], error) {
		return in.introspect(ctx, token)
	})
	if err != nil {
		return nil, in.refusal(err)
	}
	if err := in.times.checkTimes(claims); err != nil {
		return nil, err
	}

	if len(audiences) == 0 {
		audiences = in.audiences
	}
	for _, audience := range claims.Audience {
		if slices.Contains(audiences, audience) {
			return claims, nil
		}
	}

	return nil, mismatch("aud", in.issuer, claims.Audience, audiences)
}

// introspect asks the server once (RFC 7662 §2.1).
func (in *Introspector) introspect(ctx context.Context, token string) (kept[*Claims], error) {
	var none kept[*Claims]
	r, err := in.inquiries.endpoint.post(ctx, url.Values{"token": {token}, "token_type_hint": {"access_token"}})
	if err != nil {
		return none, err
	}
	if r.status != http.StatusOK {
		return none, statusFailure(r)
	}

	now := in.inquiries.now()
	claims, err := readIntrospection(r.body, in.issuer, now)
	if err != nil {
		return none, err
	}

	return kept[*Claims]{value: claims, until: now.Add(in.ttl), size: len(r.body)}, nil
}

// refusal turns an error of a call into one for the caller, who gets one of his
// own.
func (in *Introspector) refusal(err error) error {
	if failure, ok := errors.AsType[*callError](err); ok {
		return &Error{
			Kind:       Unavailable,
			Reason:     "asking about a token of issuer " + in.issuer + ": " + failure.reason,
			RetryAfter: retryAfter(failure.retryAfter),
		}
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		return new(*refused)
	}

	return refuse("%v", err)
}

// retryAfter is within the bounds of Error.RetryAfter.
func retryAfter(d time.Duration) time.Duration {
	return min(max(d, time.Second), time.Minute)
}
