package page

import (
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// FuzzContent proves that an injected item is still JSON, and that nothing but
// the page changes.
func FuzzContent(f *testing.F) {
	f.Add(`{"uri":"ui://workspace/home","mimeType":"text/html;profile=mcp-app","text":"<head>"}`)
	f.Add(`{"uri":"ui://workspace/home","mimeType":"text/html;profile=mcp-app","text":"\u003chead\u003e\ud83d\ude00\ud83d"}`)
	f.Add(`{"uri":"ui://workspace/home","mimeType":"text/html;profile=mcp-app","blob":"PGhlYWQ+"}`)
	f.Add("{\"uri\":\"ui://workspace/home\",\"mimeType\":\"text/html;profile=mcp-app\",\"text\":\"\xff\\\"<p>\"}")
	in := injector(f, Page{Navigate: "open", Notice: "\\ \" é"})
	f.Fuzz(func(t *testing.T, src string) {
		v, err := rawjson.ParseLenient([]byte(src), 64)
		if err != nil {
			return
		}
		got, _ := in.Content(v)
		if string(got) == string(v) {
			return
		}
		again, err := rawjson.ParseLenient(got, 64)
		if err != nil {
			t.Fatalf("%s became %.300s: %v", v, got, err)
		}
		for name, member := range v.Members() {
			now := again.Get(name)
			if name != "text" && name != "blob" && string(now) != string(member) {
				t.Fatalf("member %s changed to %s", member, now)
			}
			if name == "text" && len(now)-len(member) != len(rawjson.Quote(in.rules[0].script))-2 {
				t.Fatalf("text changed by more than the script: %.300s", now)
			}
		}
	})
}

func BenchmarkContent(b *testing.B) {
	in := injector(b, Page{Navigate: "open"})
	v := pageItem(b, "<!doctype html><html><head><meta charset=utf-8></head><body><script>"+strings.Repeat("var a = \"b\";\n", 50000)+"</script>")
	b.SetBytes(int64(len(v)))
	for b.Loop() {
		in.Content(v)
	}
}
