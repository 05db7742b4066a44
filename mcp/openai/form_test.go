package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func TestFormFields(t *testing.T) {
	options := `"options":[{"uri":"cad://hex","name":"hex"},{"uri":"cad://washer","name":"washer"}]`
	thumb := func(src string) string {
		return `{"type":"string","oneOf":[{"const":"a","title":"A","description":"d","x-openai-thumbnail":{"src":"` + src + `"}}]}`
	}
	tests := []struct {
		name, field string
		ok          bool
	}{
		{"text", `{"type":"string","title":"T","minLength":1,"format":"uri","pattern":"^(cad|file):"}`, true},
		{"look-around", `{"type":"string","pattern":"(?=x)"}`, false},
		{"unknown format", `{"type":"string","format":"color"}`, false},
		{"number", `{"type":"integer","minimum":1,"default":2}`, true},
		{"default out of bounds", `{"type":"integer","minimum":1,"default":0}`, false},
		{"titled options", `{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}],"default":"b"}`, true},
		{"default not offered", `{"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"c"}`, false},
		{"option twice", `{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"a","title":"B"}]}`, false},
		{"option without title", `{"type":"string","oneOf":[{"const":"a"}]}`, false},
		{"thumbnail", thumb("https://example.com/a.png"), true},
		{"thumbnail inside", thumb("data:image/png;base64,AAAA"), true},
		{"thumbnail not in base64", thumb("data:image/svg+xml,<svg/>"), false},
		{"thumbnail over http", thumb("http://example.com/a.png"), false},
		{"enum names", `{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`, true},
		{"enum names too few", `{"type":"string","enum":["a","b"],"enumNames":["A"]}`, false},
		{"suggestions", `{"type":"string","minLength":1,"x-openai-suggestions":[{"const":"hex-bolt","title":"Hex"}]}`, true},
		{"suggestion against the bounds", `{"type":"string","maxLength":2,"x-openai-suggestions":[{"const":"hex-bolt","title":"Hex"}]}`, false},
		{"suggestions in a list", `{"type":"array","items":{"type":"string","x-openai-suggestions":[{"const":"washer","title":"W"}]}}`, true},
		{"list of options", `{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"minItems":1,"default":["a"]}`, true},
		{"list of numbers", `{"type":"array","items":{"type":"number"}}`, false},
		{"list of lists", `{"type":"array","items":{"type":"array","items":{"type":"string"}}}`, false},
		{"nested object", `{"type":"object","properties":{}}`, false},
		{"resource", `{"type":"string","format":"uri","x-openai-input":{"type":"resource",` + options + `,"userOptions":{"kind":"file","accept":[".stl","model/*"]}},"default":"cad://hex"}`, true},
		{"resource by the older word", `{"type":"string","format":"uri","x-openai-input":{"type":"file","options":[]}}`, true},
		{"selection on a string", `{"type":"string","x-openai-input":{"type":"resource","selection":"explicit",` + options + `}}`, false},
		{"default outside the options", `{"type":"string","x-openai-input":{"type":"resource",` + options + `},"default":"cad://nut"}`, false},
		{"list of resources", `{"type":"array","items":{"type":"string","format":"uri"},"x-openai-input":{"type":"resource","selection":"explicit",` + options + `},"default":["cad://hex"]}`, true},
		{"implicit", `{"type":"array","items":{"type":"string","format":"uri"},"x-openai-input":{"type":"resource","selection":"implicit",` + options + `}}`, true},
		{"implicit with default", `{"type":"array","items":{"type":"string"},"x-openai-input":{"type":"resource","selection":"implicit",` + options + `},"default":["cad://hex"]}`, false},
		{"resource input on a boolean", `{"type":"boolean","x-openai-input":{"type":"resource","options":[]}}`, false},
		{"unknown kind", `{"type":"string","x-openai-input":{"type":"resource","options":[],"userOptions":{"kind":"device"}}}`, false},
		{"accept without a dot", `{"type":"string","x-openai-input":{"type":"resource","options":[],"userOptions":{"accept":["stl"]}}}`, false},
		{"preview", `{"type":"string","x-openai-input":{"type":"resource","options":[{"uri":"cad://hex","name":"hex","_meta":{"openai/preview":{"target":{"type":"mcp_app_tool","name":"cad.open","arguments":{}}},"openai/thumbnail":{"src":"https://example.com/a.png"}}}]}}`, true},
		{"preview of a resource", `{"type":"string","x-openai-input":{"type":"resource","options":[{"uri":"cad://hex","name":"hex","_meta":{"openai/preview":{"target":{"type":"resource_link","uri":"cad://hex","name":"hex"}}}}]}}`, true},
		{"preview of nothing", `{"type":"string","x-openai-input":{"type":"resource","options":[{"uri":"cad://hex","name":"hex","_meta":{"openai/preview":{"target":{"type":"mcp_app_tool","name":" "}}}}]}}`, false},
	}
	for _, tt := range tests {
		_, err := plain.Form(parse(t, `{"type":"object","properties":{"f":`+tt.field+`}}`))
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v, want accepted %v", tt.name, err, tt.ok)
		}
	}
	if _, err := plain.Form(parse(t, `{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}`)); err != nil {
		t.Errorf("a field may have any name: %v", err)
	}
	for _, root := range []string{`{"type":"object"}`, `{"type":"object","properties":{},"required":["x"]}`, `{"type":"object","properties":{},"anyOf":[]}`, `[]`} {
		if _, err := plain.Form(parse(t, root)); err == nil {
			t.Errorf("%s accepted", root)
		}
	}
}

