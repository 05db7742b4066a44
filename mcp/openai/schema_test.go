package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func TestPortablePatterns(t *testing.T) {
	for _, p := range []string{
		`^[A-Z]{3}$`, `a|b`, `(?:x)+?`, `\d{2,}`, `\.\/\-`[:4], `[a-z\-]`, `[^\]]`, `x{1,3}`, `\x41`, `\bword\b`, `[\w.]+@[\w.]+`, ``,
	} {
		if err := portablePattern(p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	for _, p := range []string{
		`^\p{L}+$`, `[\p{L}]`, `\pL`, `\P{Lu}`, `(?=x)`, `(?!x)`, `(?<=x)`, `(?<n>x)`, `(?P<n>x)`, `(?i)x`, `(a)\1`, `\0`, `\cA`, `\u{41}`, `\u0041`,
		`\A`, `\Z`, `\z`, `\Q.\E`, `\:`, `a++`, `[[:alpha:]]`, `a{`, `a}`, `]`, `[`, `(`, `*a`, `[]a]`, `x{2,1}`, `[\b]`, `\`, `\x4`,
	} {
		if err := portablePattern(p); err == nil {
			t.Errorf("%s is called portable", p)
		}
	}
}

func TestSchemaRules(t *testing.T) {
	enum := `["` + strings.Join(strings.Split(strings.Repeat("a", 1001), ""), `","`) + `"]`
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 11) + `{"type":"string"}` + strings.Repeat(`}}`, 11)
	tests := []struct{ rule, schema string }{
		{"S01", `{"type":"object","properties":{"a":{"type":"string","pattern":"^\\p{L}+$"}}}`},
		{"S01", `{"type":"object","properties":{},"patternProperties":{"^\\p{L}":{"type":"string"}}}`},
		{"S02", `{"type":"object","properties":{"a":{"type":"string","pattern":"(?=a)"}}}`},
		{"S03", `{"type":"object"}`},
		{"S03", `{"properties":{}}`},
		{"S03", `null`},
		{"S04", `{"type":"object","properties":{},"anyOf":[{"required":["a"]}]}`},
		{"S05", `{"type":"object","properties":{"a":{"type":"array"}}}`},
		{"S05", `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`},
		{"S05", `{"type":"object","properties":{"a":{"type":"array","items":{},"prefixItems":[{}]}}}`},
		{"S06", `{"type":"object","properties":{"type":"object"}}`},
		{"S07", `{"type":"object","properties":{"a":{"type":"string","format":"uri"}}}`},
		{"S08", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`},
		{"S09", `{"type":"object","properties":{"a":{"type":"array","items":{},"uniqueItems":true}}}`},
		{"S10", `{"type":"object","properties":{"a":{"anyOf":[{"type":"null","enum":[null]}]}}}`},
		{"S11", `{"type":"object","properties":{"a":{"type":"object"}}}`},
		{"S12", `{"type":"object","properties":{"a":{"type":"string","enum":` + enum + `}}}`},
		{"S12", deep},
		{"S13", `{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`},
		{"S17", `{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`},
		{"S18", `{"type":"object","properties":{"a":{"type":"object","properties":{},"x-mcp-header":"A"}}}`},
		{"S18", `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`},
		{"S18", `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`},
	}
	for _, tt := range tests {
		found := LintTool(parse(t, `{"name":"t","inputSchema":`+tt.schema+`}`))
		if !strings.Contains(" "+codes(found)+" ", " "+tt.rule+" ") {
			t.Errorf("%.100s: found %s, want %s", tt.schema, codes(found), tt.rule)
		}
	}

	clean := `{"name":"t","description":"D","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"array","items":{"type":"string","pattern":"^[a-z]+$"}}},"required":["a"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}}`
	if found := LintTool(parse(t, clean)); len(found) > 0 {
		t.Errorf("a clean tool: %v", found)
	}
	if found := LintTool(parse(t, strings.Replace(clean, `"name":"t"`, `"name":"cad.t"`, 1))); codes(found) != "S15" {
		t.Errorf("a dotted name: %v", found)
	}
	several := LintTool(parse(t, `{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","default":""},"b":{"type":"string","default":""}}}}`))
	for _, f := range several {
		if f.Code == "S17" && !strings.Contains(f.Detail, "in 1 more places") {
			t.Errorf("repeated rule: %v", f)
		}
	}
}

func TestCatalogRules(t *testing.T) {
	var list []rawjson.Value
	for range 129 {
		list = append(list, rawjson.Value(`{"name":"same"}`))
	}
	if found := LintCatalog(list[:2]); codes(found) != "S16" || !strings.Contains(found[0].Detail, "two tools") {
		t.Errorf("two of one name: %v", found)
	}
	if found := LintCatalog(list); !strings.Contains(found[len(found)-1].Detail, "129 tools") {
		t.Errorf("many tools: %v", found[len(found)-1])
	}
}

// TestRepairMovesTheRuleAndChangesNothingElse: the model still reads the rule,
// and the server still validates it.
func TestRepairMovesTheRuleAndChangesNothingElse(t *testing.T) {
	o := compile(t, Declarations{RepairSchemas: true})
	tool := `{"name":"t", "inputSchema":{"type":"object","properties":{` +
		`"name":{"type":"string","description":"The name","pattern":"^\\p{L}+$"},` +
		`"site":{ "type":"string","format":"uri" },` +
		`"list":{"type":"array"},` +
		`"none":{"anyOf":[{"type":"null","const":null},{"type":"string","pattern":"^a$"}]},` +
		`"when":{"type":"string","format":"date"}},"required":["name"]},"outputSchema":{"type":"object"}}`
	want := `{"name":"t", "inputSchema":{"type":"object","properties":{` +
		`"name":{"type":"string","description":"The name. Must match the pattern ^\\p{L}+$"},` +
		`"site":{ "type":"string","description":"Format: uri." },` +
		`"list":{"type":"array","items":{}},` +
		`"none":{"anyOf":[{"type":"null"},{"type":"string","pattern":"^a$"}]},` +
		`"when":{"type":"string","format":"date"}},"required":["name"]},"outputSchema":{"type":"object","properties":{}}}`
	got, found := o.Tool(parse(t, tool))
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !equal(got, parse(t, want)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if codes(found) != "S01-repaired S07-repaired S05-repaired S10-repaired S03-repaired" {
		t.Errorf("findings %s", codes(found))
	}
	if again, found := o.Tool(got); !equal(again, got) || len(found) > 0 {
		t.Errorf("the second time gave %s, %v", again, found)
	}
	if got, _ := plain.Tool(parse(t, tool)); string(got) != tool {
		t.Errorf("without the option: %s", got)
	}
}

func TestRepairIsBounded(t *testing.T) {
	o := compile(t, Declarations{RepairSchemas: true})
	many := strings.Repeat(`{"type":"array"},`, 100)
	tool := parse(t, `{"name":"t","inputSchema":{"type":"object","properties":{"a":{"anyOf":[`+many[:len(many)-1]+`]}}}}`)
	got, found := o.Tool(tool)
	if n := strings.Count(string(got), `"items"`); n != 64 {
		t.Errorf("%d repairs", n)
	}
	if !strings.Contains(codes(found), "schema-repairs-limit") {
		t.Errorf("findings %s", codes(found))
	}
	large := parse(t, `{"name":"t","inputSchema":{"type":"object","description":"`+strings.Repeat("x", 300<<10)+`"}}`)
	if got, found := o.Tool(large); len(got) != len(large) || codes(found) != "schema-too-large" {
		t.Errorf("findings %s", codes(found))
	}
}
