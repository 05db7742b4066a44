package openai

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Limits of schemas that hosts are known to have (rule S12), and of the number
// of tools in one request (S16).
const (
	hostProperties = 5000
	hostLevels     = 10
	hostEnumValues = 1000
	hostNameText   = 120_000 // characters of all names and enum values
	hostLongEnum   = 15_000  // characters of one enum of more than 250 values
	hostTools      = 128
)

// functionName is what function-calling interfaces take as a tool name, mcpName
// what MCP allows (rule S15).
var (
	functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	mcpName      = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	headerToken  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
)

// strictOnly are keywords that hosts with strict schemas refuse (rule S09).
var strictOnly = []string{
	"oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies",
	"unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames", "minProperties", "maxProperties", "uniqueItems",
}

// LintTool looks at one tool with the eyes of the hosts that read it: the
// portability rules S01 to S18 of its schemas, the name, and what a review for
// publishing asks for. Each rule is reported once for a tool, with the first
// place and the number of others. Rule S14 has nothing to report: $schema may
// stay.
func LintTool(tool rawjson.Value) []Finding {
	name, _ := tool.Get("name").Text()
	l := &linter{rules: make(map[string]*Finding), tool: name}
	l.lintName(name)
	l.lintReview(tool)
	for _, member := range []string{"inputSchema", "outputSchema"} {
		if schema := tool.Get(member); schema.Exists() || member == "inputSchema" {
			l.lintRoot(member, schema)
			l.lint(member, schema, 1)
			l.lintSize(member)
		}
	}
	return l.list()
}

// LintCatalog looks at all tools of a server together (rule S16); it does not
// repeat [LintTool].
func LintCatalog(list []rawjson.Value) []Finding {
	var found findings
	seen := make(map[string]bool)
	for _, tool := range list {
		name, _ := tool.Get("name").Text()
		if seen[name] {
			found.add("S16", name, "two tools have this name", "rename one of them")
		}
		seen[name] = true
	}
	if len(list) > hostTools {
		found.add("S16", "tools/list", fmt.Sprintf("the catalog has %d tools, and some hosts stop at %d", len(list), hostTools), "show each caller fewer tools")
	}
	return found
}

// linter collects the findings of one tool, one for each rule.
type linter struct {
	tool                                string
	rules                               map[string]*Finding
	order                               []string
	more                                map[string]int
	properties, enums, nameText, levels int
	headers                             []string
}

func (l *linter) add(rule, path, detail, fix string) {
	if _, known := l.rules[rule]; known {
		if l.more == nil {
			l.more = make(map[string]int)
		}
		l.more[rule]++
		return
	}
	l.rules[rule] = &Finding{rule, l.tool, path + ": " + detail, fix}
	l.order = append(l.order, rule)
}

func (l *linter) list() []Finding {
	var list []Finding
	for _, rule := range l.order {
		f := *l.rules[rule]
		if n := l.more[rule]; n > 0 {
			f.Detail += fmt.Sprintf(" (and in %d more places)", n)
		}
		list = append(list, f)
	}
	return list
}

func (l *linter) lintName(name string) {
	switch {
	case !mcpName.MatchString(name):
		l.add("S15", "name", "the name is none that MCP allows", "use letters, digits, underscore, hyphen and dot, up to 128")
	case !functionName.MatchString(name):
		l.add("S15", "name", "some hosts refuse dots and names beyond 64 characters", "nothing for ChatGPT; for others use letters, digits, underscore and hyphen")
	}
}

// lintReview asks for what a review for publishing asks for.
func (l *linter) lintReview(tool rawjson.Value) {
	for _, h := range hints {
		if h.name == "idempotentHint" { // optional
			continue
		}
		if _, said := tool.Get("annotations", h.name).Bool(); !said {
			l.add("hints-missing", "annotations", "a review asks for readOnlyHint, destructiveHint and openWorldHint in so many words", "add them in the server or with a hints line")
		}
	}
	if text, _ := tool.Get("description").Text(); strings.TrimSpace(text) == "" {
		l.add("description-missing", "description", "the model has only the name to go by", "add a description")
	}
}

// lintRoot checks what holds for the outermost schema only.
func (l *linter) lintRoot(path string, schema rawjson.Value) {
	if kind, _ := schema.Get("type").Text(); kind != "object" || schema.Get("properties").Kind() != rawjson.Object {
		l.add("S03", path, `the root must be of type "object" with explicit properties`, "write type object and properties, {} for none")
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		if schema.Get(keyword).Exists() {
			l.add("S04", path, keyword+" at the root is refused together with the whole catalog", "move it into a property")
		}
	}
	required := schema.Get("required").Len()
	if schema.Get("additionalProperties").Kind() != rawjson.False || required < schema.Get("properties").Len() {
		l.add("S08", path, "hosts with strict schemas want additionalProperties false and every property required", "nothing for ChatGPT")
	}
}

