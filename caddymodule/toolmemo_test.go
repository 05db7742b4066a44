package caddymodule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func TestDecoratedToolsAreRememberedWithinBounds(t *testing.T) {
	memo := new(toolMemo)
	often := rawjson.Value(`{"name":"often"}`)
	memo.put(often, rawjson.Value(`{"name":"often","decorated":true}`))
	filler := strings.Repeat("a", toolMemoBytes/10)
	for i := range 100 {
		tool := rawjson.Value(fmt.Sprintf(`{"name":"%d","description":"%s"}`, i, filler))
		memo.put(tool, tool)
		if got, ok := memo.get(tool); !ok || !got.Is(tool) {
			t.Fatalf("tool %d is not there", i)
		}
		if got, ok := memo.get(often); !ok || string(got) != `{"name":"often","decorated":true}` {
			t.Fatalf("after %d others: %q, %t", i+1, got, ok)
		}
		held := 0
		for tool, decorated := range memo.young {
			held += len(tool) + len(decorated)
		}
		if held != memo.bytes || held > toolMemoBytes {
			t.Fatalf("%d bytes held, %d counted, %d allowed", held, memo.bytes, toolMemoBytes)
		}
	}
	if _, ok := memo.get(rawjson.Value(fmt.Sprintf(`{"name":"%d","description":"%s"}`, 0, filler))); ok {
		t.Error("nothing is ever forgotten")
	}
	huge := rawjson.Value(`{"d":"` + strings.Repeat("a", toolMemoBytes) + `"}`)
	memo.put(huge, huge)
	if _, ok := memo.get(huge); ok {
		t.Error("a tool over the bound was kept")
	}
}
