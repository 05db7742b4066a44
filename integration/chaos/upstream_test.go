package chaos

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/fault"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

const (
	failure = `"code":-32603`
	// inBody is within the body of the list, inEvent within its second event.
	inBody, inEvent = 200, 270
)

// answerInstead makes the server answer something else, and undoes nothing: the
// next fault does.
func (w *world) answerInstead(contentType, body string) {
	answer := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(rw, body)
	})
	w.server.answer.Store(&answer)
}

// Before anything was sent a broken answer is a JSON-RPC error; afterwards the
// stream breaks visibly between two events. It is never a list that looks whole.
func TestTheServerFails(t *testing.T) {
	w := newWorld(t, "", nil)
	for name, rule := range map[string]fault.Rule{
		"refuses":                   {Refuse: true},
		"closes before its headers": {Then: fault.Close},
		"resets before its headers": {Then: fault.Reset},
		"sends garbage":             {Then: fault.Garbage},
		"dies mid-body":             {Then: fault.Reset, After: inBody},
		"ends mid-body":             {Then: fault.Close, After: inBody},
		"sends garbage mid-headers": {Then: fault.Garbage, After: 40},
		"resets after one byte":     {Then: fault.Reset, After: 1},
	} {
		w.survive(t, name, func(t *testing.T) {
			set(t, w.upstream, rule)
			wantAll(t, w.all(t, listTools, patience), http.StatusBadGateway, failure)
		})
	}
	for name, rule := range map[string]fault.Rule{
		"dies mid-event": {Then: fault.Reset, After: inEvent},
		"ends mid-event": {Then: fault.Close, After: inEvent},
	} {
		w.survive(t, name, func(t *testing.T) {
			set(t, w.upstream, rule)
			for _, a := range w.all(t, callTool, patience) {
				if a.err == nil || a.status != http.StatusOK || !strings.HasSuffix(a.body, "\n\n") || strings.Contains(a.body, `"tools"`) {
					t.Errorf("got %d %q %v, want a whole event and then a broken stream", a.status, a.body, a.err)
				}
				noSecret(t, name, a)
			}
		})
	}
	for name, rule := range map[string]fault.Rule{
		"hangs before its headers": {Then: fault.Hang},
		"hangs mid-body":           {Then: fault.Hang, After: inBody},
	} {
		w.survive(t, name, func(t *testing.T) {
			set(t, w.upstream, rule)
			// The gateway waits for as long as the client does.
			for _, a := range w.all(t, listTools, time.Second) {
				if a.err == nil || a.status != 0 {
					t.Errorf("got %d %q %v, want nothing", a.status, a.body, a.err)
				}
			}
		})
	}
	w.survive(t, "drips slowly", func(t *testing.T) {
		set(t, w.upstream, fault.Rule{Drip: time.Millisecond})
		wantAll(t, w.all(t, listTools, patience), http.StatusOK, `"shown"`)
	})
	w.survive(t, "closes idle connections", func(t *testing.T) {
		set(t, w.upstream, fault.Rule{Idle: 20 * time.Millisecond})
		token := w.token(t)
		for range 50 {
			if a := w.send(t, token, listTools); a.status != http.StatusOK && a.status != http.StatusBadGateway {
				t.Errorf("got %d %q %v", a.status, a.body, a.err)
			}
			time.Sleep(19 * time.Millisecond)
		}
	})
	w.survive(t, "flaps", func(t *testing.T) {
		for range 5 {
			set(t, w.upstream, fault.Rule{Refuse: true})
			wantAll(t, w.all(t, listTools, patience), http.StatusBadGateway, failure)
			set(t, w.upstream, fault.Rule{})
			wantAll(t, w.all(t, listTools, patience), http.StatusOK, `"shown"`)
		}
	})
}

