package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// onlyShown shows names that hold the word "shown".
type onlyShown struct{}

func (onlyShown) ShowsTool(name string) bool    { return strings.Contains(name, "shown") }
func (onlyShown) ShowsPrompt(name string) bool  { return strings.Contains(name, "shown") }
func (onlyShown) ShowsResource(uri string) bool { return strings.Contains(uri, "shown") }
func (onlyShown) ShowsTemplate(uri string) bool { return strings.Contains(uri, "shown") }

// noDecoration adds nothing.
type noDecoration struct{}

func (noDecoration) Tool(v rawjson.Value) rawjson.Value                    { return v }
func (noDecoration) Entry(v rawjson.Value) rawjson.Value                   { return v }
func (noDecoration) Result(v rawjson.Value) (rawjson.Value, error)         { return v, nil }
func (noDecoration) Task(_ string, v rawjson.Value) (rawjson.Value, error) { return v, nil }
func (noDecoration) Content(v rawjson.Value) rawjson.Value                 { return v }
func (noDecoration) Capabilities(_ Era, v rawjson.Value) rawjson.Value     { return v }

func rewriter(era Era) *Rewriter {
	return &Rewriter{Era: era, Shower: onlyShown{}, Decorate: noDecoration{}, ListTTL: time.Minute}
}

func TestListsAreFilteredByShape(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"tools", `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"hidden"},{"name":"shown", "x":9007199254740993}],"nextCursor":""}}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"shown", "x":9007199254740993}],"nextCursor":""}}`},
		{"all hidden is an empty list", `{"id":1,"result":{"tools":[{"name":"hidden"}],"nextCursor":"c"}}`, `{"id":1,"result":{"tools":[],"nextCursor":"c"}}`},
		{"prompts", `{"id":1,"result":{"prompts":[{"name":"hidden"},{"name":"shown"}]}}`, `{"id":1,"result":{"prompts":[{"name":"shown"}]}}`},
		{"resources", `{"id":1,"result":{"resources":[{"uri":"ui://hidden"},{"uri":"ui://shown"}]}}`, `{"id":1,"result":{"resources":[{"uri":"ui://shown"}]}}`},
		{"templates", `{"id":1,"result":{"resourceTemplates":[{"uriTemplate":"x://hidden/{a}"},{"uriTemplate":"x://shown/{a}"}]}}`, `{"id":1,"result":{"resourceTemplates":[{"uriTemplate":"x://shown/{a}"}]}}`},
		{"escaped name", `{"id":1,"result":{"tools":[{"name":"\u0068idden"},{"name":"\u0073hown"}]}}`, `{"id":1,"result":{"tools":[{"name":"\u0073hown"}]}}`},
		{"name read in two ways", `{"id":1,"result":{"tools":[{"name":"shown","Name":"hidden"}]}}`, `{"id":1,"result":{"tools":[]}}`},
		{"name missing", `{"id":1,"result":{"tools":[{"title":"x"},"shown",null]}}`, `{"id":1,"result":{"tools":[]}}`},
		{"unasked list beside another result", `{"id":1,"result":{"content":[],"tools":[{"name":"hidden"}]}}`, `{"id":1,"result":{"content":[],"tools":[]}}`},
		{"nothing to change keeps every byte", `{ "id" : 1, "result" : { "tools" : [ {"name":"shown"} ] } }`, `{ "id" : 1, "result" : { "tools" : [ {"name":"shown"} ] } }`},
		{"unknown result type", `{"id":1,"result":{"resultType":"task","x":1.0,"isError":false}}`, `{"id":1,"result":{"resultType":"task","x":1.0,"isError":false}}`},
		{"error", `{"id":1,"error":{"code":-1,"message":"m","data":{"tools":1}}}`, `{"id":1,"error":{"code":-1,"message":"m","data":{"tools":1}}}`},
		{"null list", `{"id":1,"result":{"tools":null}}`, `{"id":1,"result":{"tools":null}}`},
		{"update of a shown resource", `{"method":"notifications/resources/updated","params":{"uri":"shown"}}`, `{"method":"notifications/resources/updated","params":{"uri":"shown"}}`},
		{"update of a hidden resource", `{"method":"notifications/resources/updated","params":{"uri":"hidden"}}`, ""},
		{"cut emoji in a result", `{"id":1,"result":{"content":[{"text":"\ud83d"}]}}`, `{"id":1,"result":{"content":[{"text":"\ud83d"}]}}`},
	}
	for _, tt := range tests {
		got, err := rewriter(Legacy).Message([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v\nwant %s", tt.name, got, err, tt.want)
		}
	}
}

// asking is a Watcher that looks at what the server asks.
type asking func(rawjson.Value) rawjson.Value

func (a asking) Asked(request rawjson.Value) rawjson.Value { return a(request) }
func (asking) Dropped(string)                              {}
func (asking) ListChanged()                                {}

