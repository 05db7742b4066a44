package caddymodule

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// The words of Auth.Mode.
const (
	modeStrict = "strict"
	modeNone   = "none"
)

// neutral is all that a caller is told about a bad token: which check failed
// is for the log alone.
const neutral = "the access token is not valid for this resource"

// authenticates reports whether tokens are asked for.
func (m *Handler) authenticates() bool { return m.Auth.Mode != modeNone }

// authenticate finds out who calls. Where it returns nil, the answer has been
// written.
func (m *Handler) authenticate(w http.ResponseWriter, r *http.Request) *policy.Principal {
	if !m.authenticates() {
		return &policy.Principal{}
	}
	found, served := m.routeFor(r)
	if !served {
		m.deny(r, "route stands for no tenant that is served")
		writeOAuthError(w, http.StatusForbidden, "access_denied", "access denied")
		return nil
	}
	claims, err := m.verify(r, found)
	if err != nil {
		m.challenge(w, r, found, err)
		return nil
	}
	principal := &policy.Principal{
		Issuer: claims.Issuer, Subject: claims.Subject, ClientID: claims.ClientID,
		Scopes: claims.Scopes, Expiry: claims.Expiry, Claims: claims.Raw,
	}
	if missing := claims.MissingScopes(m.Auth.Scopes); len(missing) > 0 {
		m.deny(r, "token lacks scope "+missing[0])
		m.stepUp(w, found, policy.Union(m.Auth.Scopes, claims.Scopes))
		return nil
	}
	claim, _ := claims.Lookup(m.tenancy.Claim)
	if principal.Tenant, err = m.tenancy.Resolve(claim, m.tenantOf(r)); err != nil {
		m.deny(r, err.Error())
		writeOAuthError(w, http.StatusForbidden, "access_denied", "access denied")
		return nil
	}
	m.publish(r, principal)
	return principal
}

func (m *Handler) verify(r *http.Request, found route) (*token.Claims, error) {
	raw, err := token.Bearer(r.Header)
	if err != nil {
		return nil, err
	}
	return m.verifier.Verify(r.Context(), raw, found.audiences...)
}

// challenge answers a request without a good token (RFC 6750 §3, RFC 9728 §5.1).
func (m *Handler) challenge(w http.ResponseWriter, r *http.Request, found route, err error) {
	challenge := token.Challenge{ResourceMetadata: found.metadataURL, Scopes: m.Auth.Scopes}
	var bad *token.Error
	switch {
	case errors.Is(err, token.ErrNoToken):
		w.Header().Set("WWW-Authenticate", challenge.Header())
		writeOAuthError(w, http.StatusUnauthorized, "login_required", "this resource needs an access token")
	case errors.As(err, &bad) && bad.Kind == token.Unavailable:
		m.logger.Warn("cannot judge tokens", zap.Error(err))
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(bad.RetryAfter.Seconds()))))
		writeOAuthError(w, http.StatusServiceUnavailable, "temporarily_unavailable", "tokens cannot be verified at the moment")
	case errors.As(err, &bad) && bad.Kind == token.InvalidRequest:
		m.deny(r, bad.Reason)
		challenge.Error, challenge.Description = string(bad.Kind), "the Authorization header is malformed"
		w.Header().Set("WWW-Authenticate", challenge.Header())
		writeOAuthError(w, http.StatusBadRequest, challenge.Error, challenge.Description)
	default:
		m.deny(r, err.Error())
		challenge.Error, challenge.Description = string(token.InvalidToken), neutral
		w.Header().Set("WWW-Authenticate", challenge.Header())
		writeOAuthError(w, http.StatusUnauthorized, challenge.Error, neutral)
	}
}

// stepUp asks for a token with more scopes (RFC 6750 §3.1). scopes is everything
// the operation needs and everything already granted.
func (m *Handler) stepUp(w http.ResponseWriter, found route, scopes []string) {
	const description = "the operation needs more scopes"
	challenge := token.Challenge{ResourceMetadata: found.metadataURL, Scopes: scopes, Error: "insufficient_scope", Description: description}
	w.Header().Set("WWW-Authenticate", challenge.Header())
	writeOAuthError(w, http.StatusForbidden, challenge.Error, description)
}

// publish makes the verified identity known to the rest of the Caddyfile.
func (m *Handler) publish(r *http.Request, p *policy.Principal) {
	repl := replacerOf(r)
	repl.Set("http.auth.user.id", p.Subject)
	repl.Set("http.mcp_app.issuer", p.Issuer)
	repl.Set("http.mcp_app.subject", p.Subject)
	repl.Set("http.mcp_app.tenant", p.Tenant)
	logField(r, zap.String("mcp_tenant", p.Tenant))
}

// deny tells the operator why a request was refused; the caller is not told.
// Refused requests are everyday business of a public endpoint: INFO.
func (m *Handler) deny(r *http.Request, reason string, fields ...zap.Field) {
	logField(r, zap.String("mcp_decision", "refuse"))
	if entry := m.logger.Check(zapcore.InfoLevel, "request refused"); entry != nil {
		entry.Write(append(fields, zap.String("reason", reason), zap.String("remote_ip", clientIP(r)))...)
	}
}

// logField adds a field to the access log.
func logField(r *http.Request, field zap.Field) {
	if extra, ok := r.Context().Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
		extra.Set(field)
	}
}

func clientIP(r *http.Request) string {
	ip, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	return ip
}
