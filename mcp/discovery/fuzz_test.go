package discovery

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// FuzzCatalog: whatever a server answers to tools/list, discovery ends with a
// class or with tools that have one name and a schema each, and keeps nothing
// of it that could not be shown.
func FuzzCatalog(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":ID,"result":`+oneTool+`}`), "application/json", 200)
	f.Add([]byte("\ufeff: c\r\nevent: message\r\ndata: {\"id\":ID,\r\ndata: \"result\":"+oneTool+"}\r\n\r\n"), "text/event-stream", 200)
	f.Add([]byte(`{"id":ID,"result":{"tools":[{"name":"a","inputSchema":{}},{"name":"a","inputSchema":{}}],"nextCursor":"x"}}`), "application/json", 200)
	f.Add([]byte(`{"id":ID,"error":{"code":-32000,"message":"\u001b[31m t0ken-of-the-caller"}}`), "application/json", 200)
	f.Add([]byte(`{"id":null,"error":{"code":-32601,"message":"?"}}`), "application/json", 404)
	f.Add([]byte("data: \r\rdata:{\"id\":ID}"), "text/event-stream; charset=utf-8", 202)
	f.Fuzz(func(t *testing.T, body []byte, contentType string, status int) {
		if status < 200 || status > 599 {
			return
		}
		engine := &Engine{ToolsOnly: true, Transport: answering(func(method string, id json.RawMessage) *http.Response {
			answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
			text := []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"supportedVersions":["2026-07-28"]}}`)
			if method == "tools/list" {
				answer.StatusCode, answer.Header = status, http.Header{"Content-Type": {contentType}}
				text = bytes.ReplaceAll(body, []byte("ID"), id)
			}
			answer.Body = io.NopCloser(bytes.NewReader(text))
			return answer
		})}
		report, err := engine.Discover(t.Context(), Target{URL: "http://server.example/mcp", Token: "t0ken-of-the-caller"})
		if err != nil {
			text := report.Failure.Error()
			if report.Failure.Class.Advice() == "" || strings.Contains(text, "t0ken-of-the-caller") || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Fatalf("%+v", report.Failure)
			}
			return
		}
		seen := make(map[string]bool)
		for _, tool := range report.Tools {
			name, ok := tool.Get("name").Text()
			if !ok || seen[name] || CheckSchema(name, tool) != nil || !json.Valid(bytes.ToValidUTF8(tool, nil)) {
				t.Errorf("tool %s", tool)
			}
			seen[name] = true
		}
	})
}

// answering is a server without a network.
type answering func(method string, id json.RawMessage) *http.Response

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	var message struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &message)
	}
	return a(message.Method, message.ID), err
}
