package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/revocation"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// configuration is what a loaded configuration gives its modules: a storage of
// the test's own among it.
type configuration struct {
	caddy.Context
	unload func()
}

func newConfiguration(t testing.TB, storage string) configuration {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"module": "file_system", "root": storage})
	if err != nil {
		t.Fatal(err)
	}
	base, err := caddy.ProvisionContext(&caddy.Config{StorageRaw: raw, Logging: quietLogging(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(base)
	t.Cleanup(cancel)
	return configuration{ctx, cancel}
}

func quietLogging(t testing.TB) *caddy.Logging {
	t.Helper()
	var logging caddy.Logging
	if err := json.Unmarshal([]byte(`{"logs":{"default":{"writer":{"output":"discard"}}}}`), &logging); err != nil {
		t.Fatal(err)
	}
	return &logging
}

func openTestState(t *testing.T, config configuration, raw string) *sharedState {
	t.Helper()
	s, err := openState(config.Context, json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// revocable is a principal of the tenant acme.
func revocable() *policy.Principal {
	return &policy.Principal{
		Issuer: "https://id.example/", Subject: "alice", Tenant: "acme",
		Claims: map[string]any{"jti": "t1", "iat": time.Now().Unix()},
	}
}

func wantKind(t *testing.T, err error, want token.Kind) {
	t.Helper()
	var refused *token.Error
	if !errors.As(err, &refused) || refused.Kind != want {
		t.Fatalf("refused with %v, want %s", err, want)
	}
}

func TestStateCaddyfile(t *testing.T) {
	for _, test := range []struct{ text, want, fail string }{
		{text: "state memory", want: `{"name":"memory"}`},
		{text: "state redis redis://127.0.0.1:6379", want: `{"name":"redis","url":"redis://127.0.0.1:6379"}`},
		{
			text: "state redis rediss://{env.HOST}/1 {\nusername u\npassword {env.PW}\nprefix a:\ntimeout 200ms\nmax_stale 1m\nca /etc/ca.pem\n}",
			want: `{"ca":"/etc/ca.pem","max_stale":60000000000,"name":"redis","password":"{env.PW}","prefix":"a:","timeout":200000000,"url":"rediss://{env.HOST}/1","username":"u"}`,
		},
		{text: "state", fail: "state memory, or state redis"},
		{text: "state memory 1", fail: "stands alone"},
		{text: "state memory {\nsize 1\n}", fail: "stands alone"},
		{text: "state etcd", fail: "mcp_app.state.etcd"},
		{text: "state redis", fail: "state redis <url>"},
		{text: "state redis a b", fail: "state redis <url>"},
		{text: "state redis 127.0.0.1:6379", fail: "redis://host:6379"},
		{text: "state redis redis://h?db=1", fail: "no query"},
		{text: "state redis redis://h {\nmax_stale never\n}", fail: "duration"},
		{text: "state redis redis://h {\npool 3\n}", fail: `"pool"`},
		{text: "state redis redis://h {\npassword hunter2\npassword hunter3\n}", fail: "already specified"},
	} {
		d := caddyfile.NewTestDispenser(test.text)
		d.Next()
		var raw json.RawMessage
		err := parseState(&raw)(d)
		switch {
		case test.fail != "" && (err == nil || !strings.Contains(err.Error(), test.fail)):
			t.Errorf("%s: error %v, want %q", test.text, err, test.fail)
		case test.fail == "" && (err != nil || string(raw) != test.want):
			t.Errorf("%s: %s, %v; want %s", test.text, raw, err, test.want)
		case err != nil && strings.Contains(err.Error(), "hunter"):
			t.Errorf("%s: the error tells the password: %v", test.text, err)
		}
	}
	d := caddyfile.NewTestDispenser("state memory\nstate memory")
	d.Next()
	var raw json.RawMessage
	if err := parseState(&raw)(d); err != nil {
		t.Fatal(err)
	}
	d.Next()
	if err := parseState(&raw)(d); err == nil {
		t.Error("state twice is accepted")
	}
}

func TestStateSettingsAreChecked(t *testing.T) {
	t.Setenv("TEST_REDIS_PASSWORD", "s3cret")
	config := newConfiguration(t, t.TempDir())
	for _, test := range []struct{ raw, fail string }{
		{raw: `{"name":"redis","url":"redis://127.0.0.1:1","password":"{env.TEST_REDIS_PASSWORD}"}`},
		{raw: `{"name":"redis","url":"redis://:{env.TEST_REDIS_PASSWORD}@127.0.0.1:1"}`},
		{raw: `{"name":"redis","url":"redis://127.0.0.1:1","password":"{env.TEST_REDIS_NOTHING}"}`, fail: "password"},
		{raw: `{"name":"redis","url":"{env.TEST_REDIS_PASSWORD}"}`, fail: "redis://"},
		{raw: `{"name":"redis","url":"redis://h","max_stale":-1}`, fail: "negative"},
		{raw: `{"name":"redis","url":"rediss://h","ca":"/nowhere.pem"}`, fail: "ca"},
		{raw: `{"name":"redis","url":"rediss://h","ca":"state_test.go"}`, fail: "PEM"},
		{raw: `{"name":"redis"}`, fail: "redis://"},
		{raw: `{"name":"redis","url":"redis://h","cluster":true}`, fail: "cluster"},
		{raw: `{"name":"memory","size":1}`, fail: "size"},
		{raw: `{"name":"etcd"}`, fail: "etcd"},
	} {
		s, err := openState(config.Context, json.RawMessage(test.raw))
		switch {
		case test.fail != "" && (err == nil || !strings.Contains(err.Error(), test.fail)):
			t.Errorf("%s: error %v, want %q", test.raw, err, test.fail)
		case test.fail == "" && err != nil:
			t.Errorf("%s: %v", test.raw, err)
		case err != nil && strings.Contains(err.Error(), "s3cret"):
			t.Errorf("%s: the error tells the password: %v", test.raw, err)
		}
		if err == nil {
			s.close()
			s.close()
		}
	}
	(*sharedState)(nil).close()

	m := &StateRedis{URL: "redis://:{env.TEST_REDIS_PASSWORD}@127.0.0.1:1", Password: "{env.TEST_REDIS_PASSWORD}"}
	if err := m.Provision(config.Context); err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(m)
	if err != nil || strings.Contains(string(shown), "s3cret") {
		t.Errorf("the module shows %s, %v", shown, err)
	}
	storePool.Range(func(key, _ any) bool {
		if strings.Contains(fmt.Sprint(key), "s3cret") {
			t.Errorf("the pool shows %v", key)
		}
		return true
	})
	if err := errors.Join(m.Cleanup(), m.Cleanup()); err != nil {
		t.Error(err)
	}
}

// A reload takes over what its predecessor knew, and the last one lets go.
func TestStateSurvivesReloads(t *testing.T) {
	storage := t.TempDir()
	for _, raw := range []string{"", `{"name":"redis","url":"` + statetest.StartRedis(t).URL + `"}`} {
		first := newConfiguration(t, storage)
		s := openTestState(t, first, raw)
		if _, err := s.revocations.Revoke(t.Context(), revocation.Request{Issuer: "https://id.example/", Subject: "alice"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.store.Incr(t.Context(), "test/n", time.Minute); err != nil {
			t.Fatal(err)
		}
		wantKind(t, s.check(t.Context(), revocable()), token.InvalidToken)
		old, list := s, s.revocations
		for range 20 {
			next := newConfiguration(t, storage)
			s = openTestState(t, next, raw)
			old.close()
			first.unload()
			wantKind(t, s.check(t.Context(), revocable()), token.InvalidToken)
			wantKind(t, old.check(t.Context(), revocable()), token.InvalidToken)
			if s.revocations != list {
				t.Fatal("the reload made another list")
			}
			old, first = s, next
		}
		if count, err := s.store.Incr(t.Context(), "test/n", time.Minute); err != nil || count.Value != 2 {
			t.Errorf("the count goes on at %+v, %v", count, err)
		}
		s.close()
		first.unload()
		// A running request still gets an answer.
		wantKind(t, s.check(t.Context(), revocable()), token.InvalidToken)
	}
	lists := 0
	revocationPool.Range(func(any, any) bool { lists++; return true })
	storePool.Range(func(any, any) bool { lists++; return true })
	if lists > 0 {
		t.Errorf("%d lists and stores are still in the pools", lists)
	}
}

func TestRevocationsSurviveARestart(t *testing.T) {
	storage := t.TempDir()
	before := newConfiguration(t, storage)
	s := openTestState(t, before, "")
	if err := s.check(t.Context(), revocable()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	defer s.guard(revocable(), func(err error) { ended <- err })()
	if _, err := s.revocations.Revoke(t.Context(), revocation.Request{Tenant: "acme"}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, revocation.ErrRevoked) {
		t.Errorf("ended with %v", err)
	}
	s.close()
	before.unload()

	after := openTestState(t, newConfiguration(t, storage), "")
	wantKind(t, after.check(t.Context(), revocable()), token.InvalidToken)
	// Somebody without a token has nothing that could be revoked.
	if err := after.check(t.Context(), &policy.Principal{Anonymous: true}); err != nil {
		t.Errorf("anonymous: %v", err)
	}
}

// Two modules with other settings are two Caddys here: neither shares a
// connection or a list with the other.
func TestStateOnOneRedisIsShared(t *testing.T) {
	server := statetest.StartRedis(t)
	replica := func(timeout string) *sharedState {
		raw := fmt.Sprintf(`{"name":"redis","url":%q,"timeout":%s,"max_stale":1000000000}`, server.URL, timeout)
		return openTestState(t, newConfiguration(t, t.TempDir()), raw)
	}
	here, there := replica("300000000"), replica("300000001")
	for _, s := range []*sharedState{here, there} {
		if err := s.check(t.Context(), revocable()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := here.revocations.Revoke(t.Context(), revocation.Request{JTI: "t1"}); err != nil {
		t.Fatal(err)
	}
	for i, s := range []*sharedState{here, there} {
		if n, left, err := s.counter().Count(t.Context(), "key", time.Minute); n != int64(i+1) || left <= 0 || err != nil {
			t.Errorf("count %d: %d, %s, %v", i+1, n, left, err)
		}
	}
	if c := openTestState(t, newConfiguration(t, t.TempDir()), "").counter(); c != nil {
		t.Error("a process of its own counts in its store")
	}
	statetest.Eventually(t, "the other one knows", func() bool { return there.check(t.Context(), revocable()) != nil })
	wantKind(t, there.check(t.Context(), revocable()), token.InvalidToken)

	server.Stop()
	statetest.Eventually(t, "nobody is let in", func() bool {
		var refused *token.Error
		return errors.As(there.check(t.Context(), revocable()), &refused) && refused.Kind == token.Unavailable && refused.RetryAfter > 0
	})
}

func TestCallerOfAToken(t *testing.T) {
	for _, test := range []struct {
		iat  any
		want int64
	}{{int64(1735787045), 1735787045}, {1735787045.5, 1735787045}, {json.Number("1e400"), 0}, {nil, 0}} {
		p := revocable()
		p.Claims["iat"] = test.iat
		c := callerOf(p)
		if c.ID != "t1" || c.Subject != "alice" || test.want == 0 != c.IssuedAt.IsZero() || test.want != 0 && c.IssuedAt.Unix() != test.want {
			t.Errorf("iat %v: %+v", test.iat, c)
		}
	}
}
