package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
)

// progressEvents is an open stream of a registration's progress.
type progressEvents struct {
	*bufio.Reader
}

// progressEvent is one event of it, with what these tests look at.
type progressEvent struct {
	name     string
	Calls    int64  `json:"calls"`
	MaxCalls int64  `json:"max_calls"`
	Ended    string `json:"ended"`
}

func (r *registrar) events(t *testing.T, handle string) progressEvents {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin/mcp_app/registrations/"+handle+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := r.admin.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("status %d, %s", response.StatusCode, kind)
	}
	return progressEvents{bufio.NewReader(response.Body)}
}

// next reads one event, and reports false at the end of the stream.
func (e progressEvents) next(t *testing.T) (progressEvent, bool) {
	t.Helper()
	var event progressEvent
	for {
		line, err := e.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" && event.name == "" {
			return event, false
		}
		if err != nil {
			t.Fatalf("the stream breaks off after %q: %v", line, err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			event.name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &event); err != nil {
				t.Fatalf("%q: %v", value, err)
			}
		case "":
			if event.name != "" {
				return event, true
			}
		}
	}
}

// cut reads on to the end of a stream that tells no end of the registration.
func (e progressEvents) cut(t *testing.T) {
	t.Helper()
	for {
		event, ok := e.next(t)
		if !ok {
			return
		}
		if event.name == "end" {
			t.Errorf("the reload ends the registration: %+v", event)
		}
	}
}

// ends reads events up to the one that ends the stream, which is then to be
// closed.
func (e progressEvents) ends(t *testing.T, reason string) {
	t.Helper()
	for {
		event, ok := e.next(t)
		if !ok {
			t.Fatalf("the stream has ended without the reason %s", reason)
		}
		if event.name != "end" {
			continue
		}
		if event.Ended != reason {
			t.Errorf("ended by %q, want %q", event.Ended, reason)
		}
		if more, ok := e.next(t); ok {
			t.Errorf("after the end: %+v", more)
		}
		return
	}
}

// A reload changes the rules, and takes neither the registration away nor the
// calls back that were made under it. The stream of its progress is cut without
// a reason, and may be opened again.
func TestARegistrationSurvivesAReload(t *testing.T) {
	for name, line := range states(t) {
		t.Run(name, func(t *testing.T) {
			r := startRegistrar(t, someTools+line)
			made := r.register(t, `,"max_calls":4`, "list_decks", "get_deck")
			callers := []*caller{r.under(t, legacy, viewer("acme"), made.ID), r.under(t, modern, viewer("acme"), made.ID)}
			call := func(c *caller, want int) {
				t.Helper()
				wantStatus(t, c.era, c.tool(t, "list_decks", nil), want)
			}
			call(callers[0], http.StatusOK)
			events := r.events(t, made.Handle)
			if first, ok := events.next(t); !ok || first.name != "progress" || first.Calls != 1 || first.MaxCalls != 4 {
				t.Errorf("the stream begins with %+v", first)
			}

			r.admin.CloseIdleConnections()
			changed := strings.ReplaceAll(string(r.caddyfile), "\ttool *\n", "\ttool list_decks\n")
			if err := r.reload(t, []byte(changed)); err != nil {
				t.Fatal(err)
			}
			events.cut(t)
			for _, c := range callers { // with the sessions they have
				if got := c.call(t, "tools/list", "", nil).names("tools", "name"); len(got) != 1 || got[0] != "list_decks" {
					t.Errorf("%s: under the new rules %q", c.era, got)
				}
			}
			events = r.events(t, made.Handle)
			call(callers[0], http.StatusOK)
			call(callers[1], http.StatusOK)
			for told := int64(0); told != 3; { // at intervals, and maybe several at once
				event, ok := events.next(t)
				if !ok || event.Calls > 3 {
					t.Fatalf("after three calls: %+v, %v", event, ok)
				}
				told = event.Calls
			}
			if err := r.reload(t, r.caddyfile); err != nil {
				t.Fatal(err)
			}
			events.cut(t)
			call(callers[1], http.StatusOK)
			call(callers[0], http.StatusNotFound)
			call(callers[1], http.StatusNotFound)
			r.events(t, made.Handle).ends(t, registration.Completed)
		})
	}
}

// brokenServer answers with what a proxy says while its server is down, until it
// is up.
type brokenServer struct {
	up   atomic.Bool
	next http.Handler
}

func (s *brokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.up.Load() {
		panic(http.ErrAbortHandler) // the connection breaks off
	}
	s.next.ServeHTTP(w, r)
}

// A registration whose server never came up ends when its first client finds
// that out; one that was begun outlives an outage.
func TestARegistrationEndsWhenItsServerDoesNotStart(t *testing.T) {
	server := &brokenServer{next: pickyServer()}
	r := startRegistrarBefore(t, server, allTools)
	begin := func(era, id string) *answer {
		c := &caller{r.client, r.URL("acme") + "?registration=" + id, era, http.Header{"Authorization": {"Bearer " + r.token(t, viewer("acme"))}}}
		if era == modern {
			c.header.Set("Mcp-Protocol-Version", modern)
		}
		return c.handshake(t)
	}
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			server.up.Store(false)
			made := r.register(t, "", "settings.read")
			events := r.events(t, made.Handle)
			if a := begin(era, made.ID); a.status < http.StatusInternalServerError {
				t.Fatalf("the server is down: %s", a)
			}
			events.ends(t, registration.StartupFailed)
			if status, text := r.ask(t, http.MethodGet, "/"+made.Handle, ""); status != http.StatusOK || !strings.Contains(text, fmt.Sprintf("%q", registration.StartupFailed)) {
				t.Errorf("progress: %d %s", status, text)
			}
			server.up.Store(true)
			wantStatus(t, "when the server is up again", begin(era, made.ID), http.StatusNotFound)

			begun := r.register(t, "", "settings.read")
			wantStatus(t, "the beginning", begin(era, begun.ID), http.StatusOK)
			server.up.Store(false)
			if a := begin(era, begun.ID); a.status < http.StatusInternalServerError {
				t.Errorf("the server is down: %s", a)
			}
			server.up.Store(true)
			wantStatus(t, "after the outage", begin(era, begun.ID), http.StatusOK)
		})
	}
}

