package arguments

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const partSchema = `{
	"$schema": "http://json-schema.org/draft-07/schema#",
	"type": "object",
	"properties": {
		"path": {"type": "string", "pattern": "^/parts/[\\w/]+$", "maxLength": 20},
		"count": {"type": "integer", "minimum": 1, "maximum": 9007199254740992},
		"ratio": {"type": "number", "multipleOf": 0.1},
		"unit": {"enum": ["mm", "inch"]},
		"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
		"tree": {"$ref": "#/definitions/tree"}
	},
	"required": ["path"],
	"additionalProperties": false,
	"definitions": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/definitions/tree"}}, "additionalProperties": false}}
}`

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	tests := []struct{ arguments, want string }{
		{`{"path":"/parts/a","count":3,"ratio":0.3,"unit":"mm","tags":["a"],"tree":{"left":{"left":{}}}}`, ""},
		{`{"path":"/parts/a","count":3.0}`, ""},
		{``, `invalid arguments: "path" is missing`},
		{`{"path":4}`, `invalid arguments: /path: must be string, is integer`},
		{`{"path":"/etc"}`, `invalid arguments: /path: must match "^/parts/[\\w/]+$"`},
		{`{"path":"/parts/aaaaaaaaaaaaaaaa"}`, `invalid arguments: /path: must have at most 20 characters`},
		{`{"path":"/parts/a","count":0}`, `invalid arguments: /count: must be at least 1`},
		{`{"path":"/parts/a","count":9007199254740993}`, `invalid arguments: /count: must be at most 9007199254740992`},
		{`{"path":"/parts/a","count":1.5}`, `invalid arguments: /count: must be integer, is number`},
		{`{"path":"/parts/a","ratio":0.35}`, `invalid arguments: /ratio: must be a multiple of 0.1`},
		{`{"path":"/parts/a","unit":"cm"}`, `invalid arguments: /unit: must be one of "mm", "inch"`},
		{`{"path":"/parts/a","tags":["a",7,"a"]}`, `invalid arguments: /tags/1: must be string, is integer; /tags/2: is there twice`},
		{`{"path":"/parts/a","tree":{"left":{"a/b~":1}}}`, `invalid arguments: /tree/left: "a/b~" is not known`},
		{`{"path":"/parts/a","a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`, `invalid arguments: "a" is not known; "b" is not known; "c" is not known; "d" is not known; "e" is not known`},
		{`[1]`, `invalid arguments: must be an object`},
		{`{"path":"/parts/a","path":"/parts/b"}`, `invalid arguments: is not valid JSON`},
		{`{"path":"/parts/a"} {}`, `invalid arguments: is not one JSON value`},
		{`{"path":"/parts/a","count":1e999999999}`, `invalid arguments: holds a number out of range`},
		{`{"path":"/parts/a","count":1.` + strings.Repeat("0", 500) + `}`, `invalid arguments: holds a number with too many digits`},
		{`{"path":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`, `invalid arguments: is nested deeper than 64 levels`},
	}
	var c Checker
	for _, tt := range tests {
		err := c.Check([]byte(partSchema), []byte(tt.arguments))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%.80s:\n got %s\nwant %s", tt.arguments, got, tt.want)
		}
	}
}

func TestSchemasThatCannotBeCheckedSaySo(t *testing.T) {
	tests := []struct{ schema, want string }{
		{``, "there is none"},
		{`{`, "is not valid JSON"},
		{`[]`, "object or a boolean"},
		{`{"type":"x"`, "not valid JSON"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema"}`, "neither draft"},
		{`{"properties":{"a":{"$ref":"https://evil.example/schema"}}}`, "leads out of the schema"},
		{`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "leads out of the schema"},
		{`{"properties":{"a":{"$ref":"#/nowhere"}}}`, "leads nowhere"},
		{`{"properties":{"a":{"$ref":"#x"}}}`, "leads nowhere"},
		{`{"$ref":"#/properties","properties":[]}`, "properties is not an object"},
		{`{"$dynamicRef":"#x"}`, "$dynamicRef is not supported"},
		{`{"properties":{"a":{"$id":"https://x.example/"}}}`, "$id inside"},
		{`{"properties":{"a":{"type":"file"}}}`, `"/properties/a": unknown type "file"`},
		{`{"required":true}`, "required is not an array"},
		{`{"minimum":"1"}`, "minimum is not a number"},
		{`{"minLength":-1}`, "minLength is not a whole number"},
		{`{"multipleOf":0}`, "multipleOf is not above zero"},
		{`{"anyOf":{}}`, "anyOf is not an array"},
		{`{"pattern":"(?=a)"}`, "not supported"},
		{`{"pattern":"(a)\\1"}`, "not supported"},
		{`{"patternProperties":{"(":{}}}`, "not supported"},
		{`{"pattern":"` + strings.Repeat("a", 2000) + `"}`, "longer than"},
		{`{"pattern":"(a{100}){10}b{1000}c{1000}d{1000}e{1000}"}`, "too large"},
		{`{"$comment":"` + strings.Repeat("a", MaxSchema) + `"}`, "larger than"},
		{`{"allOf":[` + strings.Repeat("{},", maxNodes) + `{}]}`, "more than 10000 subschemas"},
		{`{"not":` + strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 70) + `}`, "nested deeper"},
		{`{"items":{"$schema":"http://json-schema.org/draft-07/schema#"}}`, "$schema inside"},
		{`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, "there twice"},
		{`{"properties":{"a":{"pattern":"[^]"}}}`, "read in different ways"},
		{`{"allOf":[` + strings.Repeat(`{"pattern":"a{1000}b{1000}"},`, 40) + `{}]}`, "too large together"},
		{`{"dependentRequired":{"a":"b"}}`, "object or a boolean"},
		{`{"$vocabulary":{}}`, "$vocabulary is not supported"},
		{`{"properties":{"a":{"maximum":` + strings.Repeat("9", 500) + `}}}`, "too many digits"},
		{`{"properties":{"a":{"$ref":"#/properties/%zz"}}}`, "malformed"},
		{`{"enum":1}`, "enum is not an array"},
		{`{"properties":{"a":{"type":null}}}`, "type is null"},
		{`{"uniqueItems":1,"type":"array"}`, "uniqueItems is not a boolean"},
	}
	var c Checker
	for _, tt := range tests {
		for range 2 { // the second answer comes from the cache
			err := c.Check([]byte(tt.schema), []byte(`{}`))
			var unsupported *UnsupportedError
			if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%.80s: got %v, want unsupported: %s", tt.schema, err, tt.want)
			}
		}
	}
}