func TestFormAnswers(t *testing.T) {
	options := `"options":[{"uri":"cad://hex","name":"hex"}]`
	schema := func(input string) string {
		return `{"type":"object","properties":{"part":{"type":"string","format":"uri","x-openai-input":{"type":"resource",` + options + input + `}},"n":{"type":"integer","maximum":3},"tags":{"type":"array","items":{"type":"string"},"maxItems":2,"uniqueItems":true}},"required":["part"]}`
	}
	closedForm := sure(plain.Form(parse(t, schema(``))))
	openForm := sure(plain.Form(parse(t, schema(`,"userOptions":{}`))))
	implicit := sure(plain.Form(parse(t, `{"type":"object","properties":{"parts":{"type":"array","items":{"type":"string"},"x-openai-input":{"type":"resource","selection":"implicit",`+options+`}}}}`)))
	tests := []struct {
		name   string
		form   *Form
		answer string
		ok     bool
	}{
		{"offered", closedForm, `{"action":"accept","content":{"part":"cad://hex","n":3,"tags":["a","b"]}}`, true},
		{"not offered", closedForm, `{"action":"accept","content":{"part":"file:///etc/passwd"}}`, false},
		{"added by the user", openForm, `{"action":"accept","content":{"part":"file:///parts/hex.stl"}}`, true},
		{"implicit allows others", implicit, `{"action":"accept","content":{"parts":["cad://hex","file:///a"]}}`, true},
		{"required missing", closedForm, `{"action":"accept","content":{"n":1}}`, false},
		{"no content", closedForm, `{"action":"accept"}`, false},
		{"unknown field", closedForm, `{"action":"accept","content":{"part":"cad://hex","x":1}}`, false},
		{"out of bounds", closedForm, `{"action":"accept","content":{"part":"cad://hex","n":4}}`, false},
		{"too many", closedForm, `{"action":"accept","content":{"part":"cad://hex","tags":["a","b","c"]}}`, false},
		{"twice", closedForm, `{"action":"accept","content":{"part":"cad://hex","tags":["a","a"]}}`, false},
		{"cancel", closedForm, `{"action":"cancel"}`, true},
		{"decline", closedForm, `{"action":"decline"}`, true},
		{"decline with content", closedForm, `{"action":"decline","content":{"part":"cad://hex"}}`, false},
		{"another action", closedForm, `{"action":"unexpected"}`, false},
	}
	for _, tt := range tests {
		if err := tt.form.Answer(parse(t, tt.answer)); (err == nil) != tt.ok {
			t.Errorf("%s: %v, want accepted %v", tt.name, err, tt.ok)
		}
	}
}

