package e2e

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

const slowCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}`

// slowServer answers calls when it is told to; other requests at once.
func slowServer(reached chan<- struct{}, finish <-chan struct{}, lost *atomic.Int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), "tools/call") {
			return
		}
		reached <- struct{}{}
		select {
		case <-finish:
		case <-r.Context().Done():
			lost.Add(1)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, listing)
	})
}

// later is an answer that comes while the test does something else.
func (c *caller) later(t *testing.T, body string) <-chan *answer {
	t.Helper()
	done := make(chan *answer, 1)
	request := c.request(t, http.MethodPost, c.url, body, nil)
	go func() {
		response, err := c.client.Do(request)
		if err != nil {
			t.Error(err)
			close(done)
			return
		}
		done <- readAnswer(t, response)
	}()
	return done
}

func await(t *testing.T, what string, done <-chan *answer) *answer {
	t.Helper()
	select {
	case a := <-done:
		if a == nil {
			t.FailNow()
		}
		return a
	case <-time.After(patience):
		t.Fatalf("still not: %s", what)
		return nil
	}
}

// What is running was decided under the old rules and is rewritten by them; the
// very next message is judged by the new ones.
func TestARunningCallFinishesUnderItsOwnRules(t *testing.T) {
	reached, finish := make(chan struct{}), make(chan struct{})
	var lost atomic.Int32
	policy := func(tool string) []byte { return site(endpoint("policy {\n\ttool slow\n\ttool " + tool + "\n}")) }
	g := start(t, stackWith(policy("shown"), slowServer(reached, finish, &lost)))
	c := g.bearer(t, viewer("acme"))
	running := c.later(t, slowCall)
	<-reached
	if err := g.reload(t, policy("secret")); err != nil {
		t.Fatal(err)
	}
	next := g.bearer(t, viewer("acme")).later(t, slowCall)
	<-reached
	close(finish)
	for what, a := range map[string]*answer{"shown": await(t, "the running call", running), "secret": await(t, "the next call", next)} {
		if a.status != http.StatusOK || strings.Count(string(a.body), `"name"`) != 1 || !strings.Contains(string(a.body), `"`+what+`"`) {
			t.Errorf("%d %s, want only %s", a.status, a, what)
		}
	}
}

func TestARunningCallIsEndedAfterTheDrain(t *testing.T) {
	reached := make(chan struct{})
	var lost atomic.Int32
	caddyfile := site(endpoint(allTools + "call_drain 300ms"))
	g := start(t, stackWith(caddyfile, slowServer(reached, nil, &lost)))
	running := g.bearer(t, viewer("acme")).later(t, slowCall)
	<-reached
	if err := g.reload(t, caddyfile); err != nil {
		t.Fatal(err)
	}
	a := await(t, "the end of the call", running)
	wantFailure(t, "the call", a, http.StatusServiceUnavailable)
	eventually(t, "the server learns it", func() bool { return lost.Load() == 1 })
	if log := g.log(t); !strings.Contains(log, "call_drain") {
		t.Error("the log does not say why")
	}
}

// The configuration under which a caller came in is gone; its source of members
// must not be, or everybody would be thrown out, or nobody any more.
func TestADrainingCallIsStillCheckedForItsMembership(t *testing.T) {
	for name, source := range map[string]func(t *testing.T) (line string, takeOut func(t *testing.T)){
		"service": func(t *testing.T) (string, func(t *testing.T)) {
			t.Helper()
			service := newMembers(t)
			return "members http " + service.URL + " {\nttl 500ms\n}", func(*testing.T) { service.member.Store(false) }
		},
		"file": func(t *testing.T) (string, func(t *testing.T)) {
			t.Helper()
			path := t.TempDir() + "/members.json"
			putMembers(t, path)
			return "members file " + path, func(t *testing.T) { t.Helper(); putMembers(t, path) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lost atomic.Int32
			line, takeOut := source(t)
			caddyfile := site(strings.Replace(endpoint(allTools), "claim org_id", "claim org_id\n"+line, 1))
			g := start(t, stackWith(caddyfile, hundredEvents(&lost)))
			if name == "file" {
				path := strings.TrimPrefix(line, "members file ")
				putMembers(t, path, g.member(t))
			}
			c := g.bearer(t, viewer("acme"))
			eventually(t, "the member is let in", func() bool {
				return c.send(t, http.MethodDelete, c.url, "", nil).status == http.StatusOK
			})
			response, err := c.client.Do(c.request(t, http.MethodPost, c.url, slowCall, nil))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			lines := bufio.NewReader(response.Body)
			if err := g.reload(t, caddyfile); err != nil {
				t.Fatal(err)
			}
			// Longer than any answer is remembered and any change takes.
			for range 3 * 50 {
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatalf("the reload ended the call of a member: %v", err)
				}
			}
			if lost.Load() != 0 {
				t.Fatal("the reload ended the call of a member")
			}
			takeOut(t)
			if _, err := io.ReadAll(lines); err != nil {
				t.Errorf("the call does not end cleanly: %v", err)
			}
			wantLost(t, 0, &lost)
		})
	}
}

// Also when the new configuration keeps its state elsewhere.
func TestADrainingCallIsStillCheckedForRevocations(t *testing.T) {
	redis := statetest.StartRedis(t)
	reached := make(chan struct{})
	var lost atomic.Int32
	before := site(endpoint(allTools + "state redis " + redis.URL + " {\nmax_stale 2s\n}"))
	g := start(t, stackWith(before, slowServer(reached, nil, &lost)))
	running := g.bearer(t, viewer("acme")).later(t, slowCall)
	<-reached
	if err := g.reload(t, site(endpoint(allTools))); err != nil {
		t.Fatal(err)
	}
	time.Sleep(4 * time.Second) // longer than the old list may be believed
	if lost.Load() != 0 {
		t.Fatal("the old state was given up while a call relies on it")
	}
	redis.Stop()
	wantFailure(t, "the call whose revocation cannot be looked up", await(t, "the end of the call", running), http.StatusServiceUnavailable)
	eventually(t, "the server learns it", func() bool { return lost.Load() == 1 })
}
