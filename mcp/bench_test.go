package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// BenchmarkRead reads a tool call of half a kilobyte.
func BenchmarkRead(b *testing.B) {
	body := []byte(`{"jsonrpc":"2.0","id":100000000001,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("a", 200) +
		`"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{}}}}}`)
	h := http.Header{HeaderVersion: {"2026-07-28"}, HeaderMethod: {"tools/call"}, HeaderName: {"echo"}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Reader{}).Read(h, body); err != nil {
			b.Fatal(err)
		}
	}
}

type showEven struct{}

func (showEven) ShowsTool(name string) bool                            { return strings.HasPrefix(name, "visible.") }
func (showEven) ShowsPrompt(string) bool                               { return true }
func (showEven) ShowsResource(string) bool                             { return true }
func (showEven) ShowsTemplate(string) bool                             { return true }
func (showEven) Tool(t rawjson.Value) rawjson.Value                    { return t }
func (showEven) Entry(e rawjson.Value) rawjson.Value                   { return e }
func (showEven) Content(c rawjson.Value) rawjson.Value                 { return c }
func (showEven) Result(r rawjson.Value) (rawjson.Value, error)         { return r, nil }
func (showEven) Task(_ string, v rawjson.Value) (rawjson.Value, error) { return v, nil }
func (showEven) Capabilities(_ Era, c rawjson.Value) rawjson.Value     { return c }

// BenchmarkMessage filters results: a small one of a call, one of 5 MB, and a
// list of 2,000 tools of which half are hidden.
func BenchmarkMessage(b *testing.B) {
	var list strings.Builder
	list.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`)
	for i := range 2000 {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"name":"%s.tool%04d","title":"Tool %d","description":"%s","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://bench/page"}}}`,
			[]string{"visible", "hidden"}[i%2], i, i, strings.Repeat("words ", 40))
	}
	list.WriteString(`]}}`)
	call := func(size int) string {
		return `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"` + strings.Repeat("a", size) + `"}]}}`
	}
	for _, c := range []struct{ name, message string }{{"call_0.5KB", call(300)}, {"call_5MB", call(5_000_000)}, {"list_1MB", list.String()}} {
		b.Run(c.name, func(b *testing.B) {
			w := Rewriter{Era: Modern, Shower: showEven{}, Decorate: showEven{}, Content: true}
			message := []byte(c.message)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Message(message); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