const (
	formsClient = `{"elicitation":{"form":{}},"extensions":{"openai/elicitation":{"form":{}}}}`
	realForm    = `{"type":"object","properties":{"part":{"type":"string","x-openai-input":{"type":"resource","options":[{"uri":"cad://hex","name":"hex","_meta":{"openai/preview":{"target":{"type":"mcp_app_tool","name":"cad.open"}}}}]}}}}`
	multiRound  = `{"resultType":"input_required", "inputRequests":{"details":{"method":"elicitation/create","params":{"mode":"form","message":"Pick","requestedSchema":{"type":"object","properties":{}},"_meta":{"openai/elicitation":{"requestedSchema":` + realForm + `}}}},"other":{"method":"sampling/createMessage","params":{}}},"requestState":"opaque=="}`
)

func TestMultiRoundForms(t *testing.T) {
	o := compile(t, Declarations{Forms: "check"})
	all := FormContext{Client: parse(t, formsClient)}
	change := func(from, to string) string { return strings.Replace(multiRound, from, to, 1) }
	tests := []struct {
		name, result string
		c            FormContext
		ok           bool
	}{
		{"as it should be", multiRound, all, true},
		{"client without OpenAI forms", multiRound, FormContext{Client: parse(t, `{"elicitation":{"form":{}}}`)}, false},
		{"client without core forms", multiRound, FormContext{Client: parse(t, `{"extensions":{"openai/elicitation":{"form":{}}}}`)}, false},
		{"core form not empty", change(`"requestedSchema":{"type":"object","properties":{}}`, `"requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}`), all, false},
		{"real form missing", change(`"requestedSchema":`+realForm, `"x":1`), all, false},
		{"older method", change(`"elicitation/create"`, `"openai/elicitation/create"`), all, false},
		{"core form only", change(`,"_meta":{"openai/elicitation":{"requestedSchema":`+realForm+`}}`, ``), FormContext{}, true},
		{"another result", `{"resultType":"complete","content":[]}`, FormContext{}, true},
	}
	for _, tt := range tests {
		got, _, err := o.InputRequired(parse(t, tt.result), tt.c)
		if (err == nil) != tt.ok || err == nil && string(got) != tt.result {
			t.Errorf("%s: got %s, %v, want accepted %v", tt.name, got, err, tt.ok)
		}
		if got, _, err := plain.InputRequired(parse(t, tt.result), tt.c); err != nil || string(got) != tt.result {
			t.Errorf("%s: with forms pass got %s, %v", tt.name, got, err)
		}
	}

	hidden := FormContext{Client: all.Client, Visible: func(string) bool { return false }}
	got, found, err := o.InputRequired(parse(t, multiRound), hidden)
	want := change(`"openai/preview":{"target":{"type":"mcp_app_tool","name":"cad.open"}}`, ``)
	if err != nil || string(got) != want || codes(found) != "form-preview-hidden" {
		t.Errorf("got %s, %v, %v", got, found, err)
	}
}

func TestFormsOfOlderClients(t *testing.T) {
	o := compile(t, Declarations{Forms: "check"})
	params := `{"mode":"form","message":"Pick\none","requestedSchema":` + realForm + `}`
	all := FormContext{Client: parse(t, formsClient)}
	if got, _, err := o.FormRequest(parse(t, params), all); err != nil || string(got) != params {
		t.Errorf("got %s, %v", got, err)
	}
	if _, _, err := o.FormRequest(parse(t, params), FormContext{Client: parse(t, `{"elicitation":{}}`)}); err == nil {
		t.Error("a client without the capability was asked")
	}
	if _, _, err := o.FormRequest(parse(t, `{"message":"M","requestedSchema":{"type":"object"}}`), all); err == nil {
		t.Error("a broken form passed")
	}
	if _, _, err := o.FormRequest(parse(t, `{"message":" ","requestedSchema":`+realForm+`}`), all); err == nil {
		t.Error("a form without message passed")
	}
	link := `{"mode":"url","message":"M","url":"https://a"}`
	if got, _, err := o.FormRequest(parse(t, link), all); err != nil || string(got) != link {
		t.Errorf("another mode: %s, %v", got, err)
	}
	if _, err := Compile(Declarations{Forms: "refuse"}); err == nil || !strings.Contains(err.Error(), "check or pass") {
		t.Errorf("unknown mode: %v", err)
	}
}