func TestWhatTheServerAsksCanBeChangedAndDropped(t *testing.T) {
	w := rewriter(Legacy)
	w.Watch = asking(func(request rawjson.Value) rawjson.Value {
		switch method, _ := request.Get("method").Text(); method {
		case "dropped":
			return nil
		case "changed":
			return rawjson.Value(`{"id":1,"method":"other"}`)
		default:
			return request
		}
	})
	for in, want := range map[string]string{
		`{"id":1,"method":"dropped","params":{}}`: "",
		`{"method":"dropped"}`:                    "",
		`{"id":1,"method":"changed"}`:             `{"id":1,"method":"other"}`,
		`{"id":1, "method":"ping"}`:               `{"id":1, "method":"ping"}`,
		`{"id":1,"result":{"method":"dropped"}}`:  `{"id":1,"result":{"method":"dropped"}}`,
	} {
		if got, err := w.Message([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v, want %s", in, got, err, want)
		}
	}
}

// toolhive 5257: an answer that could not be decoded went out whole.
func TestWhatCannotBeFilteredIsRefused(t *testing.T) {
	tests := map[string]string{
		"batch":                    `[{"id":1,"result":{"tools":[{"name":"hidden"}]}}]`,
		"not JSON":                 `data: {"result":{}}`,
		"two results":              `{"id":1,"result":{},"result":{"tools":[{"name":"hidden"}]}}`,
		"two lists":                `{"id":1,"result":{"tools":[],"tools":[{"name":"hidden"}]}}`,
		"case variant of result":   `{"id":1,"Result":{"tools":[{"name":"hidden"}]}}`,
		"case variant of the list": `{"id":1,"result":{"Tools":[{"name":"hidden"}]}}`,
		"list is an object":        `{"id":1,"result":{"tools":{"0":{"name":"hidden"}}}}`,
		"trailing message":         `{"id":1,"result":{}}{"id":1,"result":{"tools":[{"name":"hidden"}]}}`,
		"too deep":                 `{"id":1,"result":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`,
		"empty":                    ``,
	}
	for name, in := range tests {
		if got, err := rewriter(Legacy).Message([]byte(in)); !errors.Is(err, ErrUnfilterable) {
			t.Errorf("%s: got %s, %v, want ErrUnfilterable", name, got, err)
		}
	}
}

func TestCacheHintsBecomePrivate(t *testing.T) {
	tests := []struct {
		name     string
		era      Era
		in, want string
	}{
		{"public", Modern, `{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"public"}`, `{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"private"}`},
		{"long", Modern, `{"tools":[],"ttlMs":86400000,"cacheScope":"private"}`, `{"tools":[],"ttlMs":60000,"cacheScope":"private"}`},
		{"missing", Modern, `{"tools":[]}`, `{"tools":[],"cacheScope":"private","ttlMs":0}`},
		{"discover", Modern, `{"supportedVersions":[],"capabilities":{}}`, `{"supportedVersions":[],"capabilities":{},"cacheScope":"private","ttlMs":0}`},
		{"nonsense", Modern, `{"tools":[],"ttlMs":"x","cacheScope":7}`, `{"tools":[],"ttlMs":0,"cacheScope":"private"}`},
		{"negative", Modern, `{"contents":[],"ttlMs":-1,"cacheScope":"private"}`, `{"contents":[],"ttlMs":0,"cacheScope":"private"}`},
		{"not on input_required", Modern, `{"resultType":"input_required","inputRequests":{}}`, `{"resultType":"input_required","inputRequests":{}}`},
		{"not on a call", Modern, `{"content":[]}`, `{"content":[]}`},
		{"legacy without hints", Legacy, `{"tools":[]}`, `{"tools":[]}`},
		{"legacy with hints", Legacy, `{"tools":[],"ttlMs":0,"cacheScope":"public"}`, `{"tools":[],"ttlMs":0,"cacheScope":"private"}`},
	}
	for _, tt := range tests {
		got, err := rewriter(tt.era).Message([]byte(`{"id":1,"result":` + tt.in + `}`))
		if want := `{"id":1,"result":` + tt.want + `}`; err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v\nwant %s", tt.name, got, err, want)
		}
	}
}

// FuzzRewriter is a differential test: whatever the standard library's lenient
// decoder (case folded, last duplicate wins) would take for a list in an answer
// we let through holds no hidden name.
func FuzzRewriter(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":{"tools":[{"name":"hidden"},{"name":"shown"}],"ttlMs":1,"cacheScope":"public"}}`), true)
	f.Add([]byte(`{"id":1,"result":{"Tools":[{"Name":"hidden"}]}}`), false)
	f.Add([]byte(`{"id":1,"result":{"resources":[{"uri":"hidden"}],"resourceTemplates":[{"uriTemplate":"hidden"}],"prompts":[{"name":"hidden"}]}}`), false)
	f.Fuzz(func(t *testing.T, message []byte, isModern bool) {
		era := Legacy
		if isModern {
			era = Modern
		}
		out, err := rewriter(era).Message(message)
		if err != nil || out == nil {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q, which is not JSON", message, out)
		}
		var naive struct {
			Result struct {
				Tools, Prompts []struct{ Name string }
				Resources      []struct{ URI string }
				Templates      []struct {
					URITemplate string `json:"uriTemplate"`
				} `json:"resourceTemplates"`
			}
		}
		// A mismatch of types stops some clients and not others: look at
		// whatever was decoded before it.
		_ = json.NewDecoder(bytes.NewReader(out)).Decode(&naive)
		for _, tool := range append(naive.Result.Tools, naive.Result.Prompts...) {
			if tool.Name != "" && !strings.Contains(tool.Name, "shown") {
				t.Fatalf("%q shows %q", out, tool.Name)
			}
		}
		for _, r := range naive.Result.Resources {
			if r.URI != "" && !strings.Contains(r.URI, "shown") {
				t.Fatalf("%q shows %q", out, r.URI)
			}
		}
		for _, r := range naive.Result.Templates {
			if r.URITemplate != "" && !strings.Contains(r.URITemplate, "shown") {
				t.Fatalf("%q shows %q", out, r.URITemplate)
			}
		}
		again, err := rewriter(era).Message(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("rewriting twice: %q then %q, %v", out, again, err)
		}
	})
}
