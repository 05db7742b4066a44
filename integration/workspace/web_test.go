package workspace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

// ask sends a request to the web API and returns status and body.
func ask(t *testing.T, endpoint string, who store.Caller, method, path, body string) (int, string) {
	t.Helper()

	req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(endpoint, Endpoint)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := (&http.Client{Transport: identified{who}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get("Cache-Control"); strings.HasPrefix(path, "/api/") && res.StatusCode == http.StatusOK && got != "private, no-store" {
		t.Errorf("%s %s: Cache-Control %q", method, path, got)
	}

	return res.StatusCode, string(text)
}

// doors are the same questions at both doors.
var doors = []struct {
	tool, arguments    string
	method, path, body string
	status             int
}{
	{"list_decks", `{}`, "GET", "/api/decks", "", 200},
	{"get_deck", `{"deckId":"roadmap"}`, "GET", "/api/decks/roadmap", "", 200},
	{"get_deck", `{"deckId":"hammock-district"}`, "GET", "/api/decks/hammock-district", "", 404},
	{"create_deck", `{"deckId":"plans","title":"Plans"}`, "POST", "/api/decks", `{"deckId":"plans","title":"Plans"}`, 200},
	{"create_deck", `{"deckId":"plans","title":"Other"}`, "POST", "/api/decks", `{"deckId":"plans","title":"Other"}`, 409},
	{"create_deck", `{"title":"x","color":"red"}`, "POST", "/api/decks", `{"title":"x","color":"red"}`, 400},
	{
		"replace_deck", `{"deckId":"roadmap","expectedRevision":9,"title":"x","columns":[]}`,
		"PUT", "/api/decks/roadmap", `{"expectedRevision":9,"title":"x","columns":[]}`, 409,
	},
	{"delete_deck", `{"deckId":"roadmap","expectedRevision":9}`, "DELETE", "/api/decks/roadmap?expectedRevision=9", "", 409},
	{"delete_deck", `{"deckId":"roadmap","expectedRevision":"x"}`, "DELETE", "/api/decks/roadmap?expectedRevision=x", "", 400},
	{"get_activity_context", `{}`, "GET", "/api/activities", "", 200},
	{
		"get_activity_context", `{"activityIds":["launch-note","nope"],"limit":5}`,
		"GET", "/api/activities?activityIds=launch-note&activityIds=nope&limit=5", "", 200,
	},
	{"get_activity_context", `{"limit":1000}`, "GET", "/api/activities?limit=1000", "", 400},
	{"get_activity_context", `{"cursor":"bm9uZQ"}`, "GET", "/api/activities?cursor=bm9uZQ", "", 400},
	{
		"publish_activities", `{"requestId":"r","expectedRevision":1,"activities":[{"activityId":"a","connectionId":"acme-main","text":"x"}]}`,
		"POST", "/api/activities", `{"requestId":"r","expectedRevision":1,"activities":[{"activityId":"a","connectionId":"acme-main","text":"x"}]}`, 200,
	},
	{
		"publish_activities", `{"requestId":"s","expectedRevision":1,"activities":[{"activityId":"a","connectionId":"acme-main","text":"y"}]}`,
		"POST", "/api/activities", `{"requestId":"s","expectedRevision":1,"activities":[{"activityId":"a","connectionId":"acme-main","text":"y"}]}`, 409,
	},
	{
		"publish_activities", `{"requestId":"t","expectedRevision":2,"activities":[{"activityId":"b","connectionId":"acme-main","text":"x","hashtags":["a b"]}]}`,
		"POST", "/api/activities", `{"requestId":"t","expectedRevision":2,"activities":[{"activityId":"b","connectionId":"acme-main","text":"x","hashtags":["a b"]}]}`, 400,
	},
	{
		"decide_activity", `{"activityId":"launch-note","expectedRevision":9,"action":"accept"}`,
		"POST", "/api/activities/launch-note/decision", `{"expectedRevision":9,"action":"accept"}`, 409,
	},
	{"list_connections", `{}`, "GET", "/api/connections", "", 200},
	{"list_lists", `{"connectionId":"acme-main"}`, "GET", "/api/connections/acme-main/lists", "", 200},
	{"list_lists", `{"connectionId":"acme-support"}`, "GET", "/api/connections/acme-support/lists", "", 409},
	{
		"fetch_posts", `{"connectionId":"acme-main","source":{"kind":"list","value":"7"}}`,
		"GET", "/api/connections/acme-main/posts?source=%7B%22kind%22:%22list%22,%22value%22:%227%22%7D", "", 200,
	},
	{"fetch_column_posts", `{"deckId":"roadmap","columnId":"skates"}`, "GET", "/api/decks/roadmap/columns/skates/posts", "", 200},
	{"search_mentions", `{"query":"rocket"}`, "GET", "/api/mentions?query=rocket", "", 200},
	{"settings.read", `{}`, "GET", "/api/settings", "", 200},
	{"settings.update", `{"set":{"language":"pt-BR","undoSeconds":2.5}}`, "PUT", "/api/settings", `{"set":{"language":"pt-BR","undoSeconds":2.5}}`, 200},
	{"settings.update", `{"set":{"language":"English"}}`, "PUT", "/api/settings", `{"set":{"language":"English"}}`, 400},
}

// Whatever is asked, the web gets what a tool gives, and a tool error is the
// refusal that the web tells.
func TestBothDoorsLeadToTheSame(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, s *Server, c *mcp.ClientSession) {
		endpoint := newWeb(t, s).URL + Endpoint
		for _, tt := range doors {
			res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: json.RawMessage(tt.arguments)})
			if err != nil {
				t.Fatal(err)
			}
			status, body := ask(t, endpoint, editor, tt.method, tt.path, tt.body)
			if status != tt.status || res.IsError != (status != 200) {
				t.Errorf("%s %s: status %d, want %d; tool error: %t\n%s", tt.method, tt.path, status, tt.status, res.IsError, body)
				continue
			}
			text := res.Content[0].(*mcp.TextContent).Text
			if res.IsError {
				text = `{"error":` + text + `}`
				var told struct{ Error store.Error }
				if err := json.Unmarshal([]byte(text), &told); err != nil || told.Error.Code == "" || told.Error.Message == "" {
					t.Errorf("%s refuses with %s", tt.tool, text)
				}
				if told.Error.Code == store.Stale && told.Error.Revision == nil {
					t.Errorf("%s: stale without the newest revision: %s", tt.tool, text)
				}
			}
			if !reflect.DeepEqual(decoded(t, text), decoded(t, body)) {
				t.Errorf("%s %s\n got  %s\n want %s", tt.method, tt.path, body, text)
			}
		}
	})
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}

	return v
}