// Each of these keeps a naive validator busy for longer than anybody waits, or
// ends the process.
func TestWorkIsBounded(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + `{}` + strings.Repeat(`}`, n) }
	numbers := strings.TrimSuffix(strings.Repeat("1,", 200_000), ",")
	tests := map[string]struct{ schema, arguments string }{
		"circle":            {`{"$ref":"#"}`, `{}`},
		"circle of two":     {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{}`},
		"exponential":       {`{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["b"]},{"properties":{"a":{"$ref":"#"}},"required":["b"]},{"properties":{"a":{"$ref":"#"}},"required":["b"]}]}`, deep(50)},
		"quadratic":         {`{"properties":{"a":{"contains":{"const":2},"allOf":[` + strings.Repeat(`{"contains":{"const":2}},`, 2000) + `{}]}}}`, `{"a":[` + numbers + `]}`},
		"slow pattern":      {`{"properties":{"a":{"pattern":"^(a|aa|aaa|aaaa){150}b$"}}}`, `{"a":"` + strings.Repeat("a", 1<<20) + `"}`},
		"marks":             {`{"unevaluatedProperties":false,"allOf":[{"$ref":"#"}]}`, `{"a":1}`},
		"many alternatives": {`{"properties":{"a":{"items":{"oneOf":[` + strings.Repeat(`{"type":"string"},`, 500) + `{"type":"null"}]}}}}`, `{"a":[` + numbers + `]}`},
	}
	var c Checker
	for name, tt := range tests {
		err := c.Check([]byte(tt.schema), []byte(tt.arguments))
		if _, ok := errors.AsType[*InvalidError](err); !ok {
			t.Errorf("%s: got %v, want the arguments refused", name, err)
		}
	}
	honest := `{"properties":{"a":{"type":"array","items":{"type":"integer","minimum":0}}}}`
	if err := c.Check([]byte(honest), []byte(`{"a":[`+numbers+`]}`)); err != nil {
		t.Errorf("long but honest arguments are refused: %v", err)
	}
}

func TestPatternsAreThoseOfECMAScript(t *testing.T) {
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{`^\d+$`, "12", true},
		{`^\d+$`, "12\n", false},
		{`^\u0041\u{1F600}\uD83D\uDE00$`, "A\U0001F600\U0001F600", true},
		{`^\s$`, "\u00a0", true},
		{`^\S$`, "\u00a0", false},
		{`^[\s]$`, "\ufeff", true},
		{`^.$`, "\u2028", false},
		{`^[[.]$`, "[", true},
		{`^[.]$`, "x", false},
		{`^\cJ$`, "\n", true},
		{`^\0$`, "\x00", true},
		{`^a\/b\-c$`, "a/b-c", true},
		{`^\p{Lu}$`, "Ä", true},
		{`^(?<year>\d{4})$`, "2026", true},
		{`x`, "axb", true},
	}
	for _, tt := range tests {
		p, err := compilePattern(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
		} else if p.MatchString(tt.text) != tt.want {
			t.Errorf("%s matches %q: want %v", tt.pattern, tt.text, tt.want)
		}
	}
	for _, text := range []string{`\A`, `\z`, `\Qa\E`, `[[:alpha:]]`, `(?i)a`, `(?P<a>b)`, `(?<=a)`, `a(?!b)`, `\k<a>`, `\`, `\u12`, `\uD83D`, `\u{110000}`, `[\S]`, `\x4`, `[]a]`, `\1`, `\c1`, `[b-a]`} {
		if _, err := compilePattern(text); err == nil {
			t.Errorf("pattern %s is accepted, though RE2 reads it differently or not at all", text)
		}
	}
}

func TestTheCacheKeepsTheLastUsed(t *testing.T) {
	var c Checker
	for i := range maxCached + 10 {
		if err := c.Check(fmt.Appendf(nil, `{"title":"%d"}`, i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.known) != maxCached || c.order.Len() != maxCached {
		t.Errorf("%d schemas are kept, want %d", len(c.known), maxCached)
	}
	large := strings.Repeat("x", MaxSchema-100)
	for i := range 2 * maxCachedBytes / MaxSchema {
		if err := c.Check(fmt.Appendf(nil, `{"title":"%d","$comment":%q}`, i, large), nil); err != nil {
			t.Fatal(err)
		}
	}
	if c.bytes > maxCachedBytes {
		t.Errorf("%d bytes are kept, more than %d", c.bytes, maxCachedBytes)
	}
}

func TestBoundsHoldWithoutASchema(t *testing.T) {
	tests := []struct {
		bounds    Bounds
		arguments string
		want      string
	}{
		{Bounds{MaxBytes: 10}, `{"a":1}`, ""},
		{Bounds{MaxBytes: 10}, `{"a":12345}`, "larger than 10 bytes"},
		{Bounds{MaxDepth: 1}, `{"a":1}`, ""},
		{Bounds{MaxDepth: 1}, `{"a":[1]}`, "deeper than 1 level"},
		{Bounds{MaxDepth: 2}, `{"a":[1],"b":{"c":1}}`, ""},
		{Bounds{MaxDepth: 2}, ``, ""},
	}
	for _, tt := range tests {
		err := tt.bounds.Admit([]byte(tt.arguments))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v, %s: got %v, want %q", tt.bounds, tt.arguments, err, tt.want)
		}
	}
	for _, bounds := range []Bounds{{}, {MaxBytes: -1}, {MaxDepth: -1}} {
		if bounds.Check() == nil {
			t.Errorf("%+v means nothing and is accepted", bounds)
		}
	}
}

func TestTheOperatorDecidesAboutUnsupportedSchemas(t *testing.T) {
	unsupported := error(&UnsupportedError{})
	for _, tt := range []struct {
		config Config
		err    error
		want   bool
	}{
		{Config{}, nil, true},
		{Config{}, unsupported, false},
		{Config{OnUnsupported: Refuse}, unsupported, false},
		{Config{OnUnsupported: Pass}, unsupported, true},
		{Config{OnUnsupported: Pass}, &InvalidError{}, false},
	} {
		if got := tt.config.Passes(tt.err); got != tt.want {
			t.Errorf("%+v passes %v = %v, want %v", tt.config, tt.err, got, tt.want)
		}
	}
	for _, config := range []Config{{OnInvalid: "x"}, {OnUnsupported: "x"}} {
		if config.Check() == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(partSchema, `{"path":"/parts/a","tags":["a","b"]}`)
	f.Add(`{"unevaluatedProperties":false,"anyOf":[{"properties":{"a":true}},{"$ref":"#/$defs/x"}],"$defs":{"x":{"$anchor":"y","required":["b"]}}}`, `{"a":1,"b":[1,2.5e3]}`)
	f.Add(`{"if":{"required":["a"]},"then":{"dependentSchemas":{"a":{"minProperties":2}}},"else":{"not":{}}}`, `{}`)
	f.Add(`{"properties":{"a":{"prefixItems":[{"const":1.0}],"items":false,"contains":{"enum":[1,null]},"unevaluatedItems":{"$ref":"#"}}}}`, `{"a":[1]}`)
	f.Add(`{"patternProperties":{"^\\u0061":{"multipleOf":0.01}},"propertyNames":{"pattern":"\\S"}}`, `{"a":0.07}`)
	f.Fuzz(func(t *testing.T, schema, arguments string) {
		var c Checker
		first := c.Check([]byte(schema), []byte(arguments))
		second := c.Check([]byte(schema), []byte(arguments))
		if fmt.Sprint(first) != fmt.Sprint(second) {
			t.Fatalf("two answers: %v and %v", first, second)
		}
		var invalid *InvalidError
		var unsupported *UnsupportedError
		switch {
		case first == nil, errors.As(first, &unsupported):
		case errors.As(first, &invalid) && len(invalid.Problems) > 0 && len(invalid.Problems) <= maxProblems:
		default:
			t.Fatalf("unknown answer %#v", first)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	var c Checker
	schema, arguments := []byte(partSchema), []byte(`{"path":"/parts/a","count":3,"unit":"mm","tags":["a","b"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Check(schema, arguments); err != nil {
			b.Fatal(err)
		}
	}
}
