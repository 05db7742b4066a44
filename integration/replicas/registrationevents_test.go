package replicas

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

// patience bounds every wait; nothing takes that long unless it is broken.
const patience = 20 * time.Second

// openOrAnswer keeps GET streams open, and answers every call.
func openOrAnswer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`)
}

type progress struct {
	event string
	Calls int64  `json:"calls"`
	Ended string `json:"ended"`
}

// events follows a registration at a replica. The channel is closed where the
// stream ends.
func (r *replica) events(t *testing.T, id string) <-chan progress {
	t.Helper()
	response := get(t, r.admin, "http://admin/mcp_app/registrations/"+id+"/events")
	told := make(chan progress, 100)
	go func() {
		defer close(told)
		lines, p := bufio.NewScanner(response.Body), progress{}
		for lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "event":
				p = progress{event: value}
			case "data":
				if json.Unmarshal([]byte(value), &p) == nil {
					told <- p
				}
			}
		}
	}()
	return told
}

// get opens a stream that ends with the test, or when nothing ends it.
func get(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", url, response.Status)
	}
	return response
}

func (r *replica) end(t *testing.T, id string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://admin/mcp_app/registrations/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := r.admin.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("DELETE: %s", response.Status)
	}
}

// Whatever is counted or ended at one replica is told by the events of the
// other, whose streams and clients end with the registration and no earlier.
func TestProgressIsToldByTheOtherReplica(t *testing.T) {
	redis := statetest.StartRedis(t)
	server := httptest.NewServer(http.HandlerFunc(openOrAnswer))
	t.Cleanup(server.Close)
	upstream := strings.TrimPrefix(server.URL, "http://")
	here, there := start(t, upstream, redis.URL, open), start(t, upstream, redis.URL, open)

	next := func(t *testing.T, told <-chan progress) progress {
		t.Helper()
		p, ok := <-told // the stream itself has a deadline
		if !ok {
			t.Fatal("the stream has ended")
		}
		return p
	}
	// ends reads on to the end, and returns what was counted until then.
	ends := func(t *testing.T, told <-chan progress, reason string) (counted []int64) {
		t.Helper()
		for {
			p := next(t, told)
			counted = append(counted, p.Calls)
			if p.event != "end" {
				continue
			}
			if _, more := <-told; more || p.Ended != reason {
				t.Errorf("the end is %+v, and more after it: %v; want %s", p, more, reason)
			}
			return counted
		}
	}
	for _, tt := range []struct {
		reason string
		more   string
		end    func(t *testing.T, id string)
		calls  int64
	}{
		{registration.Completed, `,"max_calls":5`, func(t *testing.T, id string) {
			t.Helper()
			for range 2 {
				if status := here.call(t, id); status != http.StatusOK {
					t.Errorf("status %d", status)
				}
			}
		}, 5},
		{registration.Deleted, `,"max_calls":5`, func(t *testing.T, id string) { t.Helper(); here.end(t, id) }, 3},
		{registration.Expired, `,"ttl":"4s"`, func(*testing.T, string) {}, 3},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			id := here.register(t, `{"endpoint":"/mcp","tools":["search"]`+tt.more+`}`)
			expires := time.Now().Add(4 * time.Second)
			told := there.events(t, id)
			if p := next(t, told); p.event != "progress" || p.Calls != 0 {
				t.Errorf("the stream begins with %+v", p)
			}
			client := get(t, http.DefaultClient, there.url+"?registration="+id)
			closed := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, client.Body)
				closed <- err
			}()
			for want := range int64(3) {
				if status := here.call(t, id); status != http.StatusOK {
					t.Fatalf("status %d", status)
				}
				if p := next(t, told); p.event != "progress" || p.Calls != want+1 {
					t.Errorf("after call %d: %+v", want+1, p)
				}
			}
			select {
			case err := <-closed:
				t.Errorf("the client's stream has ended before the registration: %v", err)
			default:
			}
			tt.end(t, id)
			counted := ends(t, told, tt.reason)
			if last := counted[len(counted)-1]; last != tt.calls || !slices.IsSorted(counted) {
				t.Errorf("counted %d, want %d in the end", counted, tt.calls)
			}
			if tt.reason == registration.Expired && time.Now().Before(expires.Add(-time.Second)) {
				t.Error("the end is told before its time")
			}
			select {
			case err := <-closed:
				if err != nil {
					t.Errorf("the client's stream does not end cleanly: %v", err)
				}
			case <-time.After(patience):
				t.Error("the client's stream goes on")
			}
			for _, r := range []*replica{here, there} {
				if status := r.call(t, id); status != http.StatusNotFound {
					t.Errorf("afterwards: %d", status)
				}
			}
		})
	}
}