func TestTheWebIsRefusedWhatItShouldNot(t *testing.T) {
	_, endpoint := start(t, Config{})
	base := strings.TrimSuffix(endpoint, Endpoint)

	for name, tt := range map[string]struct {
		who                store.Caller
		method, path, body string
		want               int
	}{
		"no tenant":            {store.Caller{}, "GET", "/api/decks", "", 403},
		"no tenant to watch":   {store.Caller{}, "GET", "/api/changes", "", 403},
		"no person":            {store.Caller{Tenant: "acme"}, "GET", "/api/settings", "", 403},
		"nobody decides":       {store.Caller{Tenant: "acme"}, "POST", "/api/activities/launch-note/decision", `{"expectedRevision":1,"action":"accept"}`, 403},
		"a list as body":       {editor, "POST", "/api/decks", `[]`, 400},
		"null as body":         {editor, "POST", "/api/decks", `null`, 400},
		"two values":           {editor, "POST", "/api/decks", `{} {}`, 400},
		"a large body":         {editor, "POST", "/api/decks", `{"title":"` + strings.Repeat("x", maxBody) + `"}`, 400},
		"unknown in the query": {editor, "GET", "/api/decks?tenant=globex", "", 400},
		"path beats body":      {editor, "PUT", "/api/decks/nope", `{"deckId":"roadmap","expectedRevision":1,"title":"x","columns":[]}`, 404},
		"no such path":         {editor, "GET", "/api/secrets", "", 404},
		"no such method":       {editor, "PATCH", "/api/decks", `{}`, 405},
		"purging":              {editor, "DELETE", "/api/admin/roadmap", "", 404},
	} {
		if status, body := ask(t, endpoint, tt.who, tt.method, tt.path, tt.body); status != tt.want {
			t.Errorf("%s: %d %s, want %d", name, status, body, tt.want)
		}
	}

	// What a form of another site can send is refused.
	status, _, body := post(t, base+"/api/decks", `{"title":"x"}`, map[string]string{TenantHeader: "acme", "Content-Type": "text/plain"})
	if status != http.StatusBadRequest {
		t.Errorf("text/plain: %d %s", status, body)
	}
}

