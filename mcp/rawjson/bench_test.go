package rawjson

import (
	"fmt"
	"strings"
	"testing"
)

// benchTools is a list of tools as servers send them, about 500 bytes each.
func benchTools(count int) []byte {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"tools":[`)
	for i := range count {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"group.tool%04d","title":"Tool %d","description":"%s","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://bench/page"}}}`, i, i, strings.Repeat("words ", 40))
	}
	b.WriteString(`]}}`)
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	for name, src := range map[string][]byte{
		"call_0.5KB": []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("a", 300) + `"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`),
		"list_1MB":   benchTools(2000),
		"text_5MB":   []byte(`"` + strings.Repeat("a", 5_000_000) + `"`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseLenient(src, 64); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkElements(b *testing.B) {
	v, err := Parse(benchTools(2000), 64)
	if err != nil {
		b.Fatal(err)
	}
	tools := v.Get("result", "tools")
	b.SetBytes(int64(len(tools)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range tools.Elements() {
			n++
		}
		if n != 2000 {
			b.Fatal(n)
		}
	}
}
