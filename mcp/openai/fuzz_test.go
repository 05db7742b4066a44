package openai

import (
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// FuzzSettings proves that a schema and values accepted here are accepted by a
// validator of all JSON Schema, so that no host will refuse what we let pass.
func FuzzSettings(f *testing.F) {
	seed := func(schema, values string) { f.Add([]byte(schema), []byte(values)) }
	seed(`{"type":"object","properties":{"a":{"type":"boolean","title":"On"}},"required":["a"],"additionalProperties":false}`, `{"a":true}`)
	seed(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"u":{"type":"string","title":"U","enum":["kg","lb"],"minLength":1,"maxLength":3,"pattern":"^[a-z]+$"}}}`, `{"u":"kg"}`)
	seed(`{"type":"object","properties":{"n":{"type":"integer","title":"N","minimum":-1.5,"maximum":1e3,"multipleOf":2},"r":{"type":"number","title":"R","default":[]}}}`, `{"n":4,"r":1e-7}`)
	seed(`{"type":"object","title":"T","properties":{"":{"type":"number","title":"R","examples":[1],"x-a":null,"deprecated":true}}}`, `{"\u0000":5.0}`)
	f.Fuzz(func(t *testing.T, schemaText, valuesText []byte) {
		raw, err1 := rawjson.Parse(schemaText, 64)
		values, err2 := rawjson.Parse(valuesText, 64)
		if err1 != nil || err2 != nil {
			return
		}
		schema, err := plain.SettingsSchema(raw)
		if err != nil || schema.Check(values, false) != nil {
			return
		}
		if err := schema.Check(values, true); err != nil {
			t.Fatalf("complete values are no partial ones: %v", err)
		}
		var reference jsonschema.Schema
		if err := json.Unmarshal(raw, &reference); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		reference.Schema = "" // the reference knows fewer dialects
		var instance map[string]any
		if err := json.Unmarshal(values, &instance); err != nil {
			t.Fatalf("%s: %v", values, err)
		}
		for name, property := range reference.Properties {
			// The reference divides doubles; we take decimals exactly, and
			// agree with it where both are integers.
			n, isNumber := instance[name].(float64)
			if m := property.MultipleOf; isNumber && m != nil && (*m != math.Trunc(*m) || n != math.Trunc(n)) {
				property.MultipleOf = nil
			}
		}
		resolved, err := reference.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if err := resolved.Validate(instance); err != nil {
			t.Fatalf("%s against %s: %v", values, raw, err)
		}
	})
}

// FuzzMentionItems proves that accepted items are few, small, closed and
// without addresses that carry script, and that sealing them is undone exactly
// by the same caller and by nobody else.
func FuzzMentionItems(f *testing.F) {
	f.Add([]byte(`[{"type":"resource_link","uri":"acme://orders/9f2#x","name":"order-9","title":"Order 9","size":3,"icons":[{"src":"https://cdn.example/i.png","sizes":["any"]}]}]`))
	f.Add([]byte(`[{"type":"resource","resourceUri":"acme://orders/9f2","title":"Order 9","subtitle":"Open"},{"type":"resource","resourceUri":"a:#mcp-app-seal=AAAAAAAAAAAAAAAAAAAAAA","title":"T"}]`))
	f.Add([]byte(`[{"type":"resource_link","uri":"java\tscript:x","name":"n"}]`))
	o := sure(Compile(Declarations{Mentions: &Mentions{SearchTool: "s", BindHandles: []string{"*"}}}))
	mine, other := o.Handles([]byte("key"), []byte("me")), o.Handles([]byte("key"), []byte("you"))
	f.Fuzz(func(t *testing.T, src []byte) {
		items, err := rawjson.Parse(src, 64)
		if err != nil || o.MentionItems(items) != nil {
			return
		}
		if items.Len() > 25 || len(items) > 64<<10 {
			t.Fatalf("%d items in %d bytes", items.Len(), len(items))
		}
		for item := range items.Elements() {
			for _, name := range []string{"uri", "resourceUri"} {
				handle, ok := item.Get(name).Text()
				if !ok {
					continue
				}
				lower := strings.ToLower(handle)
				if strings.HasPrefix(lower, "javascript:") || strings.HasPrefix(lower, "data:") || strings.ContainsAny(handle, "\x00\t\r\n ") || len(handle) > 2048 {
					t.Fatalf("handle %q accepted", handle)
				}
				sealed := mine.Seal(handle)
				if opened, err := mine.Open(sealed); err != nil || opened != handle {
					t.Fatalf("Open(Seal(%q)) = %q, %v", handle, opened, err)
				}
				if _, err := other.Open(sealed); err == nil {
					t.Fatalf("another caller opened %q", sealed)
				}
			}
		}
	})
}

// FuzzOrigins proves that an accepted origin is one to a URL parser as well,
// and holds nothing that could end or extend a policy.
func FuzzOrigins(f *testing.F) {
	for _, seed := range []string{"https://api.example.com", "wss://*.example.com:8443", "http://127.0.0.1:3000", "http://[::1]", "https://a;b", "https://xn--tst-qla.example", "*", "https://1.2.3.4.5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, origin string) {
		for _, member := range cspMembers {
			if checkOrigin(origin, member.rule) != nil {
				continue
			}
			u, err := url.Parse(origin)
			if err != nil {
				t.Fatalf("%q: %v", origin, err)
			}
			if u.Scheme+"://"+u.Host != origin || u.User != nil || u.Hostname() == "" || strings.ToLower(origin) != origin {
				t.Fatalf("%q parses as %+v", origin, u)
			}
			if strings.ContainsAny(origin, " ;,'\"\\<>\t\r\n%@?#") || strings.Contains(u.Hostname(), "/") {
				t.Fatalf("%q holds more than an origin", origin)
			}
			if strings.Contains(origin, "*") && (!member.rule.wildcard || strings.Count(origin, "*") != 1 || !strings.HasPrefix(u.Host, "*.")) {
				t.Fatalf("wildcard in %q", origin)
			}
			if !slices.Contains(member.rule.schemes, u.Scheme) && u.Scheme != "http" && u.Scheme != "ws" {
				t.Fatalf("scheme of %q", origin)
			}
		}
	})
}

// FuzzOverlay proves that any message survives every declaration: the result is
// JSON, a second time changes nothing, and members that no declaration is about
// keep their bytes.
func FuzzOverlay(f *testing.F) {
	yes := true
	action := &QuickAction{Title: "New", Icons: []Icon{{Src: "https://cdn.example/new.svg"}}, Tool: "create"}
	o := sure(Compile(Declarations{
		Entrypoints: []Entrypoint{{Tool: "t", Type: "global", Title: "T", QuickAction: action}, {Tool: "t", Type: "file", Extensions: []string{".stl"}}},
		Display:     []Display{{URI: "ui://*", Prefer: "fullscreen"}},
		Settings:    &Settings{ReadTool: "t", UpdateTool: "u"},
		Mentions:    &Mentions{SearchTool: "t"},
		Tools:       []Tool{{Name: "*", ReadOnly: &yes, Invoking: "…", Visibility: []string{"model"}}},
		Resources:   []Resource{{URI: "ui://*", CSP: &CSP{Connect: []string{"https://a.example"}}, Domain: "https://b.example", PrefersBorder: &yes, Permissions: []string{"camera"}}},
		Mirror:      true, RepairMIME: true, RepairSchemas: true, Forms: "check",
	}))
	for _, seed := range []string{
		boardTool, searchTool, readTool, updateTool, settingsResult, multiRound,
		strings.Replace(boardTool, `"board"`, `"t"`, 1), strings.Replace(searchTool, "cad.mentions", "t", 1),
		`{"uri":"ui://a/b","mimeType":"text/html+skybridge","text":"","_meta":{"ui":{"csp":{"connectDomains":[]}},"openai/ui":{}}}`,
		`{"extensions":{"openai/settings":{"readTool":"t","updateTool":"u"}},"experimental":{"openai/mentions":{"searchTool":"t"}}}`,
		`{"name":"t","_meta":{"openai/ui":{"entrypoints":[{"type":"global"},{"type":"file","extensions":[".a"]},7]}},"inputSchema":{"type":"object","properties":{"a":{"type":"array","pattern":"\\p{L}"}}}}`,
	} {
		f.Add([]byte(seed))
	}
	about := []string{"title", "description", "icons", "annotations", "_meta", "inputSchema", "outputSchema", "mimeType", "extensions", "experimental", "structuredContent", "content", "inputRequests"}
	steps := map[string]func(rawjson.Value) rawjson.Value{
		"Tool":            func(v rawjson.Value) rawjson.Value { out, _ := o.Tool(v); return out },
		"ResourceContent": func(v rawjson.Value) rawjson.Value { out, _ := o.ResourceContent(v); return out },
		"Capabilities": func(v rawjson.Value) rawjson.Value {
			out, _ := o.Capabilities(false, v, tools{"t": strings.Replace(readTool, "settings.read", "t", 1), "u": strings.Replace(updateTool, "settings.update", "u", 1)})
			return out
		},
		"RequestParams": func(v rawjson.Value) rawjson.Value { return must(o.RequestParams(v)) },
		"SettingsReadResult": func(v rawjson.Value) rawjson.Value {
			if out, _, _, err := o.SettingsReadResult(v, SettingsContext{}); err == nil {
				return out
			}
			return v
		},
		"InputRequired": func(v rawjson.Value) rawjson.Value {
			c := FormContext{Client: rawjson.Value(formsClient), Visible: func(string) bool { return false }}
			if out, _, err := o.InputRequired(v, c); err == nil {
				return out
			}
			return v
		},
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := rawjson.Parse(src, 64)
		if err != nil {
			return
		}
		LintTool(v)
		for name, step := range steps {
			once := step(v)
			if _, err := rawjson.Parse(once, 80); err != nil {
				t.Fatalf("%s of %s = %s: %v", name, v, once, err)
			}
			if twice := step(once); string(twice) != string(once) {
				t.Fatalf("%s of %s:\nonce  %s\ntwice %s", name, v, once, twice)
			}
			for member, value := range v.Members() {
				if !slices.Contains(about, member) && string(once.Get(member)) != string(value) {
					t.Fatalf("%s of %s changed %q", name, v, member)
				}
			}
		}
	})
}
