package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// With Caddy's tracing in front, the span of a request says what message it
// was, under the names of OpenTelemetry's conventions for MCP, and the server
// gets the trace context to go on with. The collector is one of OTLP over HTTP.
func TestSpansSayWhatTheMessageWas(t *testing.T) {
	var mu sync.Mutex
	var spans bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&spans, r.Body)
	}))
	defer collector.Close()
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL,
		"OTEL_BSP_SCHEDULE_DELAY": "20", "OTEL_TRACES_SAMPLER": "always_on", "OTEL_PROPAGATORS": "tracecontext",
	} {
		t.Setenv(name, value)
	}
	var parents []string
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		parents = append(parents, r.Header.Get("Traceparent"))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"call-77","error":{"code":-32042,"message":"no"}}`)
	})
	g := startBefore(t, server, "tracing\n"+endpoint(allTools))
	const trace = "0af7651916cd43dd8448eb211c80319c"
	long := strings.Repeat("x", 2000)
	wantStatus(t, "call", g.bearer(t, viewer("acme")).post(t,
		`{"jsonrpc":"2.0","id":"call-77","method":"tools/call","params":{"name":"decks.search","arguments":{"note":"`+long+`"}}}`,
		http.Header{"Traceparent": {"00-" + trace + "-b7ad6b7169203331-01"}, "Mcp-Protocol-Version": {"2025-06-18"}}), http.StatusOK)
	wants := []string{"mcp.method.name", "tools/call", "mcp.protocol.version", "2025-06-18", "jsonrpc.request.id", "call-77", "gen_ai.tool.name", "decks.search", "rpc.response.status_code", "-32042"}
	eventually(t, "the span is exported", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return bytes.Contains(spans.Bytes(), []byte("gen_ai.tool.name"))
	})
	mu.Lock()
	defer mu.Unlock()
	for _, want := range wants {
		if !bytes.Contains(spans.Bytes(), []byte(want)) {
			t.Errorf("the span does not say %q", want)
		}
	}
	if bytes.Contains(spans.Bytes(), []byte("xxxx")) {
		t.Error("arguments are in the span")
	}
	for _, parent := range parents {
		if !strings.Contains(parent, trace) || strings.Contains(parent, "b7ad6b7169203331") {
			t.Errorf("the server gets the trace context %q: not of this trace, or without the gateway's span", parent)
		}
	}
	if len(parents) == 0 {
		t.Error("the server was not asked")
	}
}
