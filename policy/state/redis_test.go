package state_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

func TestRedisIsAStore(t *testing.T) {
	server := statetest.StartRedis(t)
	prefixes := 0
	statetest.Run(t, func(t *testing.T) state.Store {
		prefixes++
		return open(t, state.RedisConfig{URL: server.URL, Prefix: fmt.Sprintf("test%d:", prefixes), MaxEntries: statetest.MaxEntries})
	})
}

// Two stores on one server are two replicas.
func TestRedisReplicasAgree(t *testing.T) {
	server := statetest.StartRedis(t)
	a, b := open(t, state.RedisConfig{URL: server.URL}), open(t, state.RedisConfig{URL: server.URL + "/0"})

	notices := make(chan state.Notice)
	go func() {
		_ = b.Watch(t.Context(), "test", func(n state.Notice) {
			select {
			case notices <- n:
			case <-t.Context().Done():
			}
		})
	}()
	<-notices
	// One more turn, so that the subscription stands.
	<-notices
	begun := time.Now()
	set(t, a, "test/a", "1", time.Minute)
	for !(<-notices).Changed {
	}
	if took := time.Since(begun); took > 2*state.WatchInterval {
		t.Errorf("the other replica heard of it after %s", took)
	}
	if value, err := b.Get(t.Context(), "test/a"); err != nil || string(value) != "1" {
		t.Errorf("the other replica reads %q, %v", value, err)
	}

	for range 50 {
		for _, s := range []state.Store{a, b} {
			if _, err := s.Incr(t.Context(), "test/n", time.Minute); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count, err := a.Incr(t.Context(), "test/n", time.Minute); err != nil || count.Value != 101 {
		t.Errorf("after 100 counts in turn: %+v, %v", count, err)
	}
}

func TestRedisKeysStayUnderThePrefix(t *testing.T) {
	server := statetest.StartRedis(t)
	ours := open(t, state.RedisConfig{URL: server.URL, Prefix: "ours:"})
	theirs := open(t, state.RedisConfig{URL: server.URL, Prefix: "theirs:"})
	set(t, ours, "test/a", "1", time.Minute)
	if _, err := ours.Incr(t.Context(), "test/n", time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Get(t.Context(), "test/a"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("another prefix reads it: %v", err)
	}
	for _, key := range keysOf(t, server) {
		if !strings.HasPrefix(key, "ours:") {
			t.Errorf("key %q", key)
		}
		if ttl := command(t, server, "PTTL", key); ttl.(int64) <= 0 || ttl.(int64) > 3600_000 {
			t.Errorf("key %q lives on for %v ms", key, ttl)
		}
	}
}

// While the server is down, callers hear it soon and by its name; when it is
// back, they need nothing but to call again.
func TestRedisDownAndBack(t *testing.T) {
	server := statetest.StartRedis(t)
	library := new(recorder)
	redis.SetLogger(library)
	s := open(t, state.RedisConfig{URL: server.URL, Timeout: 200 * time.Millisecond})
	notices := make(chan state.Notice, 1)
	go func() {
		_ = s.Watch(t.Context(), "test", func(n state.Notice) {
			select {
			case <-notices: // only the latest
			default:
			}
			notices <- n
		})
	}()
	for _, fault := range []struct {
		name       string
		begin, end func()
		loses      bool
	}{
		{"stopped", server.Stop, server.Start, true},
		{"hanging", server.Hang, server.Resume, false},
	} {
		set(t, s, "test/a", "1", time.Minute)
		fault.begin()
		for i := range 20 {
			begun := time.Now()
			_, err := s.Get(t.Context(), "test/a")
			if !errors.Is(err, state.ErrUnavailable) {
				t.Errorf("%s: Get: %v", fault.name, err)
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("%s: call %d took %s", fault.name, i, took)
			}
		}
		statetest.Eventually(t, fault.name+": the watch tells", func() bool { return errors.Is((<-notices).Err, state.ErrUnavailable) })
		fault.end()
		statetest.Eventually(t, fault.name+": it works again", func() bool {
			_, err := s.Get(t.Context(), "test/a")
			return err == nil || fault.loses && errors.Is(err, state.ErrNotFound)
		})
		statetest.Eventually(t, fault.name+": the watch works again", func() bool { return (<-notices).Err == nil })
	}
	set(t, s, "test/b", "1", time.Minute)
	statetest.Eventually(t, "changes are told again", func() bool { return (<-notices).Changed })
	library.mu.Lock()
	defer library.mu.Unlock()
	if len(library.said) > 0 {
		t.Errorf("printed on standard error: %q", library.said)
	}
}

// What was written before a loss of data and after it must not look the same.
func TestRedisWatchTellsALossOfData(t *testing.T) {
	server := statetest.StartRedis(t)
	s := open(t, state.RedisConfig{URL: server.URL})
	set(t, s, "test/a", "1", time.Minute)
	changes := make(chan bool, 100)
	go func() {
		_ = s.Watch(t.Context(), "test", func(n state.Notice) {
			if n.Changed {
				changes <- true
			}
		})
	}()
	<-changes
	server.Stop()
	server.Start()
	statetest.Eventually(t, "the loss is told", func() bool { return len(changes) > 0 })
	<-changes
	server.Stop()
	server.Start()
	statetest.Eventually(t, "a write after another loss", func() bool {
		return s.Set(t.Context(), "test/a", []byte("1"), time.Minute) == nil
	})
	statetest.Eventually(t, "it is told", func() bool { return len(changes) > 0 })
}

func TestRedisPasswordAndTLS(t *testing.T) {
	dir := t.TempDir()
	certificate, roots := certificateFor(t, "127.0.0.1")
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeFile(t, certFile, certificate.cert)
	writeFile(t, keyFile, certificate.key)
	port := statetest.FreePort(t)
	server := statetest.StartRedis(t, "--tls-port", fmt.Sprint(port), "--tls-auth-clients", "no",
		"--tls-cert-file", certFile, "--tls-key-file", keyFile, "--requirepass", "s3cret")
	secure := fmt.Sprintf("rediss://127.0.0.1:%d", port)
	trust := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}

	for _, test := range []struct {
		name   string
		config state.RedisConfig
		want   string // part of the error, empty for success
	}{
		{"password", state.RedisConfig{URL: server.URL, Password: "s3cret"}, ""},
		{"password in the URL", state.RedisConfig{URL: strings.Replace(server.URL, "//", "//default:s3cret@", 1)}, ""},
		{"password that replaces the URL's", state.RedisConfig{URL: strings.Replace(server.URL, "//", "//default:old@", 1), Password: "s3cret"}, ""},
		{"TLS", state.RedisConfig{URL: secure, Password: "s3cret", TLS: trust}, ""},
		{"no password", state.RedisConfig{URL: server.URL}, "NOAUTH"},
		{"wrong password", state.RedisConfig{URL: server.URL, Password: "wrong-pw"}, "WRONGPASS"},
		{"untrusted certificate", state.RedisConfig{URL: secure, Password: "s3cret"}, "certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, test.config)
			_, err := s.Get(t.Context(), "test/a")
			if errors.Is(err, state.ErrNotFound) {
				err = s.Set(t.Context(), "test/a", []byte("1"), time.Minute)
			}
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want == "":
			case !errors.Is(err, state.ErrUnavailable) || !strings.Contains(err.Error(), test.want):
				t.Errorf("error %v, want %s", err, test.want)
			case strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "wrong-pw"):
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

func TestRedisRefusesBadSettings(t *testing.T) {
	for _, url := range []string{
		"", "127.0.0.1:6379", "http://127.0.0.1", "redis://h/x", "redis://h/0/1", "redis://h?db=1",
		"rediss://h?skip_verify=true", "redis://u:s3cret@h:port", "redis://:s3cret@h/\x7f", "unix://",
	} {
		s, err := state.NewRedis(state.RedisConfig{URL: url})
		if err == nil {
			t.Errorf("%q is accepted", url)
			_ = s.Close()
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
	if _, err := state.NewRedis(state.RedisConfig{URL: "redis://h", Timeout: -1}); err == nil {
		t.Error("a negative timeout is accepted")
	}
}

// A store is made without the server: an outage must not keep a configuration
// from loading.
func TestRedisIsMadeWithoutTheServer(t *testing.T) {
	s := open(t, state.RedisConfig{URL: fmt.Sprintf("redis://127.0.0.1:%d", statetest.FreePort(t))})
	if _, err := s.Get(t.Context(), "test/a"); !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("Get: %v", err)
	}
}

func TestRedisIDHidesThePassword(t *testing.T) {
	config := state.RedisConfig{URL: "redis://:s3cret@h", Password: "pw"}
	same, other := config, config
	other.Password = "pw2"
	if config.ID() != same.ID() || config.ID() == other.ID() {
		t.Error("IDs do not tell settings apart")
	}
	if strings.Contains(config.ID(), "s3cret") {
		t.Errorf("the ID is %s", config.ID())
	}
}

func open(t *testing.T, config state.RedisConfig) *state.Redis {
	t.Helper()
	s, err := state.NewRedis(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })

	return s
}

// recorder keeps what the client library would print.
type recorder struct {
	mu   sync.Mutex
	said []string
}

// Printf implements the library's logger.
func (r *recorder) Printf(_ context.Context, format string, v ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, v...))
}
