package chaos

import (
	"fmt"
	"net/http"
	"os"
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
