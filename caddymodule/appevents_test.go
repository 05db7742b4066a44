package caddymodule

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// listenToEvents puts a listener in place of the events app.
func listenToEvents(t *testing.T, m *Handler, wanted bool) <-chan namedEvent {
	t.Helper()
	heard := make(chan namedEvent, 16)
	m.events = newAppEvents(newConfiguration(t, t.TempDir()).Context, func(_ caddy.Context, name string, data map[string]any) {
		heard <- namedEvent{name, data}
	}, func(string) bool { return wanted })
	return heard
}

func nextEvent(t *testing.T, events <-chan namedEvent) namedEvent {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event came")
		return namedEvent{}
	}
}

func TestRefusalsAreEvents(t *testing.T) {
	m := mustLoad(t, "auth {\nmode none\n}\npolicy {\ntool visible.*\nmethod *\n}")
	events := listenToEvents(t, m, true)
	reply := answering(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	for _, name := range []string{"visible.echo", "hidden"} {
		serve(t, m, post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`"}}`, nil), reply)
	}
	if e := nextEvent(t, events); e.name != eventDenied || e.data["name"] != "hidden" || e.data["cause"] != "default" {
		t.Errorf("%s %v", e.name, e.data)
	}
	r := prepared(post(t, "", nil), httptest.NewRecorder())
	m.write(withTrailOf(r), decided{decision: decisionEnd, cause: causeRevoked, reason: "taken back"})
	if e := nextEvent(t, events); e.name != eventRevoked {
		t.Errorf("%s %v", e.name, e.data)
	}
}

func withTrailOf(r *http.Request) *trail {
	t := &trail{}
	withTrail(r, t)
	return t
}

func TestEventsNobodyWantsCostNothing(t *testing.T) {
	m := mustLoad(t, open)
	listenToEvents(t, m, false)
	m.events.tell(eventDenied, func() map[string]any {
		t.Error("the data of an event nobody wants was made")
		return nil
	})
}

// Handlers of events run processes and ask services: requests do not wait.
func TestAHangingHandlerOfEventsHoldsNobodyUp(t *testing.T) {
	m := mustLoad(t, open)
	release := make(chan struct{})
	defer close(release)
	m.events = newAppEvents(newConfiguration(t, t.TempDir()).Context, func(caddy.Context, string, map[string]any) { <-release }, func(string) bool { return true })
	for range 10 * maxEvents { // returns
		m.events.tell(eventDenied, func() map[string]any { return nil })
	}
}

func TestAServerThatSaysSomethingNewIsAnEventOnce(t *testing.T) {
	a := newAdvertised()
	said := rawjson.Value(`{"extensions":{"openai/settings":{"readTool":"a","updateTool":"b"}}}`)
	if _, news := a.learn(rawjson.Value(`{}`)); news {
		t.Error("nothing is news")
	}
	got, first := a.learn(said)
	if _, again := a.learn(said); !first || again {
		t.Errorf("%+v: news at first %v, again %v", got, first, again)
	}
}
