package caddymodule

import (
	"errors"
	"net/http"
	"strconv"

	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/revocation"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// The words of Auth.Mode.
const (
	modeStrict = "strict"
	modeMixed  = "mixed"
	modeNone   = "none"
)

// authenticates reports whether tokens are judged.
func (m *Handler) authenticates() bool { return m.Auth.Mode != modeNone }

// authenticate finds out who calls. Where it returns nil, the answer has been
// written.
func (m *Handler) authenticate(w http.ResponseWriter, r *http.Request, at where) *policy.Principal {
	if !m.authenticates() {
		return &policy.Principal{}
	}
	if !at.served {
		m.deny(r, causeRoute, "route stands for no tenant that is served")
		m.forbid(w, r)
		return nil
	}
	if m.anonymous(r, at) {
		principal := &policy.Principal{Anonymous: true}
		trailOf(r).principal = principal
		m.publish(r, principal)
		return principal
	}
	claims, err := m.verify(r, at.route)
	if err != nil {
		m.challenge(w, r, at.route, err)
		return nil
	}
	return m.accept(w, r, at, claims)
}

// accept decides whether who has these claims is let in. Where it returns nil,
// the answer has been written.
func (m *Handler) accept(w http.ResponseWriter, r *http.Request, at where, claims *token.Claims) *policy.Principal {
	principal := principalOf(claims)
	trailOf(r).principal = principal
	claim, _ := claims.Lookup(m.tenancy.Claim)
	var err error
	if principal.Tenant, err = m.tenancy.Resolve(claim, at.bound); err != nil {
		m.deny(r, causeTenant, err.Error())
		m.hintTenant(claims, err)
		m.forbid(w, r)
		return nil
	}
	if err := m.state.check(r.Context(), principal); err != nil {
		m.challenge(w, r, at.route, err)
		return nil
	}
	if !m.admit(w, r, principal) {
		return nil
	}
	if missing := m.rules.MissingScopes(principal.Scopes, m.Auth.Scopes); len(missing) > 0 {
		m.settle(r, decided{decision: policy.StepUp.String(), cause: causeScope, reason: "token lacks scope " + missing[0]})
		if principal.Withholds(missing) { // asking for them would be in vain
			m.forbid(w, r)
			return nil
		}
		m.stepUp(w, r, at.route, policy.Union(m.Auth.Scopes, principal.Scopes))
		return nil
	}
	m.publish(r, principal)
	return principal
}

// principalOf is the caller as a token names them, without a tenant.
func principalOf(claims *token.Claims) *policy.Principal {
	return &policy.Principal{
		Issuer: claims.Issuer, Subject: claims.Subject, ClientID: claims.ClientID,
		Scopes: claims.Scopes, Expiry: claims.Expiry, Claims: claims.Raw,
	}
}

// anonymous reports whether a request may go on without a token: in mixed mode,
// if it carries no Authorization header at all. A route that stands for a
// tenant has nothing for callers without one.
func (m *Handler) anonymous(r *http.Request, at where) bool {
	return m.Auth.Mode == modeMixed && len(r.Header.Values("Authorization")) == 0 && !at.bound.Bound
}

func (m *Handler) verify(r *http.Request, found route) (*token.Claims, error) {
	raw, err := token.Bearer(r.Header)
	if err != nil {
		return nil, err
	}
	return m.verifier.Verify(r.Context(), raw, found.audiences...)
}

// challenge answers a request without a good token (RFC 6750 §3, RFC 9728 §5.1).
// Which check failed is for the log alone.
func (m *Handler) challenge(w http.ResponseWriter, r *http.Request, found route, err error) {
	challenge := token.Challenge{ResourceMetadata: found.metadataURL, Scopes: m.Auth.Scopes}
	var bad *token.Error
	switch {
	case errors.Is(err, token.ErrNoToken):
		m.settle(r, decided{decision: policy.StepUp.String(), cause: causeNoToken, reason: err.Error()})
		w.Header().Set("WWW-Authenticate", challenge.Header())
		m.writeAuthError(w, r, http.StatusUnauthorized, "login_required", "this resource needs an access token")
		return
	case errors.As(err, &bad) && bad.Kind == token.Unavailable:
		m.logger.Warn("cannot judge tokens", zap.Error(err))
		m.deny(r, causeUnavailable, err.Error())
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(bad.RetryAfter.Seconds()))))
		m.writeAuthError(w, r, http.StatusServiceUnavailable, "temporarily_unavailable", "tokens cannot be verified at the moment")
		return
	}
	status := http.StatusUnauthorized
	challenge.Error, challenge.Description = string(token.InvalidToken), "the access token is not valid for this resource"
	if bad != nil && bad.Kind == token.InvalidRequest {
		status = http.StatusBadRequest
		challenge.Error, challenge.Description = string(bad.Kind), "the Authorization header is malformed"
	}
	cause := causeToken
	if errors.Is(err, revocation.ErrRevoked) {
		cause = causeRevoked
	}
	m.deny(r, cause, err.Error())
	m.hintMismatch(bad)
	if in := inspectionOf(r); in != nil && bad != nil {
		in.mismatch = bad.Mismatch
	}
	w.Header().Set("WWW-Authenticate", challenge.Header())
	m.writeAuthError(w, r, status, challenge.Error, challenge.Description)
}

// stepUp asks for a token with more scopes (RFC 6750 §3.1). scopes is everything
// the operation needs and everything already granted.
func (m *Handler) stepUp(w http.ResponseWriter, r *http.Request, found route, scopes []string) {
	challenge := token.Challenge{
		ResourceMetadata: found.metadataURL, Scopes: scopes,
		Error: token.InsufficientScope, Description: "the operation needs more scopes",
	}
	w.Header().Set("WWW-Authenticate", challenge.Header())
	m.writeAuthError(w, r, http.StatusForbidden, challenge.Error, challenge.Description)
}

// forbid answers a caller who is known but not let in, without saying why.
func (m *Handler) forbid(w http.ResponseWriter, r *http.Request) {
	m.writeAuthError(w, r, http.StatusForbidden, "access_denied", "access denied")
}
