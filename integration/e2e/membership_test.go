package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// eventsInStream is how many events a member would get if nobody took it out,
// one each eventGap.
const (
	eventsInStream = 100
	eventGap       = 50 * time.Millisecond
)

// hundredEvents is a server whose streams carry a hundred events, and a call
// that takes as long. It counts whoever it has lost on the way.
func hundredEvents(lost *atomic.Int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range eventsInStream {
			_, _ = fmt.Fprintf(w, "id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":%d}}\n\n", i, i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(eventGap):
			case <-r.Context().Done():
				lost.Add(1)
				return
			}
		}
	})
}

// readUntilOut counts the events of a stream until it ends, and takes the member out
// after some.
func readUntilOut(t *testing.T, response *http.Response, takeOut func()) (events int, after time.Duration) {
	t.Helper()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	var out time.Time
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		if events++; events == 10 {
			takeOut()
			out = time.Now()
		}
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream does not end cleanly: %v", err)
	}
	return events, time.Since(out)
}

// wantLost checks that a stream ended before its time, for the server too.
func wantLost(t *testing.T, events int, lost *atomic.Int32) {
	t.Helper()
	if events == eventsInStream {
		t.Fatalf("all %d events arrived", events)
	}
	eventually(t, "the server learns that the stream has ended", func() bool { return lost.Load() == 1 })
}

// member is the entry of the viewer of acme in a members file.
func (g *gateway) member(t *testing.T, roles ...string) string {
	t.Helper()
	return string(marshal(t, map[string]any{"issuer": g.Issuer.URL, "subject": viewer("acme").subject, "tenant": "acme", "roles": append([]string{}, roles...)}))
}

// putMembers replaces a members file the way careful writers do.
func putMembers(t *testing.T, path string, members ...string) {
	t.Helper()
	content := `{"members":[` + strings.Join(members, ",") + `]}`
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// startWithFile runs the gateway with a members file.
func startWithFile(t *testing.T, upstream http.Handler) (g *gateway, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "members.json")
	putMembers(t, path)
	g = startBefore(t, upstream, strings.Replace(endpoint(allTools), "claim org_id", "claim org_id\nmembers file "+path, 1))
	return g, path
}

func TestWhoIsTakenOutOfTheFileLosesAStreamWithinASecond(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, g *gateway, path string){
		"taken out": func(t *testing.T, _ *gateway, path string) { t.Helper(); putMembers(t, path) },
		"another role": func(t *testing.T, g *gateway, path string) {
			t.Helper()
			putMembers(t, path, g.member(t, "editor"))
		},
		"disabled": func(t *testing.T, g *gateway, path string) {
			t.Helper()
			putMembers(t, path, strings.Replace(g.member(t), `{`, `{"disabled":true,`, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lost atomic.Int32
			g, path := startWithFile(t, hundredEvents(&lost))
			putMembers(t, path, g.member(t))
			c := g.bearer(t, viewer("acme"))
			eventually(t, "the member is let in", func() bool {
				return c.send(t, http.MethodDelete, c.url, "", nil).status == http.StatusOK
			})
			events, after := readUntilOut(t, c.get(t.Context(), t, nil), func() { change(t, g, path) })
			wantLost(t, events, &lost)
			t.Logf("the stream ended %v after the change, with %d of %d events", after.Round(time.Millisecond), events, eventsInStream)
			want := http.StatusForbidden
			if name == "another role" {
				want = http.StatusOK
			}
			wantStatus(t, "afterwards", c.send(t, http.MethodDelete, c.url, "", nil), want)
		})
	}
}

// A call ends with the membership too, but not with a mere change of it.
func TestACallThatIsRunningEndsWithTheMembership(t *testing.T) {
	var lost atomic.Int32
	g, path := startWithFile(t, hundredEvents(&lost))
	putMembers(t, path, g.member(t))
	c := g.bearer(t, viewer("acme"))
	eventually(t, "the member is let in", func() bool {
		return c.send(t, http.MethodDelete, c.url, "", nil).status == http.StatusOK
	})
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}`
	response, err := c.client.Do(c.request(t, http.MethodPost, c.url, call, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	for range 4 { // two events
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	putMembers(t, path, g.member(t, "editor"))
	time.Sleep(time.Second) // twice as long as the change takes
	if lost.Load() != 0 {
		t.Fatal("a new role ended the call")
	}
	putMembers(t, path)
	if _, err := io.ReadAll(lines); err != nil {
		t.Errorf("the call does not end cleanly: %v", err)
	}
	wantLost(t, 0, &lost)
}

// members is a membership service for one subject.
type members struct {
	*httptest.Server
	member, down atomic.Bool
	asked        atomic.Int32
	posted       atomic.Bool
}

func newMembers(t *testing.T) *members {
	t.Helper()
	m := &members{}
	m.member.Store(true)
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.asked.Add(1)
		if r.Method == http.MethodPost {
			var who struct{ Issuer, Subject, Tenant string }
			m.posted.Store(json.NewDecoder(r.Body).Decode(&who) == nil && who.Subject == viewer("acme").subject && who.Tenant == "acme" && r.URL.RawQuery == "")
		}
		if m.down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, `{"member":%t}`, m.member.Load())
	}))
	t.Cleanup(m.Close)
	return m
}

func TestWhoTheServiceNoLongerKnowsLosesAStreamWithinTheCacheTime(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		for name, end := range map[string]func(*members){
			"no member": func(m *members) { m.member.Store(false) }, "no answer": func(m *members) { m.down.Store(true) },
		} {
			t.Run(method+", "+name, func(t *testing.T) {
				var lost atomic.Int32
				service := newMembers(t)
				g := startBefore(t, hundredEvents(&lost), strings.Replace(endpoint(allTools), "claim org_id",
					"claim org_id\nmembers http "+service.URL+" {\nttl 1s\nmethod "+method+"\n}", 1))
				c := g.bearer(t, viewer("acme"))
				events, after := readUntilOut(t, c.get(t.Context(), t, nil), func() { end(service) })
				wantLost(t, events, &lost)
				if service.posted.Load() != (method == "POST") {
					t.Error("the service was not asked as configured")
				}
				t.Logf("the stream ended %v after the change, with %d of %d events; the service was asked %d times",
					after.Round(time.Millisecond), events, eventsInStream, service.asked.Load())
				want := map[string]int{"no member": http.StatusForbidden, "no answer": http.StatusServiceUnavailable}[name]
				wantStatus(t, "afterwards", c.send(t, http.MethodDelete, c.url, "", nil), want)
			})
		}
	}
}