// The events tell every end, at once and to whoever asks later.
func TestTheEventsTellEveryEnd(t *testing.T) {
	r := startRegistrar(t, someTools)
	for reason, end := range map[string]func(t *testing.T, made madeRegistration){
		registration.Completed: func(t *testing.T, made madeRegistration) {
			t.Helper()
			wantStatus(t, "the only call", r.under(t, modern, viewer("acme"), made.ID).tool(t, "list_decks", nil), http.StatusOK)
		},
		registration.Deleted: func(t *testing.T, made madeRegistration) {
			t.Helper()
			if status, text := r.ask(t, http.MethodDelete, "/"+made.Handle, ""); status != http.StatusNoContent {
				t.Fatalf("%d %s", status, text)
			}
		},
		registration.Expired: func(*testing.T, madeRegistration) {},
	} {
		t.Run(reason, func(t *testing.T) {
			ttl := "1h"
			if reason == registration.Expired {
				ttl = "1s"
			}
			made := r.register(t, `,"max_calls":1,"ttl":"`+ttl+`"`, "list_decks")
			events := r.events(t, made.Handle)
			if first, ok := events.next(t); !ok || first.name != "progress" || first.Calls != 0 || first.Ended != "" {
				t.Errorf("the stream begins with %+v", first)
			}
			end(t, made)
			events.ends(t, reason)
			a := r.caller(t, modern, viewer("acme"))
			a.url += "?registration=" + made.ID
			wantStatus(t, "afterwards", a.call(t, "tools/list", "", nil), http.StatusNotFound)
			if reason != registration.Expired {
				r.events(t, made.Handle).ends(t, reason)
			}
		})
	}
}

// What has expired opens nothing: not to the session begun under it, not to the
// same session without the id, and not to a new token.
func TestAnExpiredRegistrationOpensNothing(t *testing.T) {
	r := startRegistrar(t, someTools)
	made := r.register(t, `,"ttl":"2s"`, "list_decks")
	session := r.under(t, legacy, viewer("acme"), made.ID)
	wantStatus(t, "before", session.tool(t, "list_decks", nil), http.StatusOK)
	eventually(t, "the registration has expired", func() bool {
		return session.call(t, "tools/list", "", nil).status == http.StatusNotFound
	})
	wantStatus(t, "a call in the live session", session.tool(t, "list_decks", nil), http.StatusNotFound)
	whole := *session
	whole.url = r.URL("acme")
	wantStatus(t, "the live session without the id", whole.call(t, "tools/list", "", nil), http.StatusNotFound)
	broader := *session
	broader.header = session.header.Clone()
	broader.header.Set("Authorization", "Bearer "+r.token(t, editor("acme")))
	wantStatus(t, "the live session with a broader token", broader.call(t, "tools/list", "", nil), http.StatusNotFound)
	for _, era := range eras {
		c := r.caller(t, era, editor("acme"))
		c.url += "?registration=" + made.ID
		wantStatus(t, era+", somebody else", c.call(t, "tools/list", "", nil), http.StatusNotFound)
	}
}

// A token with more scopes sees more of the registration and nothing beside it,
// also one that the registration is bound to, and only at its own tenant.
func TestABroaderTokenWidensNoRegistration(t *testing.T) {
	r := startRegistrar(t, someTools)
	erin := editor("acme")
	admin := erin
	admin.scopes = append(admin.scopes, "admin", "decks.admin", "*")
	for what, more := range map[string]string{
		"for anybody": "",
		"for erin":    fmt.Sprintf(`,"principal":{"issuer":%q,"subject":%q,"tenant":"acme"}`, r.Issuer.URL, erin.subject),
	} {
		made := r.register(t, more, "list_decks", "create_deck")
		for _, era := range eras {
			for _, p := range []person{erin, admin} {
				c := r.under(t, era, p, made.ID)
				if got := c.call(t, "tools/list", "", nil).names("tools", "name"); len(got) != 2 {
					t.Errorf("%s, %s: tools %q", what, era, got)
				}
				r.Workspace.ForgetCalls()
				sameAsUnknown(t, c.tool(t, "delete_deck", map[string]any{"deckId": "roadmap"}), c.tool(t, "no_such_to0", map[string]any{"deckId": "roadmap"}), "delete_deck", "no_such_to0")
				for _, call := range r.Workspace.Calls() {
					if call.Tool == "delete_deck" {
						t.Errorf("%s, %s: a tool outside the registration was run", what, era)
					}
				}
			}
			if what == "for anybody" {
				continue
			}
			foreign := erin
			foreign.tenant = "globex" // the same subject, in another tenant
			c := r.caller(t, era, foreign)
			c.url += "?registration=" + made.ID
			wantStatus(t, era+", the tenant is another", c.call(t, "tools/list", "", nil), http.StatusNotFound)
		}
	}
}
