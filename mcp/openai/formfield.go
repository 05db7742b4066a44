package openai

import (
	"errors"
	"fmt"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// formFormats are the formats of MCP's form strings.
var formFormats = []string{"email", "uri", "date", "date-time"}

// formField is one checked field of a form.
type formField struct {
	value    settingsField  // of the field, or of each item of a list
	resource *resourceInput // nil unless the user picks resources
	list     bool
	minItems int
	maxItems int
	unique   bool
}

// formField checks the schema of one field.
func (l Limits) formField(v rawjson.Value) (formField, error) {
	var f formField
	if v.Kind() != rawjson.Object {
		return f, errors.New("must be an object")
	}
	var err error
	switch kind, _ := v.Get("type").Text(); kind {
	case "array":
		err = f.readList(v, l)
	case "string":
		f.value, err = l.formText(v)
	default:
		f.value, err = l.settingsField(v, false)
	}
	if err != nil {
		return f, err
	}
	if input := v.Get("x-openai-input"); input.Exists() {
		if kind, _ := v.Get("type").Text(); kind != "string" && kind != "array" {
			return f, errors.New("x-openai-input belongs to a string or an array")
		}
		if f.resource, err = l.resourceInput(input, f.list); err != nil {
			return f, fmt.Errorf("x-openai-input: %w", err)
		}
	}
	if value := v.Get("default"); value.Exists() {
		if f.resource != nil {
			err = f.resource.checkDefault(value)
		}
		if err == nil {
			err = f.check(value)
		}
		if err != nil {
			return f, fmt.Errorf("default: %w", err)
		}
	}
	return f, nil
}

// readList reads a list field: strings, maybe from options.
func (f *formField) readList(v rawjson.Value, l Limits) error {
	f.list, f.maxItems = true, maxFormItems
	for keyword := range v.Members() {
		switch keyword {
		case "type", "items", "minItems", "maxItems", "uniqueItems":
		default:
			if !harmless(keyword) {
				return fmt.Errorf("%q cannot stand at type array", clip(keyword))
			}
		}
	}
	if err := checkFieldText(v); err != nil {
		return err
	}
	for keyword, count := range map[string]*int{"minItems": &f.minItems, "maxItems": &f.maxItems} {
		if bound := v.Get(keyword); bound.Exists() {
			n, ok := smallInt(bound)
			if !ok || n > maxFormItems {
				return fmt.Errorf("%s must be an integer from 0 to %d", keyword, maxFormItems)
			}
			*count = n
		}
	}
	if f.minItems > f.maxItems {
		return errors.New("minItems is above maxItems")
	}
	if unique := v.Get("uniqueItems"); unique.Exists() {
		var ok bool
		if f.unique, ok = unique.Bool(); !ok {
			return errors.New("uniqueItems must be true or false")
		}
	}
	items := v.Get("items")
	if kind, _ := items.Get("type").Text(); kind != "string" && !items.Get("anyOf").Exists() {
		return errors.New("the items of a list must be strings")
	}
	var err error
	if f.value, err = l.formText(items); err != nil {
		return fmt.Errorf("items: %w", err)
	}
	return nil
}

// formText reads a string: its bounds, and its options in any of their forms.
func (l Limits) formText(v rawjson.Value) (settingsField, error) {
	titled := v.Get("oneOf")
	if !titled.Exists() {
		titled = v.Get("anyOf")
	}
	base := v.Delete("format").Delete("oneOf").Delete("anyOf").Delete("enumNames")
	if !base.Get("type").Exists() && titled.Exists() {
		base = must(base.Set(rawjson.Value(`"string"`), "type"))
	}
	f, err := l.settingsField(base, false)
	if err != nil {
		return f, err
	}
	if format := v.Get("format"); format.Exists() {
		if text, _ := format.Text(); !slices.Contains(formFormats, text) {
			return f, fmt.Errorf("unsupported format %q", clip(text))
		}
	}
	if names := v.Get("enumNames"); names.Exists() {
		if list, ok := texts(names); !ok || len(list) != len(f.enum) {
			return f, errors.New("enumNames must have a name for each enum value")
		}
	}
	if titled.Exists() {
		if f.enum != nil {
			return f, errors.New("options stand either in enum or in oneOf")
		}
		if f.enum, err = l.formOptions(titled, f); err != nil {
			return f, err
		}
	}
	if suggestions := v.Get("x-openai-suggestions"); suggestions.Exists() {
		if _, err := l.formOptions(suggestions, f); err != nil {
			return f, fmt.Errorf("x-openai-suggestions: %w", err)
		}
	}
	return f, nil
}

// formOptions reads titled const options and answers their values.
// (Extensions, Option Descriptions and Thumbnails.)
func (l Limits) formOptions(list rawjson.Value, f settingsField) ([]string, error) {
	if n := list.Len(); list.Kind() != rawjson.Array || n == 0 || n > maxFormOptions {
		return nil, fmt.Errorf("options must be an array of 1 to %d", maxFormOptions)
	}
	var values []string
	for option := range list.Elements() {
		if err := closed(option, "const", "title", "description", "x-openai-thumbnail"); err != nil {
			return nil, fmt.Errorf("option: %w", err)
		}
		value, ok := option.Get("const").Text()
		if !ok || slices.Contains(values, value) {
			return nil, errors.New("option: const must be a string that no other option has")
		}
		if err := f.checkText(value); err != nil {
			return nil, fmt.Errorf("option %q: %w", clip(value), err)
		}
		if title, _ := option.Get("title").Text(); !visibleText(title, maxTitle) {
			return nil, fmt.Errorf("option %q: title must be visible text of at most %d characters", clip(value), maxTitle)
		}
		if err := checkFieldText(option); err != nil {
			return nil, fmt.Errorf("option %q: %w", clip(value), err)
		}
		if thumbnail := option.Get("x-openai-thumbnail"); thumbnail.Exists() {
			if err := checkThumbnail(thumbnail); err != nil {
				return nil, fmt.Errorf("option %q: thumbnail: %w", clip(value), err)
			}
		}
		values = append(values, value)
	}
	return values, nil
}

// checkFieldText checks title and description where they are there.
func checkFieldText(v rawjson.Value) error {
	for name, most := range map[string]int{"title": maxTitle, "description": maxDescription} {
		if member := v.Get(name); member.Exists() {
			if text, ok := member.Text(); !ok || len(text) > 4*most || len([]rune(text)) > most {
				return fmt.Errorf("%s must be text of at most %d characters", name, most)
			}
		}
	}
	return nil
}

// visibleMessage reports whether a form's message says something. It may have
// several lines.
func visibleMessage(s string) bool { return foldTitle(s) != "" && len(s) <= 4*4096 }

// check checks one answered value.
func (f formField) check(v rawjson.Value) error {
	if !f.list {
		return f.checkOne(v)
	}
	n := v.Len()
	if v.Kind() != rawjson.Array || n < f.minItems || n > f.maxItems {
		return fmt.Errorf("must be a list of %d to %d", f.minItems, f.maxItems)
	}
	seen := make(map[string]bool)
	for item := range v.Elements() {
		if err := f.checkOne(item); err != nil {
			return err
		}
		text, _ := item.Text()
		if f.unique && seen[text] {
			return errors.New("must not hold a value twice")
		}
		seen[text] = true
	}
	return nil
}

func (f formField) checkOne(v rawjson.Value) error {
	if err := f.value.check(v); err != nil {
		return err
	}
	if f.resource != nil {
		return f.resource.check(v)
	}
	return nil
}