func TestServerRequestsThatAskForForms(t *testing.T) {
	o := compile(t, Declarations{Forms: "check"})
	request := `{"jsonrpc":"2.0", "id":"f-1","method":"openai/elicitation/create","params":{"message":"Pick","requestedSchema":` + realForm + `}}`
	client := parse(t, formsClient)
	for name, tt := range map[string]struct {
		request string
		c       FormContext
		want    error // nil for passed unchanged
	}{
		"a good form":                {request, FormContext{Client: client}, nil},
		"a client without forms":     {request, FormContext{}, ErrNoForms},
		"a client of the newer era":  {request, FormContext{Client: client, Modern: true}, ErrNoForms},
		"another request":            {`{"id":1,"method":"sampling/createMessage","params":{}}`, FormContext{}, nil},
		"a core form":                {`{"id":1,"method":"elicitation/create","params":{"message":"","requestedSchema":{}}}`, FormContext{}, nil},
		"a form without any schema":  {`{"id":1,"method":"openai/elicitation/create","params":{"message":"M"}}`, FormContext{Client: client}, errors.ErrUnsupported},
		"a form without any members": {`{"id":1,"method":"openai/elicitation/create"}`, FormContext{Client: client}, errors.ErrUnsupported},
	} {
		got, _, err := o.ServerRequest(parse(t, tt.request), tt.c)
		switch {
		case tt.want == nil && (err != nil || string(got) != tt.request):
			t.Errorf("%s: got %s, %v", name, got, err)
		case tt.want != nil && (err == nil || got != nil || errors.Is(err, ErrNoForms) != errors.Is(tt.want, ErrNoForms)):
			t.Errorf("%s: got %s, %v", name, got, err)
		}
		if got, _, err := plain.ServerRequest(parse(t, tt.request), tt.c); err != nil || string(got) != tt.request {
			t.Errorf("%s: with forms pass got %s, %v", name, got, err)
		}
	}
}

// TestPreviewsFollowTheView: a preview opens something of the server, for which
// the rules of that thing hold.
func TestPreviewsFollowTheView(t *testing.T) {
	o := compile(t, Declarations{Forms: "check"})
	link := `{"uri":"cad://a","name":"a","_meta":{"openai/preview":{"target":{"type":"resource_link","uri":"cad://preview","name":"p"}}}}`
	request := `{"id":1,"method":"openai/elicitation/create","params":{"message":"Pick","requestedSchema":{"type":"object","properties":{"part":{"type":"string","x-openai-input":{"type":"resource","options":[` + link + `]}}}}}}`
	c := FormContext{Client: parse(t, formsClient), Readable: func(uri string) bool { return uri == "cad://preview" }}
	if got, found, err := o.ServerRequest(parse(t, request), c); err != nil || string(got) != request || len(found) > 0 {
		t.Errorf("got %s, %v, %v", got, found, err)
	}
	c.Readable = func(string) bool { return false }
	want := strings.Replace(request, `"openai/preview":{"target":{"type":"resource_link","uri":"cad://preview","name":"p"}}`, ``, 1)
	if got, found, err := o.ServerRequest(parse(t, request), c); err != nil || string(got) != want || codes(found) != "form-preview-hidden" {
		t.Errorf("got %s, %v, %v", got, found, err)
	}
}

func TestClientForms(t *testing.T) {
	for src, want := range map[string][2]bool{
		formsClient:                  {true, true},
		`{"elicitation":{}}`:         {true, false},
		`{"elicitation":{"url":{}}}`: {false, false},
		`{"elicitation":true}`:       {false, false},
		`{"extensions":{"openai/elicitation":{"form":true}}}`: {false, false},
	} {
		core, extended := ClientForms(parse(t, src))
		if core != want[0] || extended != want[1] {
			t.Errorf("%s: %v %v", src, core, extended)
		}
	}
	if core, extended := ClientForms(rawjson.Value(nil)); core || extended {
		t.Error("no capabilities count as some")
	}
}
