package token

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of KeyConfig.
const (
	// DefaultMinRefresh keeps a busy issuer from being asked all the time.
	DefaultMinRefresh = 5 * time.Minute
	// DefaultMaxRefresh bounds how long a key that the issuer has withdrawn
	// goes on being trusted, whatever Cache-Control says.
	DefaultMaxRefresh = time.Hour
	// DefaultMaxStale bounds how long the last good keys outlive an outage.
	DefaultMaxStale = 24 * time.Hour
	// DefaultCooldown is the least time between two fetches that tokens cause.
	DefaultCooldown = 30 * time.Second
)

// KeyConfig says where the signing keys of one issuer come from.
type KeyConfig struct {
	// Issuer is the issuer whose metadata names the key set if JWKSURL is
	// empty (RFC 8414, then OpenID Connect Discovery). The metadata must name
	// exactly this issuer.
	Issuer string

	// JWKSURL is the key set (RFC 7517 §5). https, or http on loopback.
	JWKSURL string

	// AllowInsecure permits http beyond loopback. Whoever can change that
	// traffic can make tokens.
	AllowInsecure bool

	// MinRefresh and MaxRefresh bound the refresh interval that Cache-Control
	// asks for; without a max-age it is 10 minutes. Zero means 5 minutes and
	// one hour.
	MinRefresh, MaxRefresh time.Duration

	// MaxStale is how long the last good keys are used while the issuer
	// cannot be reached; after that tokens are answered as Unavailable. Zero
	// means 24 hours.
	MaxStale time.Duration

	// Cooldown is the least time between two fetches caused by unknown key
	// ids or bad signatures, for the whole key set and all its users. Zero
	// means 30 seconds.
	Cooldown time.Duration

	// Transport replaces the holder's own HTTP transport, to add roots or a
	// client certificate. Nil means a fresh one with the system's roots.
	Transport http.RoundTripper
}

// ID is a text that is equal for equal settings, for pools that share holders.
// It does not cover Transport.
func (c KeyConfig) ID() string {
	c = c.withDefaults()

	return fmt.Sprintf("%q %q %t %s %s %s %s",
		c.Issuer, c.JWKSURL, c.AllowInsecure, c.MinRefresh, c.MaxRefresh, c.MaxStale, c.Cooldown)
}

func (c KeyConfig) withDefaults() KeyConfig {
	orDefault := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	orDefault(&c.MinRefresh, DefaultMinRefresh)
	orDefault(&c.MaxRefresh, max(DefaultMaxRefresh, c.MinRefresh))
	orDefault(&c.MaxStale, DefaultMaxStale)
	orDefault(&c.Cooldown, DefaultCooldown)

	return c
}

func (c KeyConfig) check() error {
	switch {
	case c.MinRefresh < 0 || c.MaxStale < 0 || c.Cooldown < 0:
		return errors.New("durations of a key set must not be negative")
	case c.MaxRefresh < c.MinRefresh:
		return fmt.Errorf("the longest refresh interval %s is shorter than the shortest %s", c.MaxRefresh, c.MinRefresh)
	}
	if c.JWKSURL != "" {
		if err := CheckURL(c.JWKSURL, c.AllowInsecure); err != nil {
			return fmt.Errorf("key set URL: %w", err)
		}
		return nil
	}
	if err := checkIssuer(c.Issuer, c.AllowInsecure); err != nil {
		return fmt.Errorf("issuer, needed to discover the key set: %w", err)
	}

	return nil
}

// snapshot is what a lookup sees: one key set and when it was last confirmed.
type snapshot struct {
	set *keySet
	// generation is unique in this process and changes if and only if the
	// usable keys do.
	generation uint64
	fetchedAt  time.Time
	url, etag  string
}

// KeyHolder keeps the signing keys of one issuer. It is safe for concurrent
// use and meant to be shared by everything that trusts the same key set.
//
// A lookup reads an atomic snapshot and takes no lock. One goroutine does all
// fetching: it starts with the first lookup or Start, retries the first fetch
// with backoff, refreshes at the interval the issuer asks for, and keeps the
// last good keys while the issuer is down. A lookup waits, for at most 3
// seconds, only if there are no keys yet or if a token names an unknown key or
// fails under a known one; such fetches are shared and limited for the whole
// key set, so that a flood of invented key ids costs the issuer nothing.
type KeyHolder struct {
	config KeyConfig
	client *http.Client
	now    func() time.Time
	inside func(netip.AddrPort) bool // insideNetwork

	current atomic.Pointer[snapshot] // nil before the first good fetch

	startOnce sync.Once
	context   context.Context //nolint:containedctx // the holder's own lifetime
	cancel    context.CancelFunc
	wake      chan struct{} // a flight waits for take-off
	done      chan struct{} // closed when the goroutine has ended

	discovered discovered // only the goroutine touches it

	mu          sync.Mutex
	closed      bool
	flight      *flight      // requested or running fetch
	limiter     limiter      // of on-demand fetches
	misses      missMemory   // kids that a fetch has shown not to exist
	stats       Stats        // counters and last outcome
	nextFetch   time.Time    // when the next fetch is due
	subscribers []subscriber // in the order of subscription
	nextID      int
}

// generations numbers key sets across all holders, so that a number alone
// tells whether a token was verified under today's keys.
var generations atomic.Uint64

// NewKeyHolder checks the settings and returns a holder that has not fetched
// anything yet. Close it when it is no longer used.
func NewKeyHolder(config KeyConfig) (*KeyHolder, error) {
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}

	k := &KeyHolder{
		config:  config,
		client:  newClient(config.Transport),
		now:     time.Now,
		inside:  insideNetwork,
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
		limiter: limiter{cooldown: config.Cooldown},
		misses:  missMemory{ttl: 2 * config.Cooldown},
	}
	k.context, k.cancel = context.WithCancel(context.Background())
	k.stats.State = Starting
	k.stats.URL = config.JWKSURL

	return k, nil
}

// Start begins fetching in the background; it does not wait. Further calls do
// nothing, and neither does a call after Close.
func (k *KeyHolder) Start() {
	k.startOnce.Do(func() {
		k.mu.Lock()
		k.flight = newFlight(false)
		k.mu.Unlock()
		k.wake <- struct{}{}
		go k.run()
	})
}

// Close ends the background fetching and waits for it. Keys that are there
// stay usable until they are too old, for requests that are still running.
func (k *KeyHolder) Close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()

	k.cancel()
	k.startOnce.Do(func() { close(k.done) })
	<-k.done
	k.client.CloseIdleConnections()
}

// usable returns the snapshot, or nil if there is none or it is too old.
func (k *KeyHolder) usable() *snapshot {
	s := k.current.Load()
	if s == nil || k.now().Sub(s.fetchedAt) > k.config.MaxStale {
		return nil
	}

	return s
}

// run is the holder's only goroutine.
func (k *KeyHolder) run() {
	defer close(k.done)
	defer k.abandon()

	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for failures := 0; ; {
		select {
		case <-k.context.Done():
			return
		case <-due.C:
		case <-k.wake:
		}

		f := k.takeOff()
		result, err := k.fetch(k.context)
		if k.context.Err() != nil {
			return
		}
		delay := k.land(f, result, err, &failures)
		due.Reset(delay)
	}
}
