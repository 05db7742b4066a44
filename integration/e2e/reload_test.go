package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A reload returns at once although streams are open, and ends them so that
// clients take up the new policy (caddy 3818, 5471, opnsense 3934).
func TestAReloadEndsOpenStreamsCleanly(t *testing.T) {
	gone := make(chan struct{})
	g := startBefore(t, silentStream(nil, gone), endpoint(allTools))
	c := g.bearer(t, viewer("acme"))
	response := c.get(t.Context(), t, nil)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	if err := g.Reload(site(endpoint(strings.Replace(allTools, "tool *", "tool other", 1)))); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(response.Body) // returns when the stream has ended
	if err != nil || len(rest) != 0 {
		t.Errorf("the stream ends with %q, %v, want a clean end", rest, err)
	}
	happens(t, "the server learns that the client has gone", gone)
}

// A configuration that does not load leaves the one before it serving.
func TestABadConfigurationLeavesTheGoodOneServing(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools))
	for _, bad := range []string{
		endpoint("policy {\n\ttool a*\n\ttool *a\n}"),
		strings.Replace(endpoint(allTools), "claim org_id", "", 1),
		strings.Replace(endpoint(allTools), "{$WORKSPACE}", "http://{$WORKSPACE} https://{$WORKSPACE}", 1),
	} {
		if err := g.reload(t, site(bad)); err == nil {
			t.Errorf("loaded:\n%s", bad)
		}
		wantStatus(t, "afterwards", g.bearer(t, viewer("acme")).post(t, pingBody, nil), http.StatusOK)
	}
}
