package chaos

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/fault"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

// ways are how a service that is asked over the network fails.
var ways = map[string]fault.Rule{
	"is down": {Refuse: true},
	"hangs":   {Then: fault.Hang},
	"lies":    {Then: fault.Garbage},
	"breaks":  {Then: fault.Reset, After: 30},
	"is cut":  {Then: fault.Close, After: 100},
	"is slow": {Drip: 200 * time.Millisecond},
}

// flap switches a service off and on while asking.
func flap(t *testing.T, i *fault.Injector, ask func()) {
	t.Helper()
	for range 4 {
		set(t, i, fault.Rule{Refuse: true})
		ask()
		set(t, i, fault.Rule{})
		ask()
	}
}

// Keys that are known outlive the issuer, also for tokens never seen before.
func TestTheIssuerFailsAfterItsKeysAreKnown(t *testing.T) {
	w := newWorld(t, "", nil)
	for name, rule := range ways {
		w.survive(t, name, func(t *testing.T) {
			set(t, w.issuer, rule)
			wantAll(t, w.all(t, listTools, patience), http.StatusOK, `"shown"`)
		})
	}
	w.survive(t, "flaps", func(t *testing.T) {
		flap(t, w.issuer, func() { wantAll(t, w.all(t, listTools, patience), http.StatusOK, `"shown"`) })
	})
	w.survive(t, "lies about its keys", func(t *testing.T) {
		w.Issuer.SetFault(issuer.JWKS, issuer.EmptySet)
		defer w.Issuer.SetFault(issuer.JWKS, issuer.None)
		wantAll(t, w.all(t, listTools, patience), http.StatusOK, `"shown"`)
	})
}

// Nobody is let in whose token cannot be judged, and nobody is told it was bad.
func TestTheIssuerIsDownWhenTheGatewayStarts(t *testing.T) {
	met.Add(1)
	w := newWorld(t, "", func(w *world) { set(t, w.issuer, fault.Rule{Refuse: true}) })
	wantAll(t, w.all(t, listTools, patience), http.StatusServiceUnavailable, "temporarily_unavailable")
	set(t, w.issuer, fault.Rule{})
	w.works(t, "after the issuer has come up")
	survived.Add(1)
}

func TestTheMembershipServiceFails(t *testing.T) {
	w := newWorld(t, "", nil)
	for name, rule := range ways {
		w.survive(t, name, func(t *testing.T) {
			set(t, w.members, rule)
			wantAll(t, w.all(t, listTools, patience), http.StatusServiceUnavailable, "temporarily_unavailable")
		})
	}
	w.survive(t, "flaps", func(t *testing.T) {
		flap(t, w.members, func() {
			for _, a := range w.all(t, listTools, patience) {
				if a.status != http.StatusOK && a.status != http.StatusServiceUnavailable {
					t.Errorf("got %d %q %v", a.status, a.body, a.err)
				}
			}
		})
	})
}

// Revocations are believed for max_stale, and then nobody is let in; everybody
// again once the server is back.
func TestRedisFails(t *testing.T) {
	redis := statetest.StartRedis(t)
	var state *fault.Injector
	w := newWorld(t, "", func(w *world) {
		state = inject(t, strings.TrimPrefix(redis.URL, "redis://"))
	})
	with := string(w.caddyfile)
	with = strings.Replace(with, "tool shown\n\t\t}", fmt.Sprintf("tool shown\n\t\t}\n\t\tstate redis redis://%s {\n\t\t\ttimeout 200ms\n\t\t\tmax_stale 1s\n\t\t}", state.Addr), 1)
	reload(t, w, []byte(with))
	for name, rule := range ways {
		w.survive(t, name, func(t *testing.T) {
			set(t, state, rule)
			statetest.Eventually(t, "nobody is let in once the list is too old", func() bool {
				return w.send(t, w.token(t), listTools).status == http.StatusServiceUnavailable
			})
			wantAll(t, w.all(t, listTools, patience), http.StatusServiceUnavailable, "temporarily_unavailable")
			set(t, state, fault.Rule{})
		})
	}
	w.survive(t, "flaps", func(t *testing.T) {
		flap(t, state, func() {
			for _, a := range w.all(t, listTools, patience) {
				if a.status != http.StatusOK && a.status != http.StatusServiceUnavailable {
					t.Errorf("got %d %q %v", a.status, a.body, a.err)
				}
			}
		})
	})
	w.survive(t, "is killed and started again, empty", func(t *testing.T) {
		redis.Stop()
		statetest.Eventually(t, "nobody is let in once the list is too old", func() bool {
			return w.send(t, w.token(t), listTools).status == http.StatusServiceUnavailable
		})
		redis.Start()
	})
}

