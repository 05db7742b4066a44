package openai

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// What a host sends without asking the model must be accepted by the tool. The
// functions below prove that from the tool's schema. They know few keywords on
// purpose: what they do not know might refuse, so it proves nothing.

// acceptsEmpty proves that a schema accepts {}.
func acceptsEmpty(schema rawjson.Value) error {
	if err := objectSchema(schema); err != nil {
		return err
	}
	return requiresOnly(schema)
}

// acceptsFile proves that a schema accepts {"file": {"name", "resourceUri"}}.
// (Extensions, File Extension Entrypoint, FileInput.)
func acceptsFile(schema rawjson.Value) error {
	if err := objectSchema(schema); err != nil {
		return err
	}
	if err := requiresOnly(schema, "file"); err != nil {
		return err
	}
	file := dereference(schema, schema.Get("properties", "file"))
	if err := objectSchema(file); err != nil {
		return fmt.Errorf("property file: %w", err)
	}
	if err := requiresOnly(file, "name", "resourceUri"); err != nil {
		return fmt.Errorf("property file: %w", err)
	}
	for _, name := range []string{"name", "resourceUri"} {
		if err := stringSchema(dereference(schema, file.Get("properties", name))); err != nil {
			return fmt.Errorf("property file.%s: %w", name, err)
		}
	}
	return nil
}

// acceptsOnly proves that a schema accepts an object with exactly the property
// called name, and returns the schema of that property.
func acceptsOnly(schema rawjson.Value, name string) (rawjson.Value, error) {
	if err := objectSchema(schema); err != nil {
		return nil, err
	}
	if err := requiresOnly(schema, name); err != nil {
		return nil, err
	}
	property := dereference(schema, schema.Get("properties", name))
	if property.Kind() != rawjson.Object {
		return nil, fmt.Errorf("property %s is not declared", name)
	}
	return property, nil
}

// dereference follows references to the definitions of the same schema, as
// generators write them for named types. What is more than a reference with
// annotations beside it stays as it is.
func dereference(root, schema rawjson.Value) rawjson.Value {
	for range 8 {
		ref, ok := schema.Get("$ref").Text()
		place, name, local := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
		if !ok || !local || !strings.HasPrefix(ref, "#/") || place != "$defs" && place != "definitions" || strings.ContainsAny(name, "/~%") {
			return schema
		}
		for keyword := range schema.Members() {
			if keyword != "$ref" && !harmless(keyword) {
				return schema
			}
		}
		schema = root.Get(place, name)
	}
	return nil
}

// objectSchema checks that a schema is of type object and holds only keywords
// that say nothing about an object without members.
func objectSchema(schema rawjson.Value) error {
	if schema.Kind() != rawjson.Object {
		return errors.New("there is no schema")
	}
	if kind, _ := schema.Get("type").Text(); kind != "object" {
		return errors.New(`type is not "object"`)
	}
	for keyword, value := range schema.Members() {
		switch keyword {
		case "type", "additionalProperties", "required":
		case "properties":
			if value.Kind() != rawjson.Object {
				return errors.New("properties is not an object")
			}
		default:
			if !harmless(keyword) {
				return fmt.Errorf("the keyword %q may refuse it", clip(keyword))
			}
		}
	}
	return nil
}

// requiresOnly checks that required lists nothing but these names.
func requiresOnly(schema rawjson.Value, names ...string) error {
	required := schema.Get("required")
	if !required.Exists() {
		return nil
	}
	list, ok := texts(required)
	if !ok {
		return errors.New("required is not an array of strings")
	}
	for _, name := range list {
		if !slices.Contains(names, name) {
			return fmt.Errorf("it requires %q", clip(name))
		}
	}
	return nil
}

// stringSchema checks that a schema accepts any string that names a file or is
// an address.
func stringSchema(schema rawjson.Value) error {
	if schema.Kind() != rawjson.Object {
		return errors.New("there is no schema")
	}
	if kind, _ := schema.Get("type").Text(); kind != "string" {
		return errors.New(`type is not "string"`)
	}
	for keyword, value := range schema.Members() {
		switch {
		case keyword == "type", keyword == "format", harmless(keyword):
		case keyword == "minLength" && (string(value) == "0" || string(value) == "1"):
		default:
			return fmt.Errorf("the keyword %q may refuse it", clip(keyword))
		}
	}
	return nil
}

// harmless reports whether a keyword is an annotation: it describes and never
// refuses. (JSON Schema 2020-12, validation §9, core §8.)
func harmless(keyword string) bool {
	switch keyword {
	case "$schema", "$id", "$comment", "$defs", "definitions",
		"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly":
		return true
	}
	return strings.HasPrefix(keyword, "x-")
}
