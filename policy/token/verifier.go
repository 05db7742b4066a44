package token

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// DefaultLeeway is the clock difference to issuers that is tolerated.
const DefaultLeeway = 30 * time.Second

// TokenType is the rule for the header parameter "typ" (RFC 7515 §4.1.9).
type TokenType string

const (
	// TypeAccessToken accepts only "at+jwt" (RFC 9068 §2.1), so that an ID
	// token cannot pass for an access token. It is the default.
	TypeAccessToken TokenType = "at+jwt"
	// TypeJWT accepts only "JWT", which many issuers write.
	TypeJWT TokenType = "jwt"
	// TypeAny accepts any type and none.
	TypeAny TokenType = "any"
)

// IssuerConfig describes one trusted issuer.
type IssuerConfig struct {
	// Issuer is compared with "iss" byte by byte; a final slash counts.
	Issuer string

	// AllowInsecure permits an http issuer beyond loopback.
	AllowInsecure bool

	// Keys holds the issuer's signing keys. It may be shared, and is neither
	// started before the first token nor closed by the Verifier.
	Keys *KeyHolder

	// Algorithms lists what the issuer may sign with. Empty means
	// DefaultAlgorithms.
	Algorithms []Algorithm

	// TokenType is the required "typ". Empty means TypeAccessToken.
	TokenType TokenType

	// Audiences replaces Config.Audiences for this issuer.
	Audiences []string
}

// Config describes what a Verifier accepts.
type Config struct {
	// Issuers are the trusted issuers, at least one, each with another name.
	Issuers []IssuerConfig

	// Audiences lists the names of this resource. A token is accepted if one
	// of its audiences is equal to one of them, byte by byte. Without any,
	// only calls of Verify that name audiences can succeed.
	Audiences []string

	// Leeway is tolerated in "exp", "nbf", "iat" and MaxTokenAge. Zero means
	// 30 seconds, negative means none.
	Leeway time.Duration

	// MaxTokenAge refuses tokens without "iat" and those issued longer ago.
	// Zero means no such rule.
	MaxTokenAge time.Duration

	// CacheSize is how many verified tokens are remembered, for at most 60
	// seconds each. Zero means 10,000, negative means none.
	CacheSize int
}

// Verifier judges tokens of several issuers. It is safe for concurrent use. A
// dead issuer harms only its own tokens.
type Verifier struct {
	issuers     map[string]*issuer
	leeway      time.Duration
	maxTokenAge time.Duration
	cache       *tokenCache
	unsubscribe []func()
	now         func() time.Time
}

type issuer struct {
	name       string
	keys       *KeyHolder
	algorithms []Algorithm
	tokenType  TokenType
	audiences  []string
}

// NewVerifier checks the configuration and returns a Verifier. It does no
// network I/O. Close it when it is no longer used.
func NewVerifier(config Config) (*Verifier, error) {
	if len(config.Issuers) == 0 {
		return nil, errors.New("no issuer is configured")
	}
	if config.MaxTokenAge < 0 {
		return nil, errors.New("the longest token age must not be negative")
	}

	v := &Verifier{
		issuers:     make(map[string]*issuer, len(config.Issuers)),
		leeway:      max(config.Leeway, 0),
		maxTokenAge: config.MaxTokenAge,
		cache:       newTokenCache(config.CacheSize),
		now:         time.Now,
	}
	if config.Leeway == 0 {
		v.leeway = DefaultLeeway
	}
	if config.CacheSize == 0 {
		v.cache.limit = DefaultCacheSize
	}
	for _, ic := range config.Issuers {
		is, err := newIssuer(ic, config.Audiences)
		if err != nil {
			return nil, fmt.Errorf("issuer %q: %w", RedactURL(ic.Issuer), err)
		}
		if _, ok := v.issuers[is.name]; ok {
			return nil, fmt.Errorf("issuer %q is configured twice", is.name)
		}
		v.issuers[is.name] = is
	}

	for _, is := range v.issuers {
		v.unsubscribe = append(v.unsubscribe, is.keys.OnEvent(func(e Event) {
			if s := is.keys.current.Load(); e.Rotated && s != nil {
				v.cache.purge(is, s.generation)
			}
		}))
	}

	return v, nil
}

// Close detaches the Verifier from its key holders. Tokens can still be
// verified by requests that are running.
func (v *Verifier) Close() {
	for _, unsubscribe := range v.unsubscribe {
		unsubscribe()
	}
}

func newIssuer(config IssuerConfig, audiences []string) (*issuer, error) {
	is := &issuer{
		name:       config.Issuer,
		keys:       config.Keys,
		algorithms: slices.Clone(config.Algorithms),
		tokenType:  config.TokenType,
		audiences:  slices.Clone(config.Audiences),
	}
	if err := checkIssuer(is.name, config.AllowInsecure); err != nil {
		return nil, err
	}
	if is.keys == nil {
		return nil, errors.New("no signing keys are configured")
	}
	if c := is.keys.config; c.JWKSURL == "" && c.Issuer != is.name {
		return nil, fmt.Errorf("its keys would be discovered from issuer %q", c.Issuer)
	}
	if len(is.algorithms) == 0 {
		is.algorithms = DefaultAlgorithms()
	}
	for _, alg := range is.algorithms {
		if _, err := ParseAlgorithm(string(alg)); err != nil {
			return nil, err
		}
	}
	switch is.tokenType {
	case "":
		is.tokenType = TypeAccessToken
	case TypeAccessToken, TypeJWT, TypeAny:
	default:
		// A typing mistake must not turn a rule off.
		return nil, fmt.Errorf("unknown token type %q (%s, %s or %s)", is.tokenType, TypeAccessToken, TypeJWT, TypeAny)
	}
	if len(is.audiences) == 0 {
		is.audiences = slices.Clone(audiences)
	}
	if slices.Contains(is.audiences, "") {
		return nil, errors.New("an audience is empty")
	}

	return is, nil
}
