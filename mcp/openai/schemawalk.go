package openai

import (
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// schemaPlace says where a keyword of JSON Schema holds further schemas.
type schemaPlace int

const (
	noSchema   schemaPlace = iota
	oneSchema              // the value is a schema
	schemaList             // an array of schemas
	schemaMap              // an object whose members are schemas
)

// placeOf sorts the keywords of drafts 7 to 2020-12.
func placeOf(keyword string) schemaPlace {
	switch keyword {
	case "items", "additionalItems", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema":
		return oneSchema
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return schemaList
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return schemaMap
	default:
		return noSchema
	}
}

// mapSubschemas replaces each direct subschema by f's answer. Where nothing
// changed the result is schema itself.
func mapSubschemas(schema rawjson.Value, f func(path string, sub rawjson.Value) rawjson.Value) rawjson.Value {
	out := schema
	for keyword, value := range schema.Members() {
		kept := value
		switch place := placeOf(keyword); {
		case place == schemaMap:
			for name, sub := range value.Members() {
				if changed := f(keyword+"."+clip(name), sub); !same(changed, sub) {
					kept = must(kept.Set(changed, name))
				}
			}
		case place == schemaList, place == oneSchema && value.Kind() == rawjson.Array:
			kept = value.MapElements(func(sub rawjson.Value) (rawjson.Value, bool) { return f(keyword, sub), true })
		case place == oneSchema && value.Kind() == rawjson.Object:
			kept = f(keyword, value)
		}
		if !same(kept, value) {
			out = must(out.Set(kept, keyword))
		}
	}
	return out
}
