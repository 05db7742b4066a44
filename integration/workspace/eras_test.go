package workspace

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// post sends one raw message and returns status, headers and body.
func post(t *testing.T, endpoint, body string, header map[string]string) (int, http.Header, string) {
	t.Helper()

	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}

	return res.StatusCode, res.Header, string(text)
}

const (
	legacyInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

	modernDiscover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
)

func TestBothErasOnOneEndpoint(t *testing.T) {
	_, endpoint := start(t, Config{})

	status, header, body := post(t, endpoint, legacyInitialize, nil)
	if status != http.StatusOK || header.Get("Mcp-Session-Id") == "" || !strings.Contains(body, `"2025-11-25"`) {
		t.Errorf("initialize: %d, session %q, %s", status, header.Get("Mcp-Session-Id"), body)
	}

	status, header, body = post(t, endpoint, modernDiscover, map[string]string{
		versionHeader: "2026-07-28", "Mcp-Method": "server/discover",
	})
	if status != http.StatusOK || header.Get("Mcp-Session-Id") != "" ||
		!strings.Contains(body, `"2026-07-28"`) || !strings.Contains(body, `"2025-11-25"`) {
		t.Errorf("discover: %d, session %q, %s", status, header.Get("Mcp-Session-Id"), body)
	}

	// Without the header the modern era must answer with its own error: clients
	// of both eras take anything else for a server of the old one.
	status, _, body = post(t, endpoint, modernDiscover, nil)
	if status != http.StatusBadRequest || !strings.Contains(body, "-32020") {
		t.Errorf("discover without header: %d %s", status, body)
	}
}

func TestAnswersAsConfigured(t *testing.T) {
	for json, want := range map[bool]string{true: "application/json", false: "text/event-stream"} {
		_, endpoint := start(t, Config{JSON: json})
		for name, try := range map[string]struct {
			body   string
			header map[string]string
		}{
			"legacy": {legacyInitialize, nil},
			"modern": {modernDiscover, map[string]string{versionHeader: "2026-07-28", "Mcp-Method": "server/discover"}},
		} {
			if _, header, _ := post(t, endpoint, try.body, try.header); header.Get("Content-Type") != want {
				t.Errorf("%s: %q, want %q", name, header.Get("Content-Type"), want)
			}
		}
	}
}

// Identity belongs to the request: a session opened by one tenant must not lend
// its tenant to later requests.
func TestIdentityIsReadOnEachRequest(t *testing.T) {
	_, endpoint := start(t, Config{})
	_, header, _ := post(t, endpoint, legacyInitialize, map[string]string{TenantHeader: "acme"})
	session := map[string]string{"Mcp-Session-Id": header.Get("Mcp-Session-Id"), versionHeader: "2025-11-25"}
	post(t, endpoint, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session)

	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_decks","arguments":{}}}`
	if _, _, body := post(t, endpoint, list, session); !strings.Contains(body, "no tenant") {
		t.Errorf("without a tenant of its own a request got %s", body)
	}

	session[TenantHeader] = "globex"
	if _, _, body := post(t, endpoint, list, session); !strings.Contains(body, "Globex") || strings.Contains(body, "Acme") {
		t.Errorf("globex got %s", body)
	}
}

func TestRepeatedIdentityIsRefused(t *testing.T) {
	h := http.Header{TenantHeader: {"acme", "globex"}}
	if who, err := callerOf(h); err == nil {
		t.Errorf("two tenants made caller %v", who)
	}

	h = http.Header{TenantHeader: {"acme"}, SubjectHeader: {"ada", "eve"}}
	if who, err := callerOf(h); err == nil {
		t.Errorf("two subjects made caller %v", who)
	}
}

func TestForeignHostIsRefusedOnLoopback(t *testing.T) {
	_, endpoint := start(t, Config{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(legacyInitialize))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.example"

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign host gives %d", res.StatusCode)
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	s, endpoint := start(t, Config{})
	for _, path := range []string{"/", "/mcp/", "/MCP", "/mcp/x"} {
		status, _, _ := post(t, strings.TrimSuffix(endpoint, Endpoint)+path, legacyInitialize, nil)
		if status != http.StatusNotFound {
			t.Errorf("%s gives %d", path, status)
		}
	}
	if got := len(s.Requests()); got != 4 {
		t.Errorf("%d requests recorded, want 4", got)
	}
}

func TestCallsAreRecorded(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, s *Server, c *mcp.ClientSession) {
		call[any](t, c, "create_deck", map[string]any{"title": "Seen"})
		if _, err := tryCall[any](t.Context(), c, "no_such_tool", nil); err == nil {
			t.Error("an unknown tool answered")
		}

		calls := s.Calls()
		if len(calls) != 2 {
			t.Fatalf("%d calls recorded, want 2", len(calls))
		}
		first := calls[0]
		if first.Tool != "create_deck" || first.Tenant != "acme" || first.Subject != "ada" ||
			string(first.Arguments) != `{"title":"Seen"}` || first.Header.Get("User-Agent") == "" {
			t.Errorf("recorded %+v", first)
		}
		if calls[1].Tool != "no_such_tool" {
			t.Errorf("recorded %+v", calls[1])
		}

		last := s.Requests()[len(s.Requests())-1]
		if last.RPC != "tools/call" || last.Path != Endpoint || last.Host == "" {
			t.Errorf("recorded %+v", last)
		}

		s.ForgetCalls()
		if len(s.Calls()) != 0 || len(s.Requests()) != 0 {
			t.Error("the records were not emptied")
		}
	})
}

func TestRecordKeepsTheNewest(t *testing.T) {
	var r ring[int]
	for i := range maxRecorded + 3 {
		r.add(i)
	}

	all := r.all()
	if len(all) != maxRecorded || all[0] != 3 || all[maxRecorded-1] != maxRecorded+2 {
		t.Errorf("%d entries from %d to %d", len(all), all[0], all[len(all)-1])
	}
}

func TestPagesOfLists(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			_, endpoint := start(t, Config{PageSize: 3})
			c := connect(t, endpoint, era, editor)

			res, err := c.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Tools) != 3 || res.NextCursor == "" {
				t.Errorf("first page has %d tools and cursor %q", len(res.Tools), res.NextCursor)
			}
		})
	}
}
