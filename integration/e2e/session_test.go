package e2e

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestASessionWorksForItsCallerOnly(t *testing.T) {
	g := start(t, stackFor(quiet(t)))
	mine := g.caller(t, legacy, viewer("acme"))
	id := mine.header.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatal("no session")
	}
	for _, request := range g.Workspace.Requests() {
		if request.Header.Get("Mcp-Session-Id") == id {
			t.Error("the client holds the server's own session id")
		}
	}
	twoTenants := g.grant(viewer("acme"))
	twoTenants.Audience = []string{g.URL("acme"), g.URL("globex")}
	twoTenants.Claims = map[string]any{"org_id": []string{"acme", "globex"}}
	elsewhere := &caller{g.client, g.URL("globex"), legacy, http.Header{"Authorization": {"Bearer " + g.issue(t, twoTenants)}}}
	g.Workspace.ForgetCalls()
	var first *answer
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		for name, tt := range map[string]struct {
			c  *caller
			id string
		}{
			"another person's":                  {g.bearer(t, editor("acme")), id},
			"another tenant's":                  {g.bearer(t, viewer("globex")), id},
			"the same person's, other tenant":   {elsewhere, id},
			"invented":                          {g.bearer(t, viewer("acme")), "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
			"changed":                           {g.bearer(t, viewer("acme")), id[:len(id)-2] + "AA"},
			"not even a possible one":           {g.bearer(t, viewer("acme")), "x y"},
			"a cursor's place, another purpose": {g.bearer(t, viewer("acme")), strings.ToUpper(id)},
		} {
			a := tt.c.send(t, method, tt.c.url, pingBody, http.Header{"Mcp-Session-Id": {tt.id}})
			wantStatus(t, method+", "+name, a, http.StatusNotFound)
			if method == http.MethodPost {
				if first == nil {
					first = a
				}
				if string(a.body) != string(first.body) {
					t.Errorf("%s: %s, others %s", name, a, first)
				}
			}
		}
	}
	if got := g.Workspace.Requests(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
	if a := mine.call(t, "tools/list", "", nil); !a.message.Get("result").Exists() {
		t.Errorf("the caller's own session: %s", a)
	}
	// The token may be a new one.
	mine.header.Set("Authorization", "Bearer "+g.token(t, viewer("acme")))
	if a := mine.call(t, "tools/list", "", nil); !a.message.Get("result").Exists() {
		t.Errorf("with a new token: %s", a)
	}
}

// Clients begin anew on 404, and on nothing else (Kuadrant 1096).
func TestASessionThatHasEndedIsNotFound(t *testing.T) {
	g := start(t, stackFor(quiet(t)))
	c := g.caller(t, legacy, viewer("acme"))
	wantStatus(t, "DELETE", c.send(t, http.MethodDelete, c.url, "", nil), http.StatusNoContent)
	wantStatus(t, "afterwards", c.call(t, "tools/list", "", nil), http.StatusNotFound)
	wantStatus(t, "the stream afterwards", c.send(t, http.MethodGet, c.url, "", nil), http.StatusNotFound)
}

func TestModernRequestsHaveNoSession(t *testing.T) {
	server := record(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Mcp-Session-Id", "theirs")
		answerWith(200, map[string]string{"Content-Type": "application/json"}, `{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}`).ServeHTTP(w, r)
	}))
	g := startBefore(t, server, endpoint(allTools))
	c := g.caller(t, modern, viewer("acme"))
	body, header := c.message(t, "tools/list", "", nil)
	header.Set("Mcp-Session-Id", "stray")
	a := c.post(t, body, header)
	if a.status != http.StatusOK || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%s, session %q", a, a.header.Get("Mcp-Session-Id"))
	}
	if seen := server.seen(); len(seen) != 1 || seen[0].header.Get("Mcp-Session-Id") != "" {
		t.Errorf("the server saw %v", seen)
	}
}

