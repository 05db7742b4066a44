package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
)

// A failure has a class with advice, and the report holds the evidence.
func ExampleEngine_Discover() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		result := `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"decks","version":"1"}}}`
		if strings.Contains(string(body), `"tools/list"`) {
			result = `{"tools":[{"name":"list_decks","inputSchema":{"type":"object"}}]}`
		}
		_, id, _ := strings.Cut(string(body), `"id":`)
		id = id[:strings.IndexAny(id, ",}")]
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":`+result+`}`)
	}))
	defer server.Close()

	var engine discovery.Engine
	report, err := engine.Discover(context.Background(), discovery.Target{URL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	name, _ := report.Server()
	fmt.Println(name, report.Era, len(report.Tools), report.ToolsComplete)

	server.Close()
	_, err = engine.Discover(context.Background(), discovery.Target{URL: server.URL})
	if failure, ok := errors.AsType[*discovery.Error](err); ok {
		fmt.Println(failure.Class)
	}
	// Output:
	// decks modern 1 true
	// unreachable
}
