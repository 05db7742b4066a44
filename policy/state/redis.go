package state

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Defaults of RedisConfig.
const (
	// DefaultPrefix begins every key and channel, so that a server can be
	// shared with other programs and its ACL be narrow.
	DefaultPrefix = "mcp_app:"
	// DefaultTimeout bounds one operation. Within a data center an answer
	// takes a millisecond; a request waits for it.
	DefaultTimeout = time.Second
)

// Bounds on connections: a server that hangs must cost neither of us more.
const (
	redisConns    = 32
	redisIdleTime = 5 * time.Minute
	// listChunk is how many values List asks for at a time, so that no single
	// answer keeps the server from others for long.
	listChunk = 500
)

// RedisConfig says where a Redis or Valkey server is.
type RedisConfig struct {
	// URL is redis://[user:password@]host[:port][/database], rediss:// for TLS,
	// or unix:///path. It has no query.
	URL string
	// Username and Password replace those of the URL.
	Username, Password string
	// Prefix begins every key. Empty means DefaultPrefix.
	Prefix string
	// Timeout bounds one operation. Zero means DefaultTimeout.
	Timeout time.Duration
	// MaxEntries bounds every group. Zero means DefaultMaxEntries.
	MaxEntries int
	// TLS is used with rediss:// instead of the system's roots. Its ServerName
	// is the URL's host if empty.
	TLS *tls.Config
}

// ID is a text that is equal for equal settings, for pools that share stores.
// It tells nothing of the password and does not cover TLS.
func (c RedisConfig) ID() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %s %d", c.URL, c.Username, c.Password, c.Prefix, c.Timeout, c.MaxEntries))

	return hex.EncodeToString(sum[:])
}

// Redis is a [Store] on a Redis server (5.0 or later) or on Valkey. A single
// server or one with replicas behind one address; not a cluster, which spreads
// keys over servers.
//
// The server has to keep what it was given: with an eviction policy other than
// noeviction it forgets entries, revocations among them, when its memory is
// full. What it loses in a crash is up to its own persistence.
//
// While the server is down, operations fail within the timeout, and after
// three failures at once, except for one attempt every half second.
type Redis struct {
	client     *redis.Client
	prefix     string
	timeout    time.Duration
	maxEntries int
	breaker    breaker

	closed context.Context //nolint:containedctx // the store's own lifetime
	close  context.CancelFunc
}

// NewRedis checks the settings and returns a store. It does not connect before
// the first operation. No error quotes the URL, which may hold a password.
func NewRedis(config RedisConfig) (*Redis, error) {
	options, err := config.options()
	if err != nil {
		return nil, err
	}
	r := &Redis{
		client:     redis.NewClient(options),
		prefix:     config.Prefix,
		timeout:    options.DialTimeout,
		maxEntries: config.MaxEntries,
	}
	if r.prefix == "" {
		r.prefix = DefaultPrefix
	}
	if r.maxEntries <= 0 {
		r.maxEntries = DefaultMaxEntries
	}
	r.closed, r.close = context.WithCancel(context.Background())

	return r, nil
}

// Check judges the settings, as NewRedis does.
func (c RedisConfig) Check() error {
	_, err := c.options()
	return err
}

func (c RedisConfig) options() (*redis.Options, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return nil, errors.New("the Redis URL cannot be read; write redis://host:6379")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the Redis URL must have no query")
	case c.Timeout < 0:
		return nil, errors.New("the Redis timeout must not be negative")
	}
	options, err := redis.ParseURL(c.URL)
	if err != nil {
		return nil, errors.New("the Redis URL must be redis://host:6379, optionally with /database, rediss://host:6379 for TLS, or unix:///path")
	}
	if c.Username != "" {
		options.Username = c.Username
	}
	if c.Password != "" {
		options.Password = c.Password
	}
	if options.TLSConfig != nil && c.TLS != nil {
		name := options.TLSConfig.ServerName
		options.TLSConfig = c.TLS.Clone()
		if options.TLSConfig.ServerName == "" {
			options.TLSConfig.ServerName = name
		}
	}
	timeout := c.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = timeout, timeout, timeout, timeout
	options.ContextTimeoutEnabled = true
	options.Dialer = quietDialer(options.TLSConfig)
	options.DialerRetries = 1
	// A count that is sent twice counts twice.
	options.MaxRetries = -1
	options.PoolSize, options.MaxActiveConns, options.PipelinePoolSize = redisConns, redisConns, -1
	options.ConnMaxIdleTime = redisIdleTime
	// Nothing of the newer protocol is used, and every server speaks this one.
	options.Protocol = 2
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

	return options, nil
}

