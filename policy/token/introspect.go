package token

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Defaults and bounds of IntrospectConfig.
const (
	// DefaultIntrospectionTTL is how long an answer is used.
	DefaultIntrospectionTTL = 30 * time.Second
	// DefaultConcurrentCalls is how many tokens are asked about at once.
	DefaultConcurrentCalls = 32
	maxConcurrentCalls     = 1024
	// assumedLifetime is the life of tokens whose end the server does not tell:
	// streams opened with one end then and are judged anew.
	assumedLifetime = 10 * time.Minute
)

// IntrospectConfig describes one server that is asked about tokens (RFC 7662).
type IntrospectConfig struct {
	// URL is the introspection endpoint. https, or http on loopback.
	URL string

	// Client is who we are to it. The standard forbids to answer just anybody.
	Client ClientConfig

	// Issuer becomes the issuer of every principal from here. An answer that
	// carries "iss" must carry exactly this one.
	Issuer string

	// Audiences lists the names of this resource, one of which "aud" must
	// contain. Without any, only calls of Verify that name audiences can
	// succeed. Answers without "aud" are refused: nothing else says that the
	// token was made for this resource.
	Audiences []string

	// JWTs sends this issuer's JWTs here too. Otherwise only tokens that are
	// not JWTs are asked about.
	JWTs bool

	// Leeway is tolerated in "exp", "nbf", "iat" and MaxTokenAge. Zero means 30
	// seconds, negative means none.
	Leeway time.Duration

	// MaxTokenAge refuses tokens without "iat" and those issued longer ago.
	// Zero means no such rule.
	MaxTokenAge time.Duration

	// CacheTTL is how long an answer is used, and thereby how long a revoked
	// token goes on working. At most 60 seconds. Zero means 30 seconds,
	// negative means that every use of a token asks.
	CacheTTL time.Duration

	// CacheSize is how many answers are remembered, good and bad ones each.
	// Zero means 10,000.
	CacheSize int

	// Concurrent is how many calls may run at once. Zero means 32.
	Concurrent int

	// Timeout bounds one call. Zero means 5 seconds; at most 30.
	Timeout time.Duration

	// Transport replaces the own HTTP transport, to add roots or a client
	// certificate. Nil means a fresh one with the system's roots.
	Transport http.RoundTripper
}

// Introspector judges tokens by asking the server that made them (RFC 7662). It
// is for tokens that say nothing by themselves. It is safe for concurrent use.
//
// An answer is remembered, by the token's hash, for at most 60 seconds; times
// and audience are judged on every use. An inactive token is remembered for 5
// seconds. Requests with the same token share one call, calls are bounded, and
// a part of them is kept for tokens that were good lately, so that a flood of
// invented tokens locks nobody out whom the server knows. While the server does
// not answer, tokens are Unavailable and it is left alone for up to 30 seconds;
// what it said before is not used any longer than otherwise.
type Introspector struct {
	issuer    string
	audiences []string
	jwts      bool
	ttl       time.Duration
	times     *Verifier // only to check times, as for JWTs
	inquiries *inquiries[*Claims]
}

// NewIntrospector checks the configuration and returns an Introspector. It does
// no network I/O. Close it when it is no longer used.
func NewIntrospector(config IntrospectConfig) (*Introspector, error) {
	if err := checkIssuer(config.Issuer, false); err != nil {
		return nil, fmt.Errorf("issuer of introspected tokens: %w", err)
	}
	switch {
	case slices.Contains(config.Audiences, ""):
		return nil, errors.New("an audience is empty")
	case config.MaxTokenAge < 0:
		return nil, errors.New("the longest token age must not be negative")
	case config.CacheTTL > maxCacheTTL:
		return nil, fmt.Errorf("introspection answers must not be used for longer than %s", maxCacheTTL)
	case config.CacheSize < 0:
		return nil, errors.New("the number of remembered answers must not be negative")
	case config.Concurrent < 0 || config.Concurrent > maxConcurrentCalls:
		return nil, fmt.Errorf("the number of concurrent calls must be between 1 and %d", maxConcurrentCalls)
	}
	orDefault(&config.CacheTTL, DefaultIntrospectionTTL)
	orDefault(&config.CacheSize, DefaultCacheSize)
	orDefault(&config.Concurrent, DefaultConcurrentCalls)
	orDefault(&config.Timeout, DefaultCallTimeout)
	orDefault(&config.Leeway, DefaultLeeway)

	e, err := newEndpoint(config.URL, config.Client, config.Timeout, config.Concurrent, config.Transport)
	if err != nil {
		return nil, fmt.Errorf("introspection endpoint: %w", err)
	}

	return &Introspector{
		issuer:    config.Issuer,
		audiences: slices.Clone(config.Audiences),
		jwts:      config.JWTs,
		ttl:       max(config.CacheTTL, 0),
		times:     &Verifier{leeway: max(config.Leeway, 0), maxTokenAge: config.MaxTokenAge, now: time.Now},
		inquiries: newInquiries[*Claims](e, config.CacheSize, config.Concurrent),
	}, nil
}

// orDefault fills in a setting that was left out.
func orDefault[T comparable](setting *T, value T) {
	var zero T
	if *setting == zero {
		*setting = value
	}
}

// Stats describe the use of the endpoint until now.
func (in *Introspector) Stats() CallStats { return in.inquiries.stats() }

// Close lets go of idle connections. Tokens can still be verified by requests
// that are running.
func (in *Introspector) Close() { in.inquiries.endpoint.client.CloseIdleConnections() }
