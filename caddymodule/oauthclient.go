package caddymodule

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// OAuthClient is how the gateway authenticates at an authorization server.
type OAuthClient struct {
	// ClientID is the gateway's id there.
	ClientID string `json:"client_id,omitempty"`
	// ClientSecret is its secret, as a placeholder such as {env.X} or {file.X};
	// it is resolved at load and appears in no log.
	ClientSecret string `json:"client_secret,omitempty"`
	// AuthMethod is client_secret_basic (the default), client_secret_post, bearer
	// (the secret is a bearer token, without client id) or none.
	AuthMethod string `json:"auth_method,omitempty"`
}

// Introspection asks an authorization server about tokens that are not JWTs
// (RFC 7662).
type Introspection struct {
	// URL is the introspection endpoint: https, or http on loopback.
	URL string `json:"url"`
	OAuthClient
	// Issuer is the issuer of these callers. An `iss` in the answer must equal
	// it. Default: the only issuer configured, if there is exactly one.
	Issuer string `json:"issuer,omitempty"`
	// JWTs asks about this issuer's JWTs too, so that revoked ones are noticed.
	// The issuer must then have no issuer block.
	JWTs bool `json:"jwts,omitempty"`
	// CacheTTL is how long an answer is used, and so how long a revoked token
	// goes on working. At most 60s; 0s asks for every message. Default: 30s.
	CacheTTL *caddy.Duration `json:"cache_ttl,omitempty"`
	// Timeout of one call, at most 30s. Default: 5s. An endpoint that fails gives
	// 503, never 401.
	Timeout caddy.Duration `json:"timeout,omitempty"`
	// Concurrent calls. Default: 32.
	Concurrent int `json:"concurrent,omitempty"`
}

// Exchange gives the server a token of its own in place of the caller's (RFC
// 8693), in Authorization.
type Exchange struct {
	// URL is the token endpoint: https, or http on loopback.
	URL string `json:"url"`
	OAuthClient
	// Audience and Resource say whom the token is for: a name that the
	// authorization server knows, or the server's URL. At least one is required.
	Audience string `json:"audience,omitempty"`
	// Resource says the same by the server's URL (RFC 8707).
	Resource string `json:"resource,omitempty"`
	// Scopes asked for. Default: what the authorization server decides.
	Scopes []string `json:"scopes,omitempty"`
	// TokenType is access_token or jwt. Default: either.
	TokenType string `json:"token_type,omitempty"`
	// Timeout of one call, at most 30s. Default: 5s.
	Timeout caddy.Duration `json:"timeout,omitempty"`
}

// config resolves the secret.
func (c OAuthClient) config() (token.ClientConfig, error) {
	secret, err := caddy.NewReplacer().ReplaceOrErr(c.ClientSecret, true, true)
	if err != nil {
		return token.ClientConfig{}, fmt.Errorf("client_secret: %w", err)
	}
	return token.ClientConfig{ClientID: c.ClientID, ClientSecret: secret, AuthMethod: token.AuthMethod(c.AuthMethod)}, nil
}

// lines are the Caddyfile words of a client.
func (c *OAuthClient) lines() map[string]subdirective {
	return map[string]subdirective{
		"client_id":     scalar(&c.ClientID),
		"client_secret": secret(&c.ClientSecret),
		"auth_method":   oneOf(&c.AuthMethod, string(token.ClientSecretBasic), string(token.ClientSecretPost), string(token.ClientBearer), string(token.ClientNone)),
	}
}

// parseIntrospect reads:
//
//	introspect <url> {
//		client_id     <id>
//		client_secret <secret>
//		auth_method   client_secret_basic | client_secret_post | bearer | none
//		issuer        <url>
//		jwts
//		cache_ttl     <duration>
//		timeout       <duration>
//		concurrent    <number>
//	}
func (a *Auth) parseIntrospect(d *caddyfile.Dispenser) error {
	i := &Introspection{}
	if !d.Args(&i.URL) || d.NextArg() {
		return d.Err("introspect takes exactly one URL; its details go into a block")
	}
	a.Introspection = append(a.Introspection, i)
	known := i.lines()
	known["issuer"] = scalar(&i.Issuer)
	known["jwts"] = flag(&i.JWTs)
	known["cache_ttl"] = duration(&i.CacheTTL)
	known["timeout"] = plainDuration(func(v time.Duration) { i.Timeout = caddy.Duration(v) })
	known["concurrent"] = number(&i.Concurrent)
	return block(d, known)
}

// parseExchange reads:
//
//	exchange <url> {
//		client_id     <id>
//		client_secret <secret>
//		auth_method   client_secret_basic | client_secret_post | bearer | none
//		audience      <name>
//		resource      <url>
//		scopes        <scope>...
//		token_type    access_token | jwt
//		timeout       <duration>
//	}
func (i *Identity) parseExchange(d *caddyfile.Dispenser) error {
	x := &Exchange{}
	if i.Exchange != nil {
		return d.Err("exchange already specified")
	}
	if !d.Args(&x.URL) || d.NextArg() {
		return d.Err("exchange takes exactly one URL; its details go into a block")
	}
	i.Exchange = x
	known := x.lines()
	known["audience"] = scalar(&x.Audience)
	known["resource"] = scalar(&x.Resource)
	known["scopes"] = words(&x.Scopes)
	known["token_type"] = oneOf(&x.TokenType, "access_token", "jwt")
	known["timeout"] = plainDuration(func(v time.Duration) { x.Timeout = caddy.Duration(v) })
	return block(d, known)
}

// build makes the introspector. issuers are those with keys.
func (i *Introspection) build(a *Auth) (*token.Introspector, error) {
	client, err := i.config()
	if err != nil {
		return nil, err
	}
	config := token.IntrospectConfig{
		URL: i.URL, Client: client, Issuer: i.Issuer, JWTs: i.JWTs,
		MaxTokenAge: time.Duration(a.MaxTokenAge), Timeout: time.Duration(i.Timeout), Concurrent: i.Concurrent,
	}
	if config.Issuer == "" {
		if len(a.Issuers) != 1 {
			return nil, errors.New("name the issuer of these tokens; write introspect <url> { issuer https://… }")
		}
		config.Issuer = a.Issuers[0].Issuer
	}
	if a.Leeway != nil {
		config.Leeway = cmp.Or(time.Duration(*a.Leeway), -1)
	}
	if i.CacheTTL != nil {
		config.CacheTTL = cmp.Or(time.Duration(*i.CacheTTL), -1)
	}
	return token.NewIntrospector(config)
}

func (x *Exchange) build() (*token.Exchanger, error) {
	client, err := x.config()
	if err != nil {
		return nil, err
	}
	config := token.ExchangeConfig{
		URL: x.URL, Client: client, Audience: x.Audience, Resource: x.Resource, Scopes: x.Scopes,
		Timeout: time.Duration(x.Timeout),
	}
	switch x.TokenType {
	case "access_token":
		config.RequestedTokenType = token.AccessTokenType
	case "jwt":
		config.RequestedTokenType = token.JWTType
	}
	return token.NewExchanger(config)
}
