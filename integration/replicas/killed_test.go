package replicas

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

// Whatever a replica has acknowledged is known to the others, also when it is
// killed right after.
func TestAKilledReplicaTakesNothingWithIt(t *testing.T) {
	redis := statetest.StartRedis(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`)
	}))
	t.Cleanup(server.Close)
	upstream := strings.TrimPrefix(server.URL, "http://")
	survivor := start(t, upstream, redis.URL, open)
	for round := range 3 {
		killed := start(t, upstream, redis.URL, open)
		var ids []string
		for range 5 {
			ids = append(ids, killed.register(t, `{"endpoint":"/mcp","tools":["search"]}`))
		}
		for range 5 { // of twelve
			if status := killed.call(t, ids[0]); status != http.StatusOK {
				t.Fatalf("a call under a new registration: %d", status)
			}
		}
		if err := killed.process.Kill(); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			if status := survivor.call(t, id); status != http.StatusOK {
				t.Errorf("round %d: registration %d is lost: %d", round, i, status)
			}
		}
		left := 0
		for survivor.call(t, ids[0]) == http.StatusOK {
			left++
		}
		if left != 6 {
			t.Errorf("round %d: %d calls were left, want 6: what was counted is lost", round, left)
		}
	}
}

// Without waiting for streams that never end by themselves.
func TestAReplicaWithOpenStreamsStopsWhenItIsTold(t *testing.T) {
	redis := statetest.StartRedis(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	r := start(t, strings.TrimPrefix(server.URL, "http://"), redis.URL, open)
	ended := make(chan error, 5)
	for range cap(ended) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "text/event-stream")
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(err, response)
		}
		go func() {
			_, err := io.Copy(io.Discard, response.Body)
			ended <- err
			_ = response.Body.Close()
		}()
	}
	if err := r.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range cap(ended) {
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("a stream does not end cleanly: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("a stream is still open")
		}
	}
	statetest.Eventually(t, "the process has ended", func() bool {
		_, err := http.DefaultClient.Get(r.url)
		return err != nil
	})
}
