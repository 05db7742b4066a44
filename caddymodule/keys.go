package caddymodule

import (
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

// acquireKeys takes the holder of an issuer's keys from the pool.
func (m *Handler) acquireKeys(issuer *Issuer) (*token.KeyHolder, error) {
	config := token.KeyConfig{Issuer: issuer.Issuer, JWKSURL: issuer.JWKSURL}
	id := config.ID()
	value, _, err := keyPool.LoadOrNew(id, func() (caddy.Destructor, error) {
		holder, err := token.NewKeyHolder(config)
		return pooledKeys{holder}, err
	})
	if err != nil {
		return nil, err
	}
	holder := value.(pooledKeys).KeyHolder
	logger := m.logger
	forget := holder.OnEvent(func(e token.Event) { logKeyEvent(logger, issuer.Issuer, e) })
	m.release = append(m.release, func() {
		forget()
		// The holder stays usable for requests that are still running.
		_, _ = keyPool.Delete(id)
	})
	return holder, nil
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
