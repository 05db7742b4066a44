package mcp

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// header makes a header from name, value pairs.
func header(pairs ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func modern(method, name string, more ...string) http.Header {
	h := header(HeaderVersion, FirstModernVersion, HeaderMethod, method)
	if name != "" {
		h.Set(HeaderName, name)
	}
	for i := 0; i < len(more); i += 2 {
		h.Add(more[i], more[i+1])
	}
	return h
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`

func TestReadFindsWhatIsAsked(t *testing.T) {
	tests := []struct {
		name   string
		header http.Header
		body   string
		want   Request
	}{
		{"legacy without a header", nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, Request{Method: "tools/list"}},
		{"legacy call", header(HeaderVersion, "2025-11-25"), `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}`, Request{Method: "tools/call", Name: "t", Version: "2025-11-25"}},
		{"lying mirror headers mean nothing in the legacy era", header(HeaderVersion, "2025-06-18", HeaderMethod, "tools/list", HeaderName, "harmless"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}`, Request{Method: "tools/call", Name: "evil", Version: "2025-06-18"}},
		{"notification", nil, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, Request{Kind: Notification, Method: "notifications/initialized"}},
		{"client response", nil, `{"jsonrpc":"2.0","id":7,"result":{}}`, Request{Kind: Response}},
		{"modern call", modern("tools/call", "t"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + meta + `}}`, Request{Era: Modern, Method: "tools/call", Name: "t", Version: "2026-07-28"}},
		{"modern name in base64", modern("tools/call", "=?base64?dMOkZ2xpY2g=?="), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"täglich",` + meta + `}}`, Request{Era: Modern, Method: "tools/call", Name: "täglich", Version: "2026-07-28"}},
		{"blanks around header values", modern("tools/call", " t\t"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + meta + `}}`, Request{Era: Modern, Method: "tools/call", Name: "t", Version: "2026-07-28"}},
		{"escaped name", nil, `{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"\u0061dmin"}}`, Request{Method: "tools/call", Name: "admin"}},
		{"resource", nil, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://x"}}`, Request{Method: "resources/read", Name: "ui://x"}},
		{"completion of a prompt", nil, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"}}}`, Request{Method: "completion/complete", Name: "p"}},
		{"completion of a template", nil, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"deck://{id}"}}}`, Request{Method: "completion/complete", Name: "deck://{id}"}},
		{"large integer id", nil, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, Request{Method: "ping"}},
	}
	for _, tt := range tests {
		got, err := Reader{}.Read(tt.header, []byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got.Kind != tt.want.Kind || got.Era != tt.want.Era || got.Method != tt.want.Method || got.Name != tt.want.Name || got.Version != tt.want.Version {
			t.Errorf("%s: got kind %v, %v, %q about %q, version %q", tt.name, got.Kind, got.Era, got.Method, got.Name, got.Version)
		}
		if string(got.Body) != tt.body {
			t.Errorf("%s: body changed to %s", tt.name, got.Body)
		}
	}
}

func TestReadRefusesAmbiguity(t *testing.T) {
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	modernCall := call(`{"name":"t",` + meta + `}`)
	tests := []struct {
		name   string
		header http.Header
		body   string
		code   int
	}{
		{"batch", nil, `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`, CodeInvalidRequest},
		{"empty batch", nil, `[]`, CodeInvalidRequest},
		{"not an object", nil, `"x"`, CodeInvalidRequest},
		{"empty", nil, ``, CodeParseError},
		{"byte order mark", nil, "\ufeff" + call(`{"name":"t"}`), CodeParseError},
		{"second object", nil, call(`{"name":"t"}`) + `{}`, CodeParseError},
		{"trailing garbage", nil, call(`{"name":"t"}`) + ` x`, CodeParseError},
		{"duplicate method", nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`, CodeParseError},
		{"duplicate name", nil, call(`{"name":"a","name":"b"}`), CodeParseError},
		{"duplicate name by escape", nil, call(`{"name":"a","\u006eame":"b"}`), CodeParseError},
		{"duplicate inside arguments", nil, call(`{"name":"t","arguments":{"x":1,"x":2}}`), CodeParseError},
		{"case variant of name", nil, call(`{"name":"a","Name":"b"}`), CodeInvalidRequest},
		{"case variant alone", nil, call(`{"NAME":"b","name":"a"}`), CodeInvalidRequest},
		{"case variant by Unicode folding", nil, call(`{"name":"a","argument\u017f":{}}`), CodeInvalidRequest},
		{"case variant of method", nil, `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`, CodeInvalidRequest},
		{"case variant in _meta", nil, call(`{"name":"a","_meta":{"IO.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), CodeInvalidRequest},
		{"case variant in ref", nil, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a","Name":"b"}}}`, CodeInvalidRequest},
		{"ref of two things", nil, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"hidden","uri":"shown://x"}}}`, CodeInvalidParams},
		{"ref of two things, the other way round", nil, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"hidden://x","name":"shown"}}}`, CodeInvalidParams},
		{"ref of no type", nil, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"name":"p"}}}`, CodeInvalidParams},
		{"ref of another type", nil, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/Prompt","name":"p"}}}`, CodeInvalidParams},
		{"name not a string", nil, call(`{"name":["a"]}`), CodeInvalidParams},
		{"no name", nil, call(`{}`), CodeInvalidParams},
		{"no params", nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, CodeInvalidParams},
		{"params an array", nil, call(`["t"]`), CodeInvalidRequest},
		{"id null", nil, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, CodeInvalidRequest},
		{"id fractional", nil, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, CodeInvalidRequest},
		{"id object", nil, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, CodeInvalidRequest},
		{"jsonrpc missing", nil, `{"id":1,"method":"ping"}`, CodeInvalidRequest},
		{"method not a string", nil, `{"jsonrpc":"2.0","id":1,"method":1}`, CodeInvalidRequest},
		{"request and response at once", nil, `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, CodeInvalidRequest},
		{"nothing at all", nil, `{"jsonrpc":"2.0","id":1}`, CodeInvalidRequest},
		{"bad UTF-8", nil, call("{\"name\":\"\xff\"}"), CodeParseError},
		{"too deep", nil, call(`{"name":"t","arguments":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`), CodeInvalidRequest},
		{"repeated version header", header(HeaderVersion, "2025-06-18", HeaderVersion, "2026-07-28"), call(`{"name":"t"}`), CodeHeaderMismatch},
		{"joined version header", header(HeaderVersion, "2025-06-18, 2026-07-28"), call(`{"name":"t"}`), CodeHeaderMismatch},
		{"repeated name header", modern("tools/call", "t", HeaderName, "t"), modernCall, CodeHeaderMismatch},
		{"modern body, no header", nil, modernCall, CodeHeaderMismatch},
		{"modern body, legacy header", header(HeaderVersion, "2025-11-25"), modernCall, CodeHeaderMismatch},
		{"versions differ", modern("tools/call", "t"), call(`{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}`), CodeHeaderMismatch},
		{"legacy version in a modern body", modern("tools/call", "t"), call(`{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`), CodeHeaderMismatch},
		{"modern header, no version in the body", modern("tools/call", "t"), call(`{"name":"t"}`), CodeInvalidParams},
		{"version not a string", modern("tools/call", "t"), call(`{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":1}}`), CodeInvalidParams},
		{"method header missing", header(HeaderVersion, FirstModernVersion, HeaderName, "t"), modernCall, CodeHeaderMismatch},
		{"method header differs", modern("tools/list", "t"), modernCall, CodeHeaderMismatch},
		{"method header differs in case", modern("Tools/call", "t"), modernCall, CodeHeaderMismatch},
		{"name header missing", modern("tools/call", ""), modernCall, CodeHeaderMismatch},
		{"name header differs", modern("tools/call", "other"), modernCall, CodeHeaderMismatch},
		{"name header broken base64", modern("tools/call", "=?base64?dA?="), modernCall, CodeHeaderMismatch},
		{"name header unfinished sentinel", modern("tools/call", "=?base64?dA=="), modernCall, CodeHeaderMismatch},
		{"name header raw UTF-8", modern("tools/call", "täglich"), call(`{"name":"täglich",` + meta + `}`), CodeHeaderMismatch},
		{"client response in the modern era", modern("", ""), `{"jsonrpc":"2.0","id":7,"result":{}}`, CodeInvalidRequest},
	}
	for _, tt := range tests {
		r, err := Reader{}.Read(tt.header, []byte(tt.body))
		var refused *Error
		switch {
		case err == nil:
			t.Errorf("%s: accepted as %+v", tt.name, r)
		case !errors.As(err, &refused):
			t.Errorf("%s: error is %T", tt.name, err)
		case refused.Code != tt.code || refused.Status != http.StatusBadRequest:
			t.Errorf("%s: got %d, code %d (%s), want 400, %d", tt.name, refused.Status, refused.Code, refused.Message, tt.code)
		}
	}
}

// Clients probe servers with methods of another era, and fall back by the code:
// what is unknown must be told before what is wrong with its parameters.
func TestUnknownMethodsAreToldFirst(t *testing.T) {
	tests := []struct {
		name   string
		header http.Header
		body   string
		status int
	}{
		{"removed method without its parameter", modern("resources/subscribe", ""), `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{` + meta + `}}`, 404},
		{"removed method without headers", header(HeaderVersion, FirstModernVersion), `{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{` + meta + `}}`, 404},
		{"modern method in the legacy era", nil, `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, 200},
		{"tasks are closed by default", nil, `{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`, 200},
		{"method in another case", nil, `{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"t"}}`, 200},
	}
	for _, tt := range tests {
		_, err := Reader{}.Read(tt.header, []byte(tt.body))
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != CodeMethodNotFound || refused.Status != tt.status {
			t.Errorf("%s: got %v, want %d with code %d", tt.name, err, tt.status, CodeMethodNotFound)
		}
	}
	open := Reader{Known: func(Era, string) bool { return true }}
	if _, err := open.Read(nil, []byte(`{"jsonrpc":"2.0","id":1,"method":"x/y"}`)); err != nil {
		t.Errorf("opened method: %v", err)
	}
}

func TestRefusalsCarryTheIDWhereItWasReadable(t *testing.T) {
	_, err := Reader{}.Read(nil, []byte(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{}}`))
	var refused *Error
	if !errors.As(err, &refused) || !strings.Contains(string(refused.Body()), `"id":9007199254740993,`) {
		t.Errorf("got %v", err)
	}
	_, err = Reader{}.Read(nil, []byte(`[1]`))
	if !errors.As(err, &refused) || !strings.Contains(string(refused.Body()), `"id":null`) {
		t.Errorf("unreadable id: got %v", err)
	}
}

func TestHeaderValuesSurviveTheSentinel(t *testing.T) {
	for _, text := range []string{"plain", "täglich", " padded ", "tab\there", "new\nline", "=?base64?looks-like-one?=", ""} {
		got, ok := DecodeHeaderValue(EncodeHeaderValue(text))
		if !ok || got != text {
			t.Errorf("%q came back as %q, %v", text, got, ok)
		}
	}
}

// go-sdk v1.8.0 compares an encoded Mcp-Name with the plain name in the body
// (its issue 1234), and answers 400 to a stray Last-Event-ID.
func TestModernHeadersAreSentAsServersReadThem(t *testing.T) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plain",` + meta + `}}`
	h := modern("tools/call", "=?base64?cGxhaW4=?=", "Last-Event-Id", "7", "Mcp-Param-Region", "eu")
	r, err := Reader{}.Read(h, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	AlignHeaders(h, r, nil)
	if h.Get(HeaderName) != "plain" || h.Get("Last-Event-Id") != "" || h.Get("Mcp-Param-Region") != "eu" {
		t.Errorf("headers are %v", h)
	}
	decoy := NewDecoy(r)
	AlignHeaders(h, r, decoy)
	if h.Get(HeaderName) != decoy.Name || h.Get("Mcp-Param-Region") != "" {
		t.Errorf("headers of the decoy are %v", h)
	}
}

func TestDecoyAsksForTheSameKindOfThing(t *testing.T) {
	tests := []struct{ body, path string }{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"admin.purge","arguments":{"id":"x"},"_meta":{"progressToken":5}}}`, "name"},
		{`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"secret"}}`, "name"},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://secret/page"}}`, "uri"},
		{`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"deck://{id}"}}}`, "ref.uri"},
	}
	for _, tt := range tests {
		r, err := Reader{}.Read(nil, []byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		d := NewDecoy(r)
		again, err := Reader{}.Read(nil, d.Body)
		if err != nil || again.Name != d.Name || again.Method != r.Method || strings.Contains(string(d.Body), r.Name) {
			t.Errorf("%s: decoy %s: %v", tt.body, d.Body, err)
		}
		if strings.HasPrefix(r.Name, "ui://") != strings.HasPrefix(d.Name, "ui://") {
			t.Errorf("%s: decoy asks for %q", tt.body, d.Name)
		}
		if again.Params.Get("arguments", "id").Exists() {
			t.Errorf("arguments went along: %s", d.Body)
		}
		if string(again.Params.Get("_meta")) != string(r.Params.Get("_meta")) {
			t.Errorf("_meta changed: %s", d.Body)
		}
		answer := `{"error":{"message":"unknown \"` + d.Name + `\""}}`
		if got := string(d.Restore([]byte(answer))); strings.Contains(got, d.Name) || !strings.Contains(got, r.Name) {
			t.Errorf("restored answer is %s", got)
		}
	}
}

// FuzzRead proves that an accepted request reads the same in the
// standard library, whose decoder folds case and takes the last duplicate.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":[1,{}]}}}`), "", "")
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",`+meta+`}}`), "tools/call", "t")
	f.Add([]byte(`{"jsonrpc":"2.0","id":"é","method":"resources/read","params":{"uri":"ui://\u00e9"}}`), "", "")
	f.Fuzz(func(t *testing.T, body []byte, method, name string) {
		h := http.Header{}
		if method != "" {
			h = modern(method, name)
		}
		r, err := Reader{}.Read(h, body)
		if err != nil {
			var refused *Error
			if !errors.As(err, &refused) || refused.Status/100 != 4 && refused.Code != CodeMethodNotFound {
				t.Fatalf("error %v is no refusal", err)
			}
			return
		}
		checkAgainstStandardLibrary(t, r, body)
		if Subject(r.Method) != SubjectNone && r.Kind != Response {
			d := NewDecoy(r)
			if again, err := (Reader{}).Read(nil, d.Body); r.Era == Legacy && (err != nil || again.Name != d.Name) {
				t.Fatalf("decoy of %s is %s: %v", body, d.Body, err)
			}
		}
	})
}
