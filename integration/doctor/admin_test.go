package doctor

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/freeport"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/doctor"
)

// TestTheAdminAPIListsWhatTheRunningConfigurationHasSeen: what an answer has
// shown stands there from then on, with its severity and fix.
func TestTheAdminAPIListsWhatTheRunningConfigurationHasSeen(t *testing.T) {
	c := start(t)
	admin, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(site, "admin off", "admin "+admin, 1)
	if err := c.Reload([]byte(strings.Replace(text, "entrypoint workspace.home global", "entrypoint list_decks global", 1))); err != nil {
		t.Fatal(err)
	}
	findings := func(query string) (int, []string) {
		response, err := http.Get("http://" + admin + "/mcp_app/findings" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		var body struct {
			Endpoints []struct {
				Endpoint string
				Findings []doctor.Finding
			}
		}
		if err := json.NewDecoder(response.Body).Decode(&body); err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%d, %v", response.StatusCode, err)
		}
		var found []string
		for _, e := range body.Endpoints {
			for _, f := range e.Findings {
				if f.Fix == "" || f.Why == "" || f.Severity == "" {
					t.Errorf("not explained: %+v", f)
				}
				found = append(found, f.ID)
			}
		}
		return len(body.Endpoints), found
	}
	if _, found := findings(""); !slices.Equal(found, []string{"state-local", "storage-local"}) {
		t.Errorf("before anything was asked: %q", found)
	}
	if _, err := c.doctorFor().Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, found := findings("?endpoint=/mcp"); n != 1 || !slices.Contains(found, "entrypoint-no-ui") {
		t.Errorf("after a list: %d, %q", n, found)
	}
	if n, _ := findings("?endpoint=/other"); n != 0 {
		t.Errorf("%d endpoints at another path", n)
	}
	request, _ := http.NewRequest(http.MethodPost, "http://"+admin+"/mcp_app/findings", http.NoBody)
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v, %v", response, err)
	}
}
