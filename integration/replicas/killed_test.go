package replicas

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
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
	select {
	case <-r.exited:
	case <-time.After(patience): // four times its grace period
		t.Error("the process goes on")
	}
}

// Under traffic, at no moment in particular: whatever was acknowledged until then
// is known to the others, and no more calls are left than were counted.
func TestAReplicaMayBeKilledAtAnyMoment(t *testing.T) {
	redis := statetest.StartRedis(t)
	server := httptest.NewServer(http.HandlerFunc(openOrAnswer))
	t.Cleanup(server.Close)
	upstream := strings.TrimPrefix(server.URL, "http://")
	survivor := start(t, upstream, redis.URL, open)
	total := 0
	for range 5 {
		killed := start(t, upstream, redis.URL, open)
		counted := killed.register(t, `{"endpoint":"/mcp","tools":["search"],"max_calls":200}`)
		var calls atomic.Int64
		var mu sync.Mutex
		var made []string
		var traffic sync.WaitGroup
		for range 4 {
			traffic.Go(func() {
				for {
					id, ok := tryRegister(killed.admin)
					if !ok {
						return
					}
					mu.Lock()
					made = append(made, id)
					mu.Unlock()
				}
			})
			traffic.Go(func() {
				for tryCall(killed.url + "?registration=" + counted) {
					calls.Add(1)
				}
			})
		}
		time.Sleep(time.Duration(50+rand.IntN(250)) * time.Millisecond)
		if err := killed.process.Kill(); err != nil {
			t.Fatal(err)
		}
		traffic.Wait()
		total += len(made)
		for _, id := range made {
			if status := survivor.call(t, id); status != http.StatusOK {
				t.Errorf("an acknowledged registration is lost: %d", status)
			}
		}
		left := int64(0)
		for status := http.StatusOK; status != http.StatusNotFound; {
			if status = survivor.call(t, counted); status == http.StatusOK {
				left++
			}
		}
		// A call that was counted and whose answer was lost is no call too many.
		if calls.Load()+left > 200 || calls.Load()+left < 200-4 {
			t.Errorf("%d calls were answered and %d are left, of 200", calls.Load(), left)
		}
	}
	if total == 0 {
		t.Error("nothing was acknowledged in any round")
	}
	t.Logf("%d registrations were acknowledged by replicas that were killed", total)
}

// tryRegister makes a registration at a replica that may be gone.
func tryRegister(admin *http.Client) (id string, ok bool) {
	resp, err := admin.Post("http://admin/mcp_app/registrations", "application/json", strings.NewReader(`{"endpoint":"/mcp","tools":["search"]}`))
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	var answer struct{ ID string }
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return answer.ID, err == nil && resp.StatusCode == http.StatusCreated
}

// tryCall calls the tool at a replica that may be gone.
func tryCall(url string) bool {
	request, err := modernRequest(context.Background(), url, "", "tools/call", "search")
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}
