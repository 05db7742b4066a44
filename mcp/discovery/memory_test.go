package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
)

func (s *server) count(method string) int {
	n := 0
	for _, asked := range s.asked() {
		if asked == method {
			n++
		}
	}
	return n
}

func TestSuccessesAreRememberedForTheSameTargetOnly(t *testing.T) {
	s := newServer(t, nil)
	m := NewMemory(&Engine{})
	for i, target := range []Target{
		{URL: s.URL},
		{URL: s.URL},
		{URL: s.URL, Token: "a"},
		{URL: s.URL, Token: "b"},
		{URL: s.URL, Token: "a"},
		{URL: s.URL, Header: http.Header{"X-Key": {"a"}}},
		{URL: s.URL, Header: http.Header{"X-Key": {"a"}}},
		{URL: s.URL + "/other"},
	} {
		if _, err := m.Get(t.Context(), target); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if got := s.count("tools/list"); got != 5 {
		t.Errorf("%d questions, want 5", got)
	}
	if _, err := m.Refresh(t.Context(), Target{URL: s.URL}); err != nil || s.count("tools/list") != 6 {
		t.Errorf("a refresh asks %d times, %v", s.count("tools/list"), err)
	}
	if _, err := m.Get(t.Context(), Target{URL: s.URL}); err != nil || s.count("tools/list") != 6 {
		t.Errorf("after a refresh: %d, %v", s.count("tools/list"), err)
	}
	for i := range memoryCapacity {
		_, _ = m.Get(t.Context(), Target{URL: fmt.Sprintf("%s/%d", s.URL, i)})
	}
	before := s.count("tools/list")
	if _, err := m.Get(t.Context(), Target{URL: s.URL}); err != nil || s.count("tools/list") != before+1 {
		t.Errorf("more than %d are remembered", memoryCapacity)
	}
}

func TestFailuresAreNotRemembered(t *testing.T) {
	s := newServer(t, map[string]any{"tools/list": `{}`})
	m := NewMemory(&Engine{})
	for range 2 {
		if _, err := m.Get(t.Context(), Target{URL: s.URL}); err == nil {
			t.Error("no failure")
		}
	}
	if got := s.count("tools/list"); got != 2 {
		t.Errorf("%d questions, want 2", got)
	}
}

// That others keep a flight going is shown in package flight.
func TestTheLastToLeaveStopsTheAsking(t *testing.T) {
	stopped := make(chan struct{})
	entered := make(chan struct{})
	s := newServer(t, map[string]any{"server/discover": respond(func(_ http.ResponseWriter, r *http.Request, _ json.RawMessage) {
		close(entered)
		<-r.Context().Done()
		close(stopped)
	})})
	m := NewMemory(&Engine{})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-entered
		leave()
	}()
	if _, err := m.Get(ctx, Target{URL: s.URL}); err == nil {
		t.Error("an answer came")
	}
	<-stopped
	if asked := s.asked(); !slices.Equal(asked, []string{"server/discover"}) {
		t.Errorf("asked %q", asked)
	}
}
