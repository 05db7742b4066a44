package openai

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Bounds of a repair: an edit costs by the size of the schema around it.
const (
	maxRepairSize = 256 << 10 // bytes of one schema
	maxRepairs    = 64        // edits of one schema
)

// portableFormats are those that hosts with strict schemas know (rule S07).
var portableFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// repairSchemas takes out of a tool's schemas what makes hosts refuse the whole
// catalog, where that only advises the model: patterns and formats that some
// host cannot read, whose rule moves into the description, and a redundant enum
// at type null. It also adds items and properties without content, which mean
// what their absence means. The server still validates with the schema it has.
func repairSchemas(tool rawjson.Value, name string, found *findings) rawjson.Value {
	for _, member := range []string{"inputSchema", "outputSchema"} {
		schema := tool.Get(member)
		if schema.Kind() != rawjson.Object {
			continue
		}
		if len(schema) > maxRepairSize {
			found.add("schema-too-large", name, fmt.Sprintf("%s has more than %d bytes and is not repaired", member, maxRepairSize), "make it smaller")
			continue
		}
		r := schemaRepair{name, found, maxRepairs}
		repaired := r.repair(member, schema)
		if kind, _ := repaired.Get("type").Text(); kind == "object" && !repaired.Get("properties").Exists() {
			repaired = r.edit("S03", member, "properties {} added", must(repaired.Set(rawjson.Value("{}"), "properties")), repaired)
		}
		if !same(repaired, schema) {
			tool = must(tool.Set(repaired, member))
		}
	}
	return tool
}

type schemaRepair struct {
	tool  string
	found *findings
	left  int
}

// edit reports one repair and answers the schema after it, or before it if
// there were too many.
func (r *schemaRepair) edit(rule, path, what string, after, before rawjson.Value) rawjson.Value {
	if r.left == 0 {
		return before
	}
	if r.left--; r.left == 0 {
		r.found.add("schema-repairs-limit", r.tool, fmt.Sprintf("more than %d repairs are needed, and the rest is left out", maxRepairs), "correct the schema in the server")
	}
	r.found.add(rule+"-repaired", r.tool, path+": "+what, "correct the schema in the server")
	return after
}

func (r *schemaRepair) repair(path string, schema rawjson.Value) rawjson.Value {
	if schema.Kind() != rawjson.Object {
		return schema
	}
	schema = mapSubschemas(schema, func(sub string, v rawjson.Value) rawjson.Value { return r.repair(path+"."+sub, v) })
	if pattern, ok := schema.Get("pattern").Text(); ok {
		if err := portablePattern(pattern); err != nil {
			rule := "S02"
			if errors.Is(err, errUnicodeClass) {
				rule = "S01"
			}
			schema = r.edit(rule, path, "pattern moved to the description: "+err.Error(), moveRule(schema, "pattern", "Must match the pattern "+pattern), schema)
		}
	}
	if format, ok := schema.Get("format").Text(); ok && !slices.Contains(portableFormats, format) {
		schema = r.edit("S07", path, fmt.Sprintf("format %q moved to the description", clip(format)), moveRule(schema, "format", "Format: "+format+"."), schema)
	}
	switch kind, _ := schema.Get("type").Text(); kind {
	case "null":
		if schema.Get("enum").Exists() || schema.Get("const").Exists() {
			schema = r.edit("S10", path, "enum or const at type null dropped", schema.Delete("enum").Delete("const"), schema)
		}
	case "array":
		if !schema.Get("items").Exists() && !schema.Get("prefixItems").Exists() {
			schema = r.edit("S05", path, "items {} added", must(schema.Set(rawjson.Value("{}"), "items")), schema)
		}
	}
	return schema
}

// moveRule drops a keyword and puts its rule behind the description.
func moveRule(schema rawjson.Value, keyword, rule string) rawjson.Value {
	text, _ := schema.Get("description").Text()
	if text = strings.TrimSpace(text); text != "" {
		if !strings.HasSuffix(text, ".") {
			text += "."
		}
		rule = text + " " + rule
	}
	return must(schema.Delete(keyword).Set(rawjson.Quote(rule), "description"))
}
