package caddymodule

import (
	"cmp"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// keyPool shares key holders between endpoints and across reloads, so that a
// reload neither forgets the keys nor asks the issuer again. The key is
// everything that shapes a holder.
var keyPool = caddy.NewUsagePool()

type pooledKeys struct{ *token.KeyHolder }

// Destruct implements caddy.Destructor.
func (p pooledKeys) Destruct() error {
	p.Close()
	return nil
}

// issuerKeys are the signing keys of an issuer.
type issuerKeys struct {
	name string
	keys *token.KeyHolder
}

// buildChecker makes a token check of the configuration. release gives back what
// it took from the pool; it is to be called exactly once, also after an error.
func (a *Auth) buildChecker(logger *zap.Logger) (checker *token.Checker, release func(), err error) {
	var taken []func()
	release = func() {
		for _, give := range taken {
			give()
		}
	}
	config := token.Config{
		Issuers:     make([]token.IssuerConfig, len(a.Issuers)),
		MaxTokenAge: time.Duration(a.MaxTokenAge),
	}
	if a.Leeway != nil {
		config.Leeway = cmp.Or(time.Duration(*a.Leeway), -1)
	}
	for i, issuer := range a.Issuers {
		keys, give, err := acquireKeys(issuer, logger)
		if err != nil {
			return nil, release, fmt.Errorf("issuer %q: %w", token.RedactURL(issuer.Issuer), err)
		}
		taken = append(taken, give)
		a.holders = append(a.holders, issuerKeys{issuer.Issuer, keys})
		config.Issuers[i] = token.IssuerConfig{Issuer: issuer.Issuer, Keys: keys, TokenType: token.TokenType(issuer.TokenType)}
		for _, name := range issuer.Algorithms {
			config.Issuers[i].Algorithms = append(config.Issuers[i].Algorithms, token.Algorithm(name))
		}
	}
	var verifier *token.Verifier
	if len(config.Issuers) > 0 {
		if verifier, err = token.NewVerifier(config); err != nil {
			return nil, release, err
		}
	}
	var introspectors []*token.Introspector
	for _, introspection := range a.Introspection {
		introspector, err := introspection.build(a)
		if err != nil {
			return nil, release, fmt.Errorf("introspect: %w", err)
		}
		introspectors = append(introspectors, introspector)
	}
	if checker, err = token.NewChecker(verifier, introspectors...); err != nil {
		return nil, release, err
	}
	taken = append(taken, checker.Close)
	return checker, release, nil
}

// acquireKeys takes the holder of an issuer's keys from the pool.
func acquireKeys(issuer *Issuer, logger *zap.Logger) (*token.KeyHolder, func(), error) {
	config := token.KeyConfig{Issuer: issuer.Issuer, JWKSURL: issuer.JWKSURL}
	id := config.ID()
	value, _, err := keyPool.LoadOrNew(id, func() (caddy.Destructor, error) {
		holder, err := token.NewKeyHolder(config)
		return pooledKeys{holder}, err
	})
	if err != nil {
		return nil, nil, err
	}
	holder := value.(pooledKeys).KeyHolder
	forget := holder.OnEvent(func(e token.Event) { logKeyEvent(logger, issuer.Issuer, e) })
	return holder, func() {
		forget()
		// The holder stays usable for requests that are still running.
		_, _ = keyPool.Delete(id)
	}, nil
}

// logKeyEvent logs at the level the change deserves: WARN while tokens are, or
// will be, judged by old keys or by none.
func logKeyEvent(logger *zap.Logger, issuer string, e token.Event) {
	level := zapcore.InfoLevel
	if e.State == token.Stale || e.State == token.Down {
		level = zapcore.WarnLevel
	}
	if entry := logger.Check(level, "signing keys changed state"); entry != nil {
		entry.Write(zap.String("issuer", issuer), zap.String("url", e.URL), zap.String("state", string(e.State)),
			zap.Int("keys", e.Keys), zap.Bool("rotated", e.Rotated), zap.Error(e.Err))
	}
}
