package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

func init() { caddy.RegisterModule(JWTProvider{}) }

// JWTProvider makes the token check of mcp_app available to Caddy's
// authentication handler, for other parts of a site that the same tokens open.
// It knows 401 only; an MCP endpoint wants mcp_app. While tokens cannot be judged
// the 401 has no challenge, since a new login would not help, but Retry-After;
// {http.auth.mcp_jwt.error} then holds the reason for handle_errors.
type JWTProvider struct {
	// Auth says whose tokens are accepted. Mode must be empty or strict, and
	// audiences are required, since there is no resource to take them from.
	Auth

	// Implies maps a scope to scopes that come with it, as policy.implies of
	// mcp_app does. Default: none.
	Implies map[string][]string `json:"implies,omitempty"`
	// StateRaw is where revocations are kept: the same line as that of the
	// endpoints whose tokens these are, or taking access back does not reach
	// here. Default: memory.
	StateRaw json.RawMessage `json:"state,omitempty" caddy:"namespace=mcp_app.state inline_key=name"`

	logger   *zap.Logger
	verifier *token.Checker
	rules    *policy.Policy
	state    *sharedState
	release  []func()
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
	if p.rules, err = policy.Compile(policy.Config{Default: policy.Allow, Implies: p.Implies}); err != nil {
		return fmt.Errorf("mcp_jwt: %w", err)
	}
	p.state, err = openState(ctx, p.StateRaw)
	p.release = append(p.release, p.state.close)
	if err != nil {
		return fmt.Errorf("mcp_jwt: state: %w", err)
	}
	verifier, release, err := p.buildChecker(p.logger)
	p.release = append(p.release, release)
	p.verifier = verifier
	return err
}

// Cleanup gives back what Provision took.
func (p *JWTProvider) Cleanup() error {
	for _, release := range p.release {
		release()
	}
	p.release = nil
	return nil
}

// Authenticate implements caddyauth.Authenticator. Its error is for keys that
// cannot be had; a bad token is no error but a refusal, logged at INFO so that
// nobody can fill the error log with them.
func (p *JWTProvider) Authenticate(w http.ResponseWriter, r *http.Request) (caddyauth.User, bool, error) {
	caller, err := p.verify(r)
	if err == nil {
		return caddyauth.User{ID: caller.Subject, Metadata: map[string]string{"issuer": caller.Issuer, "client_id": caller.ClientID}}, true, nil
	}
	challenge := token.Challenge{Scopes: p.Scopes}
	var bad *token.Error
	switch {
	case errors.As(err, &bad) && bad.Kind == token.Unavailable:
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(bad.RetryAfter.Seconds()))))
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

func (p *JWTProvider) verify(r *http.Request) (*policy.Principal, error) {
	raw, err := token.Bearer(r.Header)
	if err != nil {
		return nil, err
	}
	claims, err := p.verifier.Verify(r.Context(), raw, p.Audiences...)
	if err != nil {
		return nil, err
	}
	caller := principalOf(claims)
	if err := p.state.check(r.Context(), caller); err != nil {
		return nil, err
	}
	if missing := p.rules.MissingScopes(caller.Scopes, p.Scopes); len(missing) > 0 {
		return nil, &token.Error{Kind: token.InvalidToken, Reason: "token lacks scope " + missing[0]}
	}
	return caller, nil
}

// Interface guards
var (
	_ caddy.Provisioner       = (*JWTProvider)(nil)
	_ caddy.CleanerUpper      = (*JWTProvider)(nil)
	_ caddyauth.Authenticator = (*JWTProvider)(nil)
)