func reload(t *testing.T, w *world, caddyfile []byte) {
	t.Helper()
	// What the stack hands over by the environment is in the file already.
	if err := w.Reload(caddyfile); err != nil {
		t.Fatal(err)
	}
	w.transport.CloseIdleConnections()
}

// Half a file, or none, makes nobody a member and nobody none: what was read last
// counts until there is a whole one again.
func TestTheMembersFileIsHalfWritten(t *testing.T) {
	w := newWorld(t, "", nil)
	file := filepath.Join(t.TempDir(), "members.json")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	token := w.token(t)
	who := fmt.Sprintf(`{"issuer":%q,"subject":"user-%d","tenant":"acme"}`, w.Issuer.URL, w.subjects.Load())
	whole := `{"members":[` + who + `]}`
	write(whole)
	start, _, _ := strings.Cut(string(w.caddyfile), "members http ")
	_, rest, _ := strings.Cut(string(w.caddyfile), "timeout 3s\n\t\t\t}\n")
	reload(t, w, []byte(start+"members file "+file+"\n"+rest))
	in := func(what string, want int) {
		t.Helper()
		statetest.Eventually(t, what, func() bool { return w.send(t, token, listTools).status == want })
	}
	in("the member", http.StatusOK)
	for name, fault := range map[string]func(){
		"half a file": func() { write(whole[:len(whole)/2]) },
		"empty":       func() { write("") },
		"gone":        func() { _ = os.Remove(file) },
		"a folder": func() {
			_ = os.Remove(file)
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			met.Add(1)
			fault()
			for range 30 { // longer than it takes to be noticed
				if a := w.send(t, token, listTools); a.status != http.StatusOK {
					t.Fatalf("got %d %q", a.status, a.body)
				}
				time.Sleep(50 * time.Millisecond)
			}
			_ = os.RemoveAll(file)
			write(`{"members":[]}`)
			in("nobody is a member", http.StatusForbidden)
			write(whole)
			in("the member again", http.StatusOK)
			survived.Add(1)
		})
	}
}

// A clock that is an hour off is that of the issuer or that of the gateway: the
// difference is what counts. Nobody's clock is believed more than leeway allows,
// and who comes with the right time is served as ever.
func TestTheClockStepsByAnHour(t *testing.T) {
	w := newWorld(t, "", nil)
	for name, step := range map[string]time.Duration{"back": time.Hour, "forth": -time.Hour} {
		w.survive(t, name, func(t *testing.T) {
			// By a clock that has not stepped.
			now := time.Now().Add(step)
			late, err := w.Issuer.Issue(issuer.Grant{
				Subject: "user-1", Audience: []string{w.URL("acme")},
				Claims: map[string]any{"org_id": "acme", "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(10 * time.Minute).Unix()},
			})
			if err != nil {
				t.Fatal(err)
			}
			a := w.send(t, late, listTools)
			if a.status != http.StatusUnauthorized || strings.Contains(a.body, secret) {
				t.Errorf("got %d %q", a.status, a.body)
			}
			wantAll(t, w.all(t, listTools, patience), http.StatusOK, `"shown"`)
		})
	}
}

// The key of sessions and cursors is made at first use. While it cannot be kept,
// nothing is sealed with one that would be forgotten.
func TestTheStorageIsReadOnlyWhenTheKeyIsMade(t *testing.T) {
	met.Add(1)
	dir := t.TempDir()
	blocked := dir + "/storage"
	// A file in place of the folder: also a superuser cannot write below it.
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "", nil)
	w.works(t, "before the fault")
	text := string(w.caddyfile)
	reload(t, w, []byte(strings.Replace(text, "admin off", "admin off\n\tstorage file_system "+blocked, 1)))
	time.Sleep(50 * time.Millisecond)
	wantAll(t, w.all(t, listTools, patience), http.StatusServiceUnavailable, "temporarily unavailable")
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	w.works(t, "after the storage can be written")
	survived.Add(1)
}