// Get implements [Store].
func (r *Redis) Get(ctx context.Context, key string) (value []byte, err error) {
	if _, _, err := splitKey(key); err != nil {
		return nil, err
	}
	err = r.do(ctx, r.timeout, func(ctx context.Context) (err error) {
		value, err = r.client.Get(ctx, r.prefix+key).Bytes()
		return err
	})

	return value, err
}

// Set implements [Store].
func (r *Redis) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	group, name, err := checkSet(key, value, ttl)
	if err != nil {
		return err
	}
	keys := r.groupKeys(group)

	return r.do(ctx, r.timeout, func(ctx context.Context) error {
		return setScript.Run(ctx, r.client, []string{r.prefix + key, keys.index, keys.version},
			value, milliseconds(ttl), name, keys.channel, r.maxEntries, r.prefix+group+"/").Err()
	})
}

// Keep implements [Store].
func (r *Redis) Keep(ctx context.Context, key string, value []byte, ttl time.Duration) (kept []byte, err error) {
	group, name, err := checkSet(key, value, ttl)
	if err != nil {
		return nil, err
	}
	keys := r.groupKeys(group)
	err = r.do(ctx, r.timeout, func(ctx context.Context) error {
		said, err := keepScript.Run(ctx, r.client, []string{r.prefix + key, keys.index, keys.version},
			value, milliseconds(ttl), name, keys.channel, r.maxEntries, r.prefix+group+"/").Text()
		kept = []byte(said)
		return err
	})

	return kept, err
}

// Delete implements [Store].
func (r *Redis) Delete(ctx context.Context, key string) error {
	group, name, err := splitKey(key)
	if err != nil {
		return err
	}
	keys := r.groupKeys(group)

	return r.do(ctx, r.timeout, func(ctx context.Context) error {
		return deleteScript.Run(ctx, r.client, []string{r.prefix + key, keys.index, keys.version}, name, keys.channel).Err()
	})
}

// Incr implements [Store].
func (r *Redis) Incr(ctx context.Context, key string, window time.Duration) (Count, error) {
	if _, _, err := checkSet(key, nil, window); err != nil {
		return Count{}, err
	}
	var said []int64
	err := r.do(ctx, r.timeout, func(ctx context.Context) (err error) {
		said, err = incrScript.Run(ctx, r.client, []string{r.prefix + key}, milliseconds(window)).Int64Slice()
		if err == nil && len(said) != 4 {
			err = fmt.Errorf("a count of %d parts", len(said))
		}
		return err
	})
	if err != nil {
		return Count{}, err
	}

	return Count{
		Value:     said[0],
		Remaining: time.Duration(said[1]) * time.Millisecond,
		Now:       time.Unix(said[2], said[3]*1000),
	}, nil
}

// List implements [Store].
func (r *Redis) List(ctx context.Context, group string) (entries []Entry, err error) {
	if err := checkGroup(group); err != nil {
		return nil, err
	}
	// Several round trips, and not bounded by the bytes of one entry.
	err = r.do(ctx, 5*r.timeout, func(ctx context.Context) error {
		names, err := r.client.ZRange(ctx, r.groupKeys(group).index, 0, -1).Result()
		if err != nil {
			return err
		}
		entries, err = r.load(ctx, group, names)
		return err
	})

	return entries, err
}

// load reads the entries of some names. The index may still hold names of
// entries that have ended.
func (r *Redis) load(ctx context.Context, group string, names []string) ([]Entry, error) {
	entries := make([]Entry, 0, len(names))
	for chunk := range slices.Chunk(names, listChunk) {
		keys := make([]string, len(chunk))
		for i, name := range chunk {
			keys[i] = r.prefix + group + "/" + name
		}
		values, err := r.client.MGet(ctx, keys...).Result()
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			if text, ok := value.(string); ok {
				entries = append(entries, Entry{Key: group + "/" + chunk[i], Value: []byte(text)})
			}
		}
	}

	return entries, nil
}

// Close implements [Store].
func (r *Redis) Close() error {
	r.close()
	err := r.client.Close()
	if errors.Is(err, redis.ErrClosed) {
		return nil
	}

	return err
}

// do asks the server, within the timeout.
func (r *Redis) do(ctx context.Context, timeout time.Duration, ask func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.breaker.allow(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := ask(bounded)
	r.breaker.report(ctx, err)

	return failure(ctx, err)
}

// failure tells the caller's own faults and wishes from those of the server.
func failure(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redis.Nil):
		return ErrNotFound
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.Contains(err.Error(), "not an integer"):
		return errors.New("state: the entry is not a counter")
	default:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}

// milliseconds rounds up, so that no life becomes zero.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// Interface guard
var _ Store = (*Redis)(nil)
