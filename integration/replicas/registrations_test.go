package replicas

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state/statetest"
)

func TestReplicasAgreeAboutRegistrations(t *testing.T) {
	redis := statetest.StartRedis(t)
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		if strings.Contains(r.URL.RawQuery, "reg") {
			t.Errorf("the server sees the query %q", r.URL.RawQuery)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`)
	}))
	t.Cleanup(server.Close)
	upstream := strings.TrimPrefix(server.URL, "http://")
	replicas := []*replica{start(t, upstream, redis.URL, open), start(t, upstream, redis.URL, open)}

	id := replicas[0].register(t, `{"endpoint":"/mcp","tools":["search"]}`)
	var allowed, refused atomic.Int32
	var group sync.WaitGroup
	for i := range 30 {
		group.Go(func() {
			switch status := replicas[i%2].call(t, id); status {
			case http.StatusOK:
				allowed.Add(1)
			case http.StatusNotFound:
				refused.Add(1)
			default:
				t.Errorf("status %d", status)
			}
		})
	}
	group.Wait()
	if allowed.Load() != 12 || refused.Load() != 18 || reached.Load() != 12 {
		t.Errorf("%d calls allowed, %d refused, %d at the server; want 12, 18, 12", allowed.Load(), refused.Load(), reached.Load())
	}
	short := replicas[0].register(t, `{"endpoint":"/mcp","tools":["search"],"ttl":"2s"}`)
	for i, r := range replicas {
		if status := r.call(t, id); status != http.StatusNotFound {
			t.Errorf("replica %d, the 13th call: %d", i, status)
		}
		if status := r.call(t, short); status != http.StatusOK {
			t.Errorf("replica %d, before the expiry: %d", i, status)
		}
	}
	for i, r := range replicas {
		statetest.Eventually(t, fmt.Sprint("the expiry at replica ", i), func() bool { return r.call(t, short) == http.StatusNotFound })
	}
	redis.Stop()
	for i, r := range replicas {
		if status := r.call(t, id); status != http.StatusServiceUnavailable {
			t.Errorf("replica %d without Redis: %d", i, status)
		}
	}
}