func TestDecidingOverTheWeb(t *testing.T) {
	_, endpoint := start(t, Config{})
	_, body := ask(t, endpoint, editor, "POST", "/api/activities/launch-note/decision",
		`{"expectedRevision":1,"action":"edit","text":"Thursday!","hashtags":["rocketskates"]}`)
	for _, part := range []string{`"verdict":"edited"`, `"by":"ada"`, `"effective":{"text":"Thursday!","hashtags":["rocketskates"]}`} {
		if !strings.Contains(body, part) {
			t.Errorf("%s lacks %s", body, part)
		}
	}
	if _, body := ask(t, endpoint, editor, "GET", "/api/activities?activityIds=launch-note", ""); !strings.Contains(body, "Thursday!") || !strings.Contains(body, "at dawn") {
		t.Errorf("the context is %s", body)
	}
}

// listen reads a stream of changes: of each event its name, id and data.
func listen(t *testing.T, endpoint string, who store.Caller, last string) (next func() string, end func()) {
	t.Helper()

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(endpoint, Endpoint)+"/api/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := (&http.Client{Transport: identified{who}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%d %s", res.StatusCode, got)
	}

	lines := bufio.NewScanner(res.Body)

	return func() string {
		t.Helper()
		event := ""
		for lines.Scan() {
			switch line := lines.Text(); {
			case line == "" && event != "":
				return strings.TrimSpace(event)
			case line != "" && line[0] != ':':
				event += line + " "
			}
		}

		return "the end"
	}, func() { res.Body.Close() }
}

func TestTheStreamTellsChangesAndASnapshotToWhoeverComesBack(t *testing.T) {
	s, endpoint := start(t, Config{DSN: filepath.Join(t.TempDir(), "w.db")})
	next, end := listen(t, endpoint, editor, "")
	other, _ := listen(t, endpoint, globex, "")
	if got := next(); !strings.HasPrefix(got, `id: 0 event: snapshot data: {"seq":0,"missed":0,"activities":1,"decks":[`) || strings.Contains(got, "hammock") {
		t.Errorf("first %s", got)
	}
	other()

	ask(t, endpoint, editor, "POST", "/api/decks", `{"deckId":"plans","title":"Plans"}`)
	call[any](t, connect(t, endpoint, eras[1], viewer), "publish_activities", map[string]any{
		"requestId": "r", "expectedRevision": 1,
		"activities": []any{map[string]any{"activityId": "a", "connectionId": "acme-main", "text": "x"}},
	})
	for _, want := range []string{
		`id: 1 event: change data: {"seq":1,"kind":"deck","id":"plans","revision":1}`,
		`id: 2 event: change data: {"seq":2,"kind":"activities","revision":2}`,
	} {
		if got := next(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	end()

	ask(t, endpoint, editor, "DELETE", "/api/decks/plans?expectedRevision=1", "")
	next, _ = listen(t, endpoint, editor, "2")
	if got := next(); !strings.HasPrefix(got, `id: 3 event: snapshot data: {"seq":3,"missed":1,"activities":2,"decks":[`) || strings.Contains(got, "plans") {
		t.Errorf("come back: %s", got)
	}

	ask(t, endpoint, globex, "POST", "/api/decks", `{"deckId":"lunar","title":"Globex lunar"}`)
	if got := other(); !strings.Contains(got, `"seq":1`) || !strings.Contains(got, "lunar") {
		t.Errorf("globex hears %s", got)
	}

	// Closing ends the streams, or nothing could ever be closed.
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := next(); got != "the end" {
		t.Errorf("after closing: %s", got)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	s, endpoint := start(t, Config{})
	for range maxStreams {
		s.streams <- struct{}{}
	}
	if status, body := ask(t, endpoint, editor, "GET", "/api/changes", ""); status != http.StatusServiceUnavailable {
		t.Errorf("one stream too many: %d %s", status, body)
	}
	for range maxStreams {
		<-s.streams
	}
	next, _ := listen(t, endpoint, editor, fmt.Sprint(1<<40))
	if got := next(); !strings.Contains(got, "snapshot") {
		t.Errorf("got %s", got)
	}
}

// What goes wrong inside is for the log, not for the caller.
func TestFailuresTellNothing(t *testing.T) {
	s, endpoint := start(t, Config{})
	c := connect(t, endpoint, eras[1], editor)
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	if text := refused(t, c, "list_decks", nil); text != `{"code":"internal_error","message":"internal error"}` {
		t.Errorf("the tool says %s", text)
	}
	if status, body := ask(t, endpoint, editor, "GET", "/api/decks", ""); status != 500 || strings.Contains(body, "sql") {
		t.Errorf("the web says %d %s", status, body)
	}
}
