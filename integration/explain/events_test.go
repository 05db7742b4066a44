package explain

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// listen opens a live view and returns its events, in the form "event data".
func (g *gateway) listen(t *testing.T, query string) (events <-chan string, status int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin/mcp_app/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.admin.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, resp.StatusCode
	}
	sent := make(chan string, 100)
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), ":") {
		t.Fatalf("begins with %q", lines.Text())
	}
	go func() {
		defer close(sent)
		defer resp.Body.Close()
		event := ""
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				event = name
			} else if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				sent <- event + " " + data
			}
		}
	}()
	return sent, resp.StatusCode
}

func next(t *testing.T, events <-chan string) (event string, data map[string]any) {
	t.Helper()
	select {
	case text, ok := <-events:
		if !ok {
			return "closed", nil
		}
		event, raw, _ := strings.Cut(text, " ")
		if err := json.Unmarshal([]byte(raw), &data); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return event, data
	case <-time.After(10 * time.Second):
		t.Fatal("no event")
		return "", nil
	}
}

// TestDecisionsAreSeenLive: what goes on record, and what is allowed and not
// recorded, reaches a live view at once; it ends with its configuration.
func TestDecisionsAreSeenLive(t *testing.T) {
	g := start(t, "allow all", "allow off")
	victor := g.token(t, "victor@acme", "acme", "mcp.use")
	events, _ := g.listen(t, "?endpoint=/mcp")
	all, _ := g.listen(t, "")
	if _, status := g.listen(t, "?endpoint=/other"); status != http.StatusNotFound {
		t.Errorf("an unknown endpoint: %d", status)
	}

	g.tool(t, "acme", victor, "list_decks", map[string]any{}, nil)
	g.tool(t, "acme", victor, "settings.update", map[string]any{}, nil)
	for _, stream := range []<-chan string{events, all} {
		event, data := next(t, stream)
		if event != "decision" || data["decision"] != "allow" || data["mcp_name"] != "list_decks" || data["subject"] != "victor@acme" || data["uuid"] == "" {
			t.Errorf("%s %v", event, data)
		}
		event, data = next(t, stream)
		if event != "decision" || data["decision"] != "hide" || data["rule"] != "settings.*" || data["reason"] != "missing scope settings.write" || data["cause"] != "scope" {
			t.Errorf("%s %v", event, data)
		}
	}

	began := time.Now()
	if err := g.Reload(text("scopes decks.write", "scopes decks.edit")); err != nil {
		t.Fatal(err)
	}
	for _, stream := range []<-chan string{events, all} {
		if event, _ := next(t, stream); event != "end" {
			t.Errorf("after a reload: %s", event)
		}
		if event, _ := next(t, stream); event != "closed" {
			t.Errorf("after the end: %s", event)
		}
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the reload waited %s for its listeners", took)
	}
}

// TestLiveViewsOutliveTheAdminDeadline: Caddy's admin endpoint gives a request
// ten seconds, and a live view is to stay open.
func TestLiveViewsOutliveTheAdminDeadline(t *testing.T) {
	if testing.Short() {
		t.Skip("takes eleven seconds")
	}
	g := start(t)
	events, _ := g.listen(t, "")
	time.Sleep(11 * time.Second)
	g.tool(t, "acme", g.token(t, "victor@acme", "acme", "mcp.use"), "list_decks", map[string]any{}, nil)
	if event, data := next(t, events); event != "decision" || data["mcp_name"] != "list_decks" {
		t.Errorf("%s %v", event, data)
	}
}

// TestLiveViewsAreBounded: one too many is told so, and a place is free again
// when one leaves.
func TestLiveViewsAreBounded(t *testing.T) {
	g := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func() int {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin/mcp_app/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := g.admin.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp.StatusCode
	}
	for i := range 16 {
		if status := open(); status != http.StatusOK {
			t.Fatalf("view %d: %d", i, status)
		}
	}
	if status := open(); status != http.StatusServiceUnavailable {
		t.Errorf("one too many: %d", status)
	}
	cancel()
	ctx = t.Context()
	for range 100 {
		if open() == http.StatusOK {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("no place is free again")
}
