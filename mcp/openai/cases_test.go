package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// A behaviourCase is one line of testdata/cases.json: an input of one feature
// that must be accepted or refused.
type behaviourCase struct {
	Feature string
	Name    string
	Input   json.RawMessage
	Expect  string
	Why     string
}

// notFollowed lists the cases whose expectation does not hold here, each with
// the reason. They are still run, and must go the other way.
var notFollowed = map[string]string{
	"entrypoint/metadata already there": "what the server declares is merged with, not refused: one tool may have several entrypoints",
}

// runCases runs all cases of a feature through accepts, which answers nil for
// "accepted".
func runCases(t *testing.T, feature string, accepts func(t *testing.T, input rawjson.Value) error) {
	t.Helper()
	src, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []behaviourCase
	if err := json.Unmarshal(src, &cases); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range cases {
		if c.Feature != feature {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			want := c.Expect == "accept"
			if reason, other := notFollowed[feature+"/"+c.Name]; other {
				t.Logf("not followed: %s", reason)
				want = !want
			}
			err := accepts(t, expand(t, c.Input))
			if got := err == nil; got != want {
				t.Errorf("accepted %v, want %v (%s): %v", got, want, c.Why, err)
			}
		})
	}
	if ran == 0 {
		t.Fatalf("no cases of %s", feature)
	}
}

// expand replaces the generators of the case file by what they stand for.
func expand(t *testing.T, src json.RawMessage) rawjson.Value {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(generate(v))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(out))
}

func generate(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = generate(v[i])
		}
	case map[string]any:
		count := 0
		if n, ok := v["count"].(json.Number); ok {
			c, _ := n.Int64()
			count = int(c)
		}
		if s, ok := v["$repeat"].(string); ok {
			return strings.Repeat(s, count)
		}
		if parts, ok := v["$concat"].([]any); ok {
			var b strings.Builder
			for _, part := range parts {
				b.WriteString(generate(part).(string))
			}
			return b.String()
		}
		if n, ok := v["$nest"].(json.Number); ok {
			levels, _ := n.Int64()
			var nested any
			for range levels {
				nested = map[string]any{"a": nested}
			}
			return nested
		}
		if element, ok := v["$array"]; ok {
			list := make([]any, count)
			for i := range list {
				list[i] = element
			}
			return list
		}
		if prefix, ok := v["$object"].(string); ok {
			object := make(map[string]any, count)
			for i := range count {
				object[fmt.Sprint(prefix, i)] = v["value"]
			}
			return object
		}
		for name := range v {
			v[name] = generate(v[name])
		}
	}
	return v
}

// parse reads JSON that a test is sure of.
func parse(t testing.TB, src string) rawjson.Value {
	t.Helper()
	v, err := rawjson.Parse([]byte(src), 64)
	if err != nil {
		t.Fatalf("parsing %s: %v", src, err)
	}
	return v
}

// compile makes an overlay of declarations that a test is sure of.
func compile(t testing.TB, d Declarations) *Overlay {
	t.Helper()
	o, err := Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// tools is a catalog of literal tools.
type tools map[string]string

func (c tools) Tool(name string) (rawjson.Value, bool) {
	src, ok := c[name]
	return rawjson.Value(src), ok
}

// codes lists the codes of findings.
func codes(list []Finding) string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.Code
	}
	return strings.Join(names, " ")
}