// lint checks one schema and those inside it.
func (l *linter) lint(path string, schema rawjson.Value, level int) {
	if schema.Kind() != rawjson.Object {
		return
	}
	l.levels = max(l.levels, level)
	kind, _ := schema.Get("type").Text()
	if pattern, ok := schema.Get("pattern").Text(); ok {
		l.lintPattern(path+".pattern", pattern)
	}
	for pattern := range schema.Get("patternProperties").Members() {
		l.lintPattern(path+".patternProperties", pattern)
	}
	for name, property := range schema.Get("properties").Members() {
		l.properties++
		l.nameText += utf8.RuneCountInString(name)
		if k := property.Kind(); k != rawjson.Object && k != rawjson.True && k != rawjson.False {
			l.add("S06", path+".properties."+clip(name), "a property must be a schema", "write an object")
		}
	}
	if format, ok := schema.Get("format").Text(); ok && !slices.Contains(portableFormats, format) {
		l.add("S07", path, fmt.Sprintf("some hosts refuse the format %q", clip(format)), "put it into the description")
	}
	for _, keyword := range strictOnly {
		if schema.Get(keyword).Exists() {
			l.add("S09", path, "hosts with strict schemas refuse "+keyword, "nothing for ChatGPT")
		}
	}
	l.lintByType(path, schema, kind, level)
	if enum := schema.Get("enum"); enum.Exists() {
		l.lintEnum(path, enum)
	}
	if ref, ok := schema.Get("$ref").Text(); ok && !strings.HasPrefix(ref, "#") {
		l.add("S13", path, "a reference to another document is not followed", "put the schema under $defs")
	}
	if schema.Get("default").Exists() {
		l.add("S17", path, "some hosts refuse default", "put it into the description")
	}
	l.lintHeader(path, schema, kind)
	mapSubschemas(schema, func(sub string, v rawjson.Value) rawjson.Value {
		l.lint(path+"."+sub, v, level+1)
		return v
	})
}

func (l *linter) lintPattern(path, pattern string) {
	err := portablePattern(pattern)
	switch {
	case errors.Is(err, errUnicodeClass):
		l.add("S01", path, err.Error()+", and one refusal costs the whole catalog", "list the characters, or put the rule into the description")
	case err != nil:
		l.add("S02", path, "not every host can read the pattern: "+err.Error(), "use what RE2, Python and ECMAScript share")
	}
}

func (l *linter) lintByType(path string, schema rawjson.Value, kind string, level int) {
	items := schema.Get("items")
	switch {
	case kind == "array" && !items.Exists(), items.Kind() == rawjson.Array, schema.Get("prefixItems").Exists():
		l.add("S05", path, "an array needs items, and items must be one schema", "write one schema for all items")
	}
	if kind == "null" && (schema.Get("enum").Exists() || schema.Get("const").Exists()) {
		l.add("S10", path, "enum or const at type null is refused", "leave it out: null is the only value")
	}
	if kind == "object" && level > 1 && schema.Len() == 1 {
		l.add("S11", path, "an object schema that says nothing may fail the whole listing", "declare its properties or additionalProperties")
	}
}

func (l *linter) lintEnum(path string, enum rawjson.Value) {
	length := 0
	for value := range enum.Elements() {
		text, _ := value.Text()
		length += utf8.RuneCountInString(text)
	}
	l.enums += enum.Len()
	l.nameText += length
	if enum.Len() > 250 && length > hostLongEnum {
		l.add("S12", path, fmt.Sprintf("an enum of more than 250 values may hold %d characters in all", hostLongEnum), "offer fewer values")
	}
}

// lintHeader checks x-mcp-header, by which a client mirrors an argument into an
// HTTP header.
func (l *linter) lintHeader(path string, schema rawjson.Value, kind string) {
	header := schema.Get("x-mcp-header")
	if !header.Exists() {
		return
	}
	name, _ := header.Text()
	primitive := kind == "string" || kind == "number" || kind == "integer" || kind == "boolean"
	if !headerToken.MatchString(name) || containsFold(l.headers, name) || !primitive {
		l.add("S18", path, "x-mcp-header must be a token of its own on a primitive property, or clients drop the tool", "correct it in the server")
	}
	l.headers = append(l.headers, name)
}

// lintSize checks the limits of hosts for a whole schema.
func (l *linter) lintSize(path string) {
	if l.properties > hostProperties || l.levels > hostLevels || l.enums > hostEnumValues || l.nameText > hostNameText {
		l.add("S12", path, fmt.Sprintf("hosts stop at %d properties, %d levels, %d enum values and %d characters of names", hostProperties, hostLevels, hostEnumValues, hostNameText), "make the schema smaller")
	}
	l.properties, l.levels, l.enums, l.nameText, l.headers = 0, 0, 0, 0, nil
}