// Servers ask their clients within sessions only, and only the client that was
// asked may answer.
func TestAClientAnswersWithinItsOwnSessionOnly(t *testing.T) {
	g := start(t, stackFor(quiet(t)))
	c := g.caller(t, legacy, viewer("acme"))
	const response = `{"jsonrpc":"2.0","id":"server-1","result":{"roots":[]}}`
	wantStatus(t, "in its session", c.post(t, response, nil), http.StatusAccepted)
	g.Workspace.ForgetCalls()
	wantStatus(t, "without one", c.post(t, response, http.Header{"Mcp-Session-Id": nil}), http.StatusBadRequest)
	wantStatus(t, "in another's", g.bearer(t, editor("acme")).post(t, response, http.Header{"Mcp-Session-Id": c.header["Mcp-Session-Id"]}), http.StatusNotFound)
	wantStatus(t, "modern", g.caller(t, modern, viewer("acme")).post(t, response, http.Header{"Mcp-Method": {"x"}}), http.StatusBadRequest)
	if got := g.Workspace.Requests(); len(got) != 0 {
		t.Errorf("%d requests reached the server", len(got))
	}
}

func TestMethodsNobodyHasThoughtAboutAreUnknown(t *testing.T) {
	g := start(t, stackFor(quiet(t)))
	for _, era := range eras {
		c := g.caller(t, era, editor("acme"))
		g.Workspace.ForgetCalls()
		methods := []string{"tools/everything", "tasks/list", "Tools/List", "tools/list/", " tools/list", "sampling/createMessage", "roots/list"}
		if era == modern {
			methods = append(methods, "initialize", "ping", "resources/subscribe", "logging/setLevel")
		} else {
			methods = append(methods, "server/discover", "subscriptions/listen")
		}
		for _, method := range methods {
			a := c.call(t, method, "", nil)
			wantStatus(t, era+" "+method, a, map[string]int{legacy: http.StatusOK, modern: http.StatusNotFound}[era], http.StatusBadRequest)
			if a.code() != "-32601" && a.code() != "-32020" {
				t.Errorf("%s %s: %s, want -32601", era, method, a)
			}
		}
		if got := g.Workspace.Requests(); len(got) != 0 {
			t.Errorf("%s: %d requests reached the server", era, len(got))
		}
	}
}

// With several servers a session stays where it began, and one caller's
// requests go to one server.
func TestSessionsStayOnTheServerWhereTheyBegan(t *testing.T) {
	second := record(serveTools(func(*http.Request) []*mcp.Tool {
		return []*mcp.Tool{{Name: "one", InputSchema: schema(`{"type":"object"}`)}}
	}))
	other := httptest.NewServer(second)
	defer other.Close()
	first := record(serveTools(func(*http.Request) []*mcp.Tool {
		return []*mcp.Tool{{Name: "one", InputSchema: schema(`{"type":"object"}`)}}
	}))
	g := startBefore(t, first, strings.Replace(endpoint(allTools), "{$WORKSPACE}", "{$WORKSPACE} "+strings.TrimPrefix(other.URL, "http://"), 1))
	used := map[*recorder]int{}
	for i := range 16 {
		first.forget()
		second.forget()
		c := g.caller(t, legacy, person{strings.Repeat("x", i+1) + "@acme", "acme", []string{"mcp.use"}})
		for range 3 {
			if a := c.call(t, "tools/list", "", nil); !a.message.Get("result").Exists() {
				t.Fatalf("%s", a)
			}
		}
		seen := []int{len(first.seen()), len(second.seen())}
		if !slices.Contains(seen, 0) {
			t.Errorf("one session was spread over both servers: %v", seen)
		}
		used[map[bool]*recorder{true: first, false: second}[seen[0] > 0]]++
	}
	if len(used) != 2 {
		t.Error("all callers went to one server")
	}
	// A lost server takes its sessions with it: the client is to begin anew.
	for i := 0; ; i++ {
		second.forget()
		c := g.caller(t, legacy, person{strings.Repeat("y", i+1) + "@acme", "acme", []string{"mcp.use"}})
		if len(second.seen()) == 0 {
			continue
		}
		other.Close()
		wantStatus(t, "after the loss", c.call(t, "tools/list", "", nil), http.StatusNotFound)
		break
	}
}
