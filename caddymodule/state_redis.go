package caddymodule

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/revocation"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

func init() { caddy.RegisterModule(StateRedis{}) }

// StateRedis keeps shared state on a Redis (5.0 or later) or Valkey server, for
// replicas of one gateway. The server must run with maxmemory-policy
// noeviction, or it forgets revocations when its memory is full.
type StateRedis struct {
	// URL is redis://host[:port][/database], rediss:// for TLS, or
	// unix:///path. May hold placeholders such as {env.REDIS_URL}.
	URL string `json:"url"`
	// Username of an ACL user. Default: the server's default user. May be a
	// placeholder.
	Username string `json:"username,omitempty"`
	// Password, best as a placeholder such as {env.REDIS_PASSWORD} or
	// {file./run/secrets/redis}.
	Password string `json:"password,omitempty"`
	// Prefix begins every key and channel. Endpoints with the same prefix on
	// one server share revocations and counts. Default: mcp_app:
	Prefix string `json:"prefix,omitempty"`
	// Timeout bounds one question to the server, for which a request may wait.
	// Default: 1s.
	Timeout caddy.Duration `json:"timeout,omitempty"`
	// MaxStale is how long the last known revocations are trusted while the
	// server cannot be reached. After that every caller gets 503. Default: 30s.
	MaxStale caddy.Duration `json:"max_stale,omitempty"`
	// CA is a PEM file with the certificates that are trusted instead of the
	// system's, for rediss://.
	CA string `json:"ca,omitempty"`

	store   state.Store
	release func()
	key     string
}

// CaddyModule returns the Caddy module information.
func (StateRedis) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "mcp_app.state.redis", New: func() caddy.Module { return new(StateRedis) }}
}

// Provision checks the settings and takes the store for them. The server is not
// asked: that it is down must keep no configuration from loading.
func (m *StateRedis) Provision(caddy.Context) error {
	if m.Timeout < 0 || m.MaxStale < 0 {
		return errors.New("timeout and max_stale must not be negative")
	}
	config := state.RedisConfig{Timeout: time.Duration(m.Timeout)}
	for _, setting := range []struct {
		name, text string
		into       *string
	}{
		{"url", m.URL, &config.URL},
		{"username", m.Username, &config.Username},
		{"password", m.Password, &config.Password},
		{"prefix", m.Prefix, &config.Prefix},
	} {
		text, err := caddy.NewReplacer().ReplaceOrErr(setting.text, true, true)
		if err != nil {
			return fmt.Errorf("%s: %w", setting.name, err)
		}
		*setting.into = text
	}
	m.key = fmt.Sprintf("redis %s %s", config.ID(), time.Duration(m.MaxStale))
	if m.CA != "" {
		pem, err := os.ReadFile(m.CA)
		if err != nil {
			return fmt.Errorf("ca: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca: %s holds no certificate in PEM", m.CA)
		}
		config.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		m.key += fmt.Sprintf(" %x", sha256.Sum256(pem))
	}
	var err error
	m.store, m.release, err = acquireStore(m.key, func() (state.Store, error) { return state.NewRedis(config) })
	return err
}

// storeKey is the store's key in the pool.
func (m *StateRedis) storeKey() string { return m.key }

// Cleanup gives the store back.
func (m *StateRedis) Cleanup() error { return giveBack(&m.release) }

// SharedState implements StateModule.
func (m *StateRedis) SharedState() (state.Store, time.Duration) {
	return m.store, cmp.Or(time.Duration(m.MaxStale), revocation.DefaultMaxStale)
}

// UnmarshalCaddyfile reads:
//
//	state redis <url> {
//		username  <name>
//		password  <password>
//		prefix    <prefix>
//		timeout   <duration>
//		max_stale <duration>
//		ca        <file>
//	}
func (m *StateRedis) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	if !d.AllArgs(&m.URL) {
		return d.Err("expected: state redis <url>; its details go into a block")
	}
	if !strings.Contains(m.URL, "{") {
		if err := (state.RedisConfig{URL: m.URL}).Check(); err != nil {
			return d.WrapErr(err)
		}
	}
	positive := func(into *caddy.Duration) subdirective {
		return plainDuration(func(value time.Duration) { *into = caddy.Duration(value) })
	}
	return block(d, map[string]subdirective{
		"username":  scalar(&m.Username),
		"password":  secret(&m.Password),
		"prefix":    scalar(&m.Prefix),
		"timeout":   positive(&m.Timeout),
		"max_stale": positive(&m.MaxStale),
		"ca":        scalar(&m.CA),
	})
}

// secret is scalar with errors that do not quote the argument.
func secret(into *string) subdirective {
	return func(d *caddyfile.Dispenser) error {
		word := d.Val()
		if *into != "" {
			return d.Errf("%s already specified", word)
		}
		return scalar(into)(d)
	}
}

// Interface guards
var (
	_ StateModule           = (*StateRedis)(nil)
	_ caddy.Provisioner     = (*StateRedis)(nil)
	_ caddy.CleanerUpper    = (*StateRedis)(nil)
	_ caddyfile.Unmarshaler = (*StateRedis)(nil)
)
