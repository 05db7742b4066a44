package rawjson_test

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// An edit leaves every other byte as it was: order, white space, spelling.
func ExampleValue_Set() {
	tool, err := rawjson.Parse([]byte(`{ "name":"cad.open",  "x-own": 1.50, "_meta":{"a":"\u00e9"} }`), 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := tool.Set(rawjson.Value(`true`), "_meta", "seen")
	fmt.Println(string(out), err)
	fmt.Println(tool.Get("no", "such", "member").Exists())
	// Output:
	// { "name":"cad.open",  "x-own": 1.50, "_meta":{"a":"\u00e9","seen":true} } <nil>
	// false
}

// A text with two meanings has none.
func ExampleParse() {
	_, err := rawjson.Parse([]byte(`{"name":"a","name":"b"}`), 8)
	fmt.Println(err != nil)
	_, err = rawjson.Parse([]byte(`[[[[1]]]]`), 3)
	fmt.Println(errors.Is(err, rawjson.ErrTooDeep))
	// Output:
	// true
	// true
}
