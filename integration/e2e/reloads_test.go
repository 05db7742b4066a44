package e2e

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// metric reads one value of the gateway's metrics, 0 if it is not there.
func (g *gateway) metric(t *testing.T, name string) float64 {
	t.Helper()
	c := &caller{client: g.client, url: strings.Replace(g.URL("acme"), "/mcp", "/metrics", 1)}
	a := c.send(t, http.MethodGet, c.url, "", nil)
	wantStatus(t, "metrics", a, http.StatusOK)
	for line := range strings.SplitSeq(string(a.body), "\n") {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return number
		}
	}
	return 0
}

const (
	openStreams = `caddy_mcp_app_open_streams{era="legacy"}`
	allowedNone = `caddy_mcp_app_decisions_total{decision="allow",era="legacy",kind="none"}`
)

// Every configuration has a registry of its own; counters must go on in it, two
// endpoints share them, and gauges fall when their streams end (caddy-ratelimit
// 100, caddy 5496, 7051).
func TestMetricsGoOnOverReloads(t *testing.T) {
	gone := make(chan struct{})
	stream := silentStream(nil, gone)
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			stream.ServeHTTP(w, r)
			return
		}
		pong().ServeHTTP(w, r)
	})
	body := "metrics /metrics\n" + endpoint(allTools) + strings.ReplaceAll(endpoint(allTools), "/mcp", "/other")
	g := startBefore(t, server, body)
	before := g.metric(t, allowedNone)
	ping := func() { wantStatus(t, "ping", g.bearer(t, viewer("acme")).post(t, pingBody, nil), http.StatusOK) }
	ping()
	response := g.bearer(t, viewer("acme")).get(t.Context(), t, nil)
	if got := g.metric(t, openStreams); got != 1 {
		t.Errorf("%v streams are counted, want 1", got)
	}
	for range 3 {
		if err := g.reload(t, site(body)); err != nil {
			t.Fatal(err)
		}
		ping()
	}
	if got := g.metric(t, allowedNone) - before; got != 4 {
		t.Errorf("%v decisions are counted, want 4", got)
	}
	if _, err := io.ReadAll(response.Body); err != nil { // returns when the stream has ended
		t.Error(err)
	}
	happens(t, "the server learns that the client has gone", gone)
	eventually(t, "the stream is not counted any more", func() bool { return g.metric(t, openStreams) == 0 })
}

// Nothing of an old configuration stays behind, with streams open on each
// (coraza 76, 252, 258, souin 722, caddy 2358).
func TestManyReloadsLeaveNothingBehind(t *testing.T) {
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			silentStream(nil, make(chan struct{})).ServeHTTP(w, r)
			return
		}
		pong().ServeHTTP(w, r)
	})
	caddyfile := site(endpoint(allTools + "keep_alive 1h"))
	g := start(t, stackWith(caddyfile, server))
	measure := func(reloads int) (goroutines int, heap uint64) {
		// A test of its own, which keeps no answers.
		t.Run(strconv.Itoa(reloads), func(t *testing.T) {
			for range reloads {
				reloadWithStream(t, g, caddyfile)
			}
		})
		g.client.CloseIdleConnections()
		var memory runtime.MemStats
		runtime.GC()
		runtime.GC() // finalizers have run
		runtime.ReadMemStats(&memory)
		return runtime.NumGoroutine(), memory.HeapAlloc
	}
	goroutines, heap := measure(10) // what is made once is there now
	var after int
	var heapAfter uint64
	reloads := 200
	if testing.Short() {
		reloads = 50
	}
	after, heapAfter = measure(reloads)
	eventually(t, "as many goroutines as before the reloads", func() bool {
		after = runtime.NumGoroutine()
		return after <= goroutines+15
	})
	if heapAfter > heap+2<<20 {
		t.Errorf("the heap grew from %d to %d bytes", heap, heapAfter)
	}
	t.Logf("%d reloads: %d goroutines before and %d after, heap %d KiB before and %d KiB after", reloads, goroutines, after, heap>>10, heapAfter>>10)
}

// reloadWithStream asks something, opens a stream, and reloads under it.
func reloadWithStream(t *testing.T, g *gateway, caddyfile []byte) {
	t.Helper()
	c := g.bearer(t, viewer("acme"))
	wantStatus(t, "ping", c.post(t, pingBody, nil), http.StatusOK)
	response := c.get(t.Context(), t, nil)
	if err := g.reload(t, caddyfile); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(response.Body) // returns when the stream has ended
}

// A stream may be given time to go on, under the rules it began with (caddy 5471,
// 5567), and then ends.
func TestAStreamMayOutliveAReload(t *testing.T) {
	events, gone := make(chan string), make(chan struct{})
	body := endpoint(allTools + "stream_close_delay 1h")
	g := startBefore(t, silentStream(events, gone), body)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	response := g.bearer(t, viewer("acme")).get(ctx, t, nil)
	if err := g.reload(t, site(body)); err != nil {
		t.Fatal(err)
	}
	const event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n"
	events <- event + "\n"
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || line != event {
		t.Errorf("after the reload the stream carries %q, %v", line, err)
	}
	cancel()
	happens(t, "the server learns that the client has gone", gone)
}

// Without a grace period Caddy waits for every request for as long as it takes
// (mercure 986): streams must end by themselves.
func TestAStopEndsOpenStreamsWithoutAGracePeriod(t *testing.T) {
	gone := make(chan struct{})
	caddyfile := strings.Replace(string(site(endpoint(allTools))), "\tgrace_period 1s\n", "", 1)
	g := start(t, stackWith([]byte(caddyfile), silentStream(nil, gone)))
	response := g.bearer(t, viewer("acme")).get(t.Context(), t, nil)
	stopped := make(chan struct{})
	go func() {
		_ = caddy.Stop()
		close(stopped)
	}()
	happens(t, "Caddy has stopped", stopped)
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Errorf("the stream does not end cleanly: %v", err)
	}
	happens(t, "the server learns that the client has gone", gone)
}

// A connection that is kept alive is served by the new configuration, its
// upstream included (cobalt 63).
func TestAKeptConnectionFollowsTheReload(t *testing.T) {
	second := pong()
	other := httptest.NewServer(second)
	defer other.Close()
	first := pong()
	g := startBefore(t, first, endpoint(allTools))
	wantStatus(t, "before", g.bearer(t, viewer("acme")).post(t, pingBody, nil), http.StatusOK)
	g.client.Transport = retrying{g.client.Transport}
	if err := g.Reload(site(strings.ReplaceAll(endpoint(allTools), "{$WORKSPACE}", strings.TrimPrefix(other.URL, "http://")))); err != nil {
		t.Fatal(err)
	}
	first.forget()
	wantStatus(t, "afterwards", g.bearer(t, viewer("acme")).post(t, pingBody, nil), http.StatusOK)
	if len(first.seen()) != 0 || len(second.seen()) != 1 {
		t.Errorf("the old server saw %d requests, the new one %d", len(first.seen()), len(second.seen()))
	}
}
