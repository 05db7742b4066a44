package e2e

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// get opens a stream and returns once its headers are there.
func (c *caller) get(ctx context.Context, t *testing.T, header http.Header) *http.Response {
	t.Helper()
	all := http.Header{"Accept": {"text/event-stream"}, "Mcp-Protocol-Version": {legacy}}
	for name, values := range header {
		all[name] = values
	}
	response, err := c.client.Do(c.request(t, http.MethodGet, c.url, "", all).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// silentStream is a server whose GET stream sends its headers, then what the
// test gives it, and ends when the client has gone.
func silentStream(events <-chan string, gone chan<- struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case event := <-events:
				_, _ = io.WriteString(w, event)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				close(gone)
				return
			}
		}
	})
}

// Legacy clients wait for the headers of their stream before they do anything
// else, and a stream may be silent for hours (caddy 4247, 6293).
func TestHeadersOfAStreamLeaveAtOnce(t *testing.T) {
	for name, before := range map[string]string{"alone": "", "behind encode": "encode gzip zstd\n", "with an access log": "log\n"} {
		t.Run(name, func(t *testing.T) {
			gone := make(chan struct{})
			g := startBefore(t, silentStream(nil, gone), before+endpoint(allTools))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			response := g.bearer(t, viewer("acme")).get(ctx, t, http.Header{"Accept-Encoding": {"gzip"}})
			if response.StatusCode != http.StatusOK {
				t.Fatalf("status %d", response.StatusCode)
			}
			cancel()
			happens(t, "the server learns that the client has gone", gone)
		})
	}
}

func TestEventsArriveWhenTheyAreSent(t *testing.T) {
	events, gone := make(chan string), make(chan struct{})
	g := startBefore(t, silentStream(events, gone), endpoint(allTools))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := bufio.NewReader(g.bearer(t, viewer("acme")).get(ctx, t, nil).Body)
	for _, event := range []string{
		": hello\n\n", "id: 1\nretry: 5000\ndata:\n\n", "event: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n",
		"event: custom\ndata: not JSON\n\n", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n",
	} {
		events <- event
		got := ""
		for !strings.HasSuffix(got, "\n\n") {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("after %q: %v", got, err)
			}
			got += line
		}
		if got != event {
			t.Errorf("sent %q, got %q", event, got)
		}
	}
	cancel()
	happens(t, "the server learns that the client has gone", gone)
}

// After a broken connection the answer to tools/list arrives on a GET stream,
// where nothing says what was asked.
func TestAResumedStreamIsFilteredToo(t *testing.T) {
	events, gone := make(chan string, 1), make(chan struct{})
	g := startBefore(t, silentStream(events, gone), withTools)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events <- "id: 9\ndata: " + listing + "\n\n"
	lines := bufio.NewReader(g.bearer(t, viewer("acme")).get(ctx, t, http.Header{"Last-Event-Id": {"8"}}).Body)
	got := ""
	for !strings.HasSuffix(got, "\n\n") {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		got += line
	}
	if !strings.Contains(got, "id: 9\n") || !strings.Contains(got, `"shown"`) || strings.Contains(got, "secret") {
		t.Errorf("the stream carries %q", got)
	}
	cancel()
	happens(t, "the server learns that the client has gone", gone)
}

func TestAStreamEndsWithItsToken(t *testing.T) {
	gone := make(chan struct{})
	body := strings.Replace(endpoint(allTools), "scopes mcp.use", "scopes mcp.use\nleeway 0s", 1)
	g := startBefore(t, silentStream(nil, gone), body)
	grant := g.grant(viewer("acme"))
	grant.TTL = 2 * time.Second
	c := g.nobody()
	c.header.Set("Authorization", "Bearer "+g.issue(t, grant))
	response := c.get(t.Context(), t, nil)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	rest, err := io.ReadAll(response.Body) // returns when the stream has ended
	if err != nil {
		t.Errorf("the stream does not end cleanly: %v after %q", err, rest)
	}
	happens(t, "the server learns that the client has gone", gone)
	wantStatus(t, "a new stream", c.send(t, http.MethodGet, c.url, "", nil), http.StatusUnauthorized)
}

func TestASilentStreamIsKeptAlive(t *testing.T) {
	gone := make(chan struct{})
	g := startBefore(t, silentStream(nil, gone), endpoint(allTools+"keep_alive 20ms"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := bufio.NewReader(g.bearer(t, viewer("acme")).get(ctx, t, nil).Body)
	for range 3 {
		if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, ":") {
			t.Errorf("got %q, %v, want a comment", line, err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != "\n" {
			t.Errorf("got %q, %v, want a blank line", line, err)
		}
	}
	cancel()
	happens(t, "the server learns that the client has gone", gone)
	if _, err := lines.ReadString('x'); !errors.Is(err, context.Canceled) {
		t.Errorf("reading on: %v", err)
	}
}

// A protocol nobody reads would be a way around everything.
func TestNoOtherProtocolIsSwitchedTo(t *testing.T) {
	reached := make(chan string, 8)
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			reached <- err.Error()
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		line, err := buffered.ReadString('\n')
		if err == nil {
			reached <- line
		}
		_, _ = io.WriteString(conn, "unfiltered\n")
	})
	g := startBefore(t, server, endpoint(allTools))
	token := g.token(t, viewer("acme"))
	for _, protocol := range []string{"websocket", "mcp"} {
		for _, method := range []string{"GET", "POST"} {
			request := g.rawPost("/mcp", token, "Connection: Upgrade\r\nUpgrade: "+protocol+"\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n", pingBody)
			all := g.rawConversation(t, strings.Replace(request, "POST", method, 1)+"hello\n")
			if strings.HasPrefix(all, "HTTP/1.1 101") || strings.Contains(all, "unfiltered") {
				t.Errorf("%s, %s: the client got %q", method, protocol, all)
			}
		}
	}
	select {
	case line := <-reached:
		t.Errorf("the server was sent %q past the gateway", line)
	default:
	}
}