// What is no answer to the question is filtered all the same, and a second one
// is not passed on unread.
func TestTheServerLies(t *testing.T) {
	w := newWorld(t, "", nil)
	w.survive(t, "answers the wrong id", func(t *testing.T) {
		w.answerInstead("application/json", strings.Replace(list, `"id":7`, `"id":8`, 1))
		wantAll(t, w.all(t, listTools, patience), http.StatusOK, `"shown"`)
	})
	w.survive(t, "answers twice", func(t *testing.T) {
		w.answerInstead("application/json", list+list)
		wantAll(t, w.all(t, listTools, patience), http.StatusBadGateway, failure)
	})
	w.survive(t, "answers twice on a stream", func(t *testing.T) {
		w.answerInstead("text/event-stream", "data: "+list+"\n\ndata: "+list+"\n\n")
		wantAll(t, w.all(t, callTool, patience), http.StatusOK, `"shown"`)
	})
	w.survive(t, "answers with garbage that says it is JSON", func(t *testing.T) {
		w.answerInstead("application/json", list[:len(list)-3]+"\x00\xff")
		wantAll(t, w.all(t, listTools, patience), http.StatusBadGateway, failure)
	})
}

func TestTheClientFails(t *testing.T) {
	w := newWorld(t, "", nil)
	w.survive(t, "vanishes from a stream", func(t *testing.T) {
		before := w.server.lost.Load()
		for _, a := range w.all(t, "", time.Second) {
			if a.status != http.StatusOK {
				t.Errorf("got %d %v", a.status, a.err)
			}
		}
		statetest.Eventually(t, "the server learns that they have gone", func() bool { return w.server.lost.Load() == before+crowd })
	})
	w.survive(t, "vanishes before the answer", func(t *testing.T) {
		set(t, w.upstream, fault.Rule{Then: fault.Hang})
		w.all(t, callTool, 300*time.Millisecond)
	})
	raw := func(t *testing.T, ctx context.Context, body string) net.Conn {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", w.address())
		if err != nil {
			t.Fatal(err)
		}
		r := w.request(ctx, t, w.token(t), body)
		r.Close = true
		if err := r.Write(conn); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	w.survive(t, "half-closes", func(t *testing.T) {
		for range crowd {
			conn := raw(t, t.Context(), listTools)
			_ = conn.(*net.TCPConn).CloseWrite()
			_ = conn.SetReadDeadline(time.Now().Add(patience))
			// A client that has closed its half is taken for one that left, or gets
			// its whole answer; never half of one.
			if text, _ := io.ReadAll(conn); len(text) > 0 && !strings.HasPrefix(string(text), "HTTP/1.1 499 ") && !strings.Contains(string(text), `"shown"`) && !strings.Contains(string(text), failure) {
				t.Errorf("got %q", text)
			}
			_ = conn.Close()
		}
	})
	w.survive(t, "reads slowly", func(t *testing.T) {
		large := strings.Replace(list, `"inputSchema":{}`, `"inputSchema":{},"description":"`+strings.Repeat("x", 1<<20)+`"`, 1)
		w.answerInstead("application/json", large)
		var conns []net.Conn
		for range crowd {
			conns = append(conns, raw(t, t.Context(), listTools))
		}
		time.Sleep(300 * time.Millisecond) // nobody reads
		for _, conn := range conns {
			_ = conn.SetReadDeadline(time.Now().Add(patience))
			text, err := io.ReadAll(conn)
			if err != nil || !strings.Contains(string(text), `"shown"`) || strings.Contains(string(text), secret) || len(text) < 1<<20 {
				t.Errorf("got %d bytes, %v", len(text), err)
			}
			_ = conn.Close()
		}
	})
	w.survive(t, "breaks off its message", func(t *testing.T) {
		before := w.server.calls.Load()
		for range crowd {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", w.address())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: "+strings.TrimPrefix(strings.TrimSuffix(w.URL("acme"), "/mcp"), "http://")+
				"\r\nAuthorization: Bearer "+w.token(t)+"\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"+callTool)
			_ = conn.Close()
		}
		if w.server.calls.Load() != before {
			t.Error("half a message was sent on")
		}
	})
}
