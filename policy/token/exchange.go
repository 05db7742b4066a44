package token

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// AccessTokenType and JWTType are the types of tokens that can be asked for
// (RFC 8693 §3): those that can be used as a bearer token.
const (
	AccessTokenType = "urn:ietf:params:oauth:token-type:access_token" //nolint:gosec // a name, not a credential
	JWTType         = "urn:ietf:params:oauth:token-type:jwt"
)

// ExchangeConfig says where and for what callers' tokens are exchanged.
type ExchangeConfig struct {
	// URL is the token endpoint. https, or http on loopback.
	URL string

	// Client is who we are to it.
	Client ClientConfig

	// Audience and Resource name the upstream (RFC 8693 §2.1): the one by a name
	// that the authorization server knows, the other by its URL. At least one is
	// required, because a token for anybody would be no better than the
	// caller's.
	Audience, Resource string

	// Scopes are asked for. Without any the server decides.
	Scopes []string

	// RequestedTokenType is AccessTokenType or JWTType; empty lets the server
	// choose between them.
	RequestedTokenType string

	// CacheSize is how many tokens are remembered. Zero means 10,000.
	CacheSize int

	// Concurrent is how many calls may run at once. Zero means 32.
	Concurrent int

	// Timeout bounds one call. Zero means 5 seconds; at most 30.
	Timeout time.Duration

	// Transport replaces the own HTTP transport, to add roots or a client
	// certificate. Nil means a fresh one with the system's roots.
	Transport http.RoundTripper
}

// Exchanger exchanges callers' tokens for tokens of the upstream (RFC 8693), so
// that the upstream never sees a token that was made for us. It is safe for
// concurrent use.
//
// An exchanged token is remembered, by the hash of the caller's token and the
// audience, until shortly before it expires. Requests with the same token share
// one call; calls are bounded; refusals are repeated for 5 seconds without
// asking. No call is made twice, except that the transport repeats one whose
// connection the server had closed before it.
type Exchanger struct {
	config    ExchangeConfig // without Client
	inquiries *inquiries[*UpstreamToken]
}

// NewExchanger checks the configuration and returns an Exchanger. It does no
// network I/O. Close it when it is no longer used.
func NewExchanger(config ExchangeConfig) (*Exchanger, error) {
	switch {
	case config.Audience == "" && config.Resource == "":
		return nil, errors.New("token exchange needs an audience or a resource: whom the new token is for")
	case hasControl(config.Audience):
		return nil, errors.New("the audience must not hold control characters")
	case config.CacheSize < 0:
		return nil, errors.New("the number of remembered tokens must not be negative")
	case config.Concurrent < 0 || config.Concurrent > maxConcurrentCalls:
		return nil, fmt.Errorf("the number of concurrent calls must be between 1 and %d", maxConcurrentCalls)
	}
	if config.Resource != "" {
		if err := CheckURL(config.Resource, true); err != nil {
			return nil, fmt.Errorf("resource of the exchanged token: %w", err)
		}
	}
	for _, scope := range config.Scopes {
		if !IsScopeToken(scope) {
			return nil, fmt.Errorf("%q is not a scope", scope)
		}
	}
	if t := config.RequestedTokenType; t != "" && t != AccessTokenType && t != JWTType {
		return nil, fmt.Errorf("unknown requested token type %q (%s or %s)", t, AccessTokenType, JWTType)
	}
	orDefault(&config.CacheSize, DefaultCacheSize)
	orDefault(&config.Concurrent, DefaultConcurrentCalls)
	orDefault(&config.Timeout, DefaultCallTimeout)

	e, err := newEndpoint(config.URL, config.Client, config.Timeout, config.Concurrent, config.Transport)
	if err != nil {
		return nil, fmt.Errorf("token endpoint: %w", err)
	}
	config.Client = ClientConfig{}
	config.Scopes = slices.Clone(config.Scopes)

	x := &Exchanger{config: config, inquiries: newInquiries[*UpstreamToken](e, config.CacheSize, config.Concurrent)}
	x.inquiries.trusted = true

	return x, nil
}

// Stats describe the use of the endpoint until now.
func (x *Exchanger) Stats() CallStats { return x.inquiries.stats() }

// Close lets go of idle connections. Tokens can still be exchanged by requests
// that are running.
func (x *Exchanger) Close() { x.inquiries.endpoint.client.CloseIdleConnections() }
