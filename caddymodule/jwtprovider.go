package caddymodule

import (
	"errors"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

func init() { caddy.RegisterModule(JWTProvider{}) }

// JWTProvider makes the token check of mcp_app available to Caddy's
// authentication handler, for other parts of a site that the same tokens open.
// It knows 401 only; an MCP endpoint wants mcp_app.
type JWTProvider struct {
	// Auth says whose tokens are accepted. Mode must be empty or strict, and
	// audiences are required, since there is no resource to take them from.
	Auth

	logger   *zap.Logger
	verifier *token.Checker
	release  func()
}

// CaddyModule returns the Caddy module information.
func (JWTProvider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.authentication.providers.mcp_jwt",
		New: func() caddy.Module { return new(JWTProvider) },
	}
}

// Provision compiles the configuration, without network I/O.
func (p *JWTProvider) Provision(ctx caddy.Context) (err error) {
	p.logger = ctx.Logger()
	switch {
	case p.Mode != "" && p.Mode != modeStrict:
		return errors.New("mcp_jwt: mode must be strict; combine providers for anything else")
	case len(p.Audiences) == 0:
		return errors.New("mcp_jwt: audiences are required; a token made for another resource must not open this one")
	}
	p.verifier, p.release, err = p.buildChecker(p.logger)
	return err
}

// Cleanup gives back what Provision took.
func (p *JWTProvider) Cleanup() error {
	if p.release != nil {
		p.release()
		p.release = nil
	}
	return nil
}

// Authenticate implements caddyauth.Authenticator. Its error is for keys that
// cannot be had; a bad token is no error but a refusal, logged at INFO so that
// nobody can fill the error log with them.
func (p *JWTProvider) Authenticate(w http.ResponseWriter, r *http.Request) (caddyauth.User, bool, error) {
	claims, err := p.verify(r)
	if err == nil {
		return caddyauth.User{ID: claims.Subject, Metadata: map[string]string{"issuer": claims.Issuer, "client_id": claims.ClientID}}, true, nil
	}
	challenge := token.Challenge{Scopes: p.Scopes}
	var bad *token.Error
	switch {
	case errors.Is(err, token.ErrKeysUnavailable):
		return caddyauth.User{}, false, caddyhttp.Error(http.StatusServiceUnavailable, err)
	case errors.As(err, &bad):
		challenge.Error = string(bad.Kind)
		if entry := p.logger.Check(zapcore.InfoLevel, "token refused"); entry != nil {
			entry.Write(zap.String("reason", bad.Reason))
		}
	}
	w.Header().Set("WWW-Authenticate", challenge.Header())
	return caddyauth.User{}, false, nil
}

func (p *JWTProvider) verify(r *http.Request) (*token.Claims, error) {
	raw, err := token.Bearer(r.Header)
	if err != nil {
		return nil, err
	}
	claims, err := p.verifier.Verify(r.Context(), raw, p.Audiences...)
	if err != nil {
		return nil, err
	}
	if missing := claims.MissingScopes(p.Scopes); len(missing) > 0 {
		return nil, &token.Error{Kind: token.InvalidToken, Reason: "token lacks scope " + missing[0]}
	}
	return claims, nil
}

// Interface guards
var (
	_ caddy.Provisioner       = (*JWTProvider)(nil)
	_ caddy.CleanerUpper      = (*JWTProvider)(nil)
	_ caddyauth.Authenticator = (*JWTProvider)(nil)
)
