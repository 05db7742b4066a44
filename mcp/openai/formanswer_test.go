package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// What was asked holds the schema of each form of OpenAI, nothing of other
// questions, and nothing at all where forms pass.
func TestWhatWasAskedIsKept(t *testing.T) {
	check := compile(t, Declarations{Forms: "check"})
	if got, want := string(check.Asked(parse(t, multiRound))), `{"details":`+realForm+`,"other":null}`; got != want {
		t.Errorf("asked %s\nwant %s", got, want)
	}
	if got := string(check.Asked(parse(t, `{"resultType":"input_required","requestState":"busy"}`))); got != `{}` {
		t.Errorf("a result without questions asks %s", got)
	}
	legacy := func(method, mode string) rawjson.Value {
		return parse(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+mode+`"message":"Pick","requestedSchema":`+realForm+`}}`)
	}
	if got := string(check.FormAsked(legacy("openai/elicitation/create", `"mode":"form",`))); got != realForm {
		t.Errorf("asked %s", got)
	}
	for what, got := range map[string]rawjson.Value{
		"a complete result":    check.Asked(parse(t, `{"resultType":"complete","content":[]}`)),
		"forms pass":           plain.Asked(parse(t, multiRound)),
		"forms pass, request":  plain.FormAsked(legacy("openai/elicitation/create", "")),
		"a core form":          check.FormAsked(legacy("elicitation/create", "")),
		"an address to open":   check.FormAsked(legacy("openai/elicitation/create", `"mode":"url",`)),
		"a request for models": check.FormAsked(parse(t, `{"method":"sampling/createMessage","params":{}}`)),
	} {
		if got != nil {
			t.Errorf("%s asks %s", what, got)
		}
	}
}

func TestAnswersMustHaveBeenAskedFor(t *testing.T) {
	o := compile(t, Declarations{Forms: "check"})
	asked := o.Asked(parse(t, multiRound))
	for name, tt := range map[string]struct {
		responses string
		ok        bool
		foreign   bool // not asked
	}{
		"both":              {`{"details":{"action":"accept","content":{"part":"cad://hex"}},"other":{"role":"assistant"}}`, true, false},
		"one of two":        {`{"other":7}`, true, false},
		"none":              {`{}`, true, false},
		"another":           {`{"elsewhere":{"action":"accept"}}`, false, true},
		"a bad one":         {`{"details":{"action":"accept","content":{"part":7}}}`, false, false},
		"not offered":       {`{"details":{"action":"accept","content":{"part":"cad://nut"}}}`, false, false},
		"a list":            {`[]`, false, false},
		"an answer of null": {`{"details":null}`, false, false},
	} {
		err := o.CheckAnswers(asked, parse(t, tt.responses))
		if (err == nil) != tt.ok || errors.Is(err, ErrNotAsked) != tt.foreign {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzFormAnswer proves that content accepted here is accepted by a validator of
// all JSON Schema.
func FuzzFormAnswer(f *testing.F) {
	const schema = `{"type":"object","properties":{"part":{"type":"string","minLength":2,"maxLength":9,"pattern":"^[a-z]*$"},` +
		`"finish":{"type":"string","oneOf":[{"const":"zinc","title":"Zinc"},{"const":"brass","title":"Brass"}]},"count":{"type":"integer","minimum":1,"maximum":5},` +
		`"length":{"type":"number","minimum":-1,"maximum":1e3},"rush":{"type":"boolean"},` +
		`"colors":{"type":"array","minItems":1,"maxItems":2,"uniqueItems":true,"items":{"type":"string","enum":["red","blue"]}}},"required":["count"],"additionalProperties":false}`
	for _, content := range []string{
		`{"part":"ab","finish":"zinc","count":1,"length":2.5,"rush":true,"colors":["red"]}`, `{"count":5.0,"length":1e-7}`, `{"count":"1"}`,
		`{"count":1,"colors":["red","red"]}`, `{"count":1,"part":"é"}`, `{"count":1,"__proto__":{}}`, `{"count":1e0}`,
	} {
		f.Add([]byte(content))
	}
	var reference jsonschema.Schema
	if err := json.Unmarshal([]byte(schema), &reference); err != nil {
		f.Fatal(err)
	}
	resolved := sure(reference.Resolve(nil))
	f.Fuzz(func(t *testing.T, content []byte) {
		value, err := rawjson.Parse(content, 64)
		if err != nil {
			return
		}
		answer, err := rawjson.Value(`{"action":"accept"}`).Set(value, "content")
		if err != nil || plain.CheckAnswer(rawjson.Value(schema), answer) != nil {
			return
		}
		var instance map[string]any
		if err := json.Unmarshal(value, &instance); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		if err := resolved.Validate(instance); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
	})
}

// An answer is bounded by the form it belongs to, however large it is.
func TestAnswersAreAsLargeAsTheFormAllows(t *testing.T) {
	schema := rawjson.Value(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"string"}}}}`)
	long := strings.Repeat("ä", 4096)
	for answer, ok := range map[string]bool{
		`{"a":"` + long + `"}`:  true,
		`{"a":"` + long + `ä"}`: false,
		`{"b":[` + strings.TrimSuffix(strings.Repeat(`"x",`, 64), ",") + `]}`: true,
		`{"b":[` + strings.TrimSuffix(strings.Repeat(`"x",`, 65), ",") + `]}`: false,
	} {
		if err := plain.CheckAnswer(schema, rawjson.Value(`{"action":"accept","content":`+answer+`}`)); (err == nil) != ok {
			t.Errorf("%.20s… of %d bytes: %v, want accepted %v", answer, len(answer), err, ok)
		}
	}
}
