package caddymodule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func TestAListIsRememberedToTheByteAndUnderItsKeyOnly(t *testing.T) {
	const original, rewritten = `{"jsonrpc":"2.0","id":1,"result":{"tools":[1,2]}}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[2]}}`
	key := listKey{view: "editor"}
	memo := new(listMemo)
	memo.put(key, []byte(original), []byte(rewritten), rawjson.Value("1"))
	for _, tt := range []struct {
		name, message, id string
		key               listKey
		want              string
	}{
		{"the same", original, "1", key, rewritten},
		{"another id", strings.Replace(original, `"id":1`, `"id":"a-23"`, 1), `"a-23"`, key, strings.Replace(rewritten, `"id":1`, `"id":"a-23"`, 1)},
		{"the answer to somebody else", original, "2", key, ""},
		{"another caller", original, "1", listKey{view: "viewer"}, ""},
		{"a byte before the id", strings.Replace(original, "2.0", "2.1", 1), "1", key, ""},
		{"a byte behind the id", strings.Replace(original, "[1,2]", "[1,3]", 1), "1", key, ""},
		{"more bytes", original + " ", "1", key, ""},
		{"fewer bytes", original[:len(original)-1], "1", key, ""},
		{"cut off in the id", original[:20], "1", key, ""},
	} {
		got, ok := memo.get(tt.key, []byte(tt.message), rawjson.Value(tt.id))
		if string(got) != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: got %q, %t, want %q", tt.name, got, ok, tt.want)
		}
	}
}

func TestRememberedListsAreBounded(t *testing.T) {
	memo := new(listMemo)
	list := `{"id":1,"result":"` + strings.Repeat("a", listMemoBytes/16) + `"}`
	for i := range 100 {
		memo.put(listKey{view: fmt.Sprint(i)}, []byte(list), []byte(list), rawjson.Value("1"))
		held := 0
		for _, l := range memo.lists {
			held += l.size()
		}
		if held != memo.bytes || held > listMemoBytes {
			t.Fatalf("after %d lists: %d bytes held, %d counted, %d allowed", i+1, held, memo.bytes, listMemoBytes)
		}
	}
	if len(memo.lists) < 4 {
		t.Errorf("only %d lists are kept", len(memo.lists))
	}
	huge := `{"id":1,"result":"` + strings.Repeat("a", listMemoBytes) + `"}`
	memo.put(listKey{view: "huge"}, []byte(huge), []byte(huge), rawjson.Value("1"))
	if _, ok := memo.get(listKey{view: "huge"}, []byte(huge), rawjson.Value("1")); ok {
		t.Error("a list over the bound was kept")
	}
}
