package openai

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Check checks values against the schema. A full set has a value for every
// property; a partial one, as in an update, has any of them. Nothing is
// converted: "true" is no boolean and null is no value.
func (s *SettingsSchema) Check(values rawjson.Value, partial bool) error {
	if values.Kind() != rawjson.Object {
		return errors.New("the values must be an object")
	}
	given := 0
	for name, value := range values.Members() {
		field, known := s.fields[name]
		if !known {
			return fmt.Errorf("unknown setting %q", clip(name))
		}
		if err := field.check(value); err != nil {
			return fmt.Errorf("setting %q: %w", clip(name), err)
		}
		given++
	}
	if partial || given == len(s.fields) {
		return nil
	}
	for name := range s.fields {
		if !values.Get(name).Exists() {
			return fmt.Errorf("setting %q has no value", clip(name))
		}
	}
	return nil
}

// check checks one value.
func (f settingsField) check(v rawjson.Value) error {
	switch f.kind {
	case "boolean":
		if _, ok := v.Bool(); !ok {
			return errors.New("must be true or false")
		}
	case "string":
		text, ok := v.Text()
		if !ok {
			return errors.New("must be a string")
		}
		if f.enum != nil && !slices.Contains(f.enum, text) {
			return errors.New("must be one of the offered values")
		}
		return f.checkText(text)
	default:
		n, ok := parseNumber(v)
		switch {
		case !ok:
			return errors.New("must be a number that a double can hold")
		case f.kind == "integer" && !n.integral():
			return errors.New("must be an integer within ±(2⁵³−1)")
		case f.minimum != nil && n.float < f.minimum.float:
			return fmt.Errorf("must be at least %s", f.minimum.text)
		case f.maximum != nil && n.float > f.maximum.float:
			return fmt.Errorf("must be at most %s", f.maximum.text)
		case f.multipleOf != nil && !n.multipleOf(*f.multipleOf):
			return fmt.Errorf("must be a multiple of %s", f.multipleOf.text)
		}
	}
	return nil
}

// checkText checks length, in code points as JSON Schema counts it, and
// pattern.
func (f settingsField) checkText(text string) error {
	length := utf8.RuneCountInString(text)
	switch {
	case length < f.minLength:
		return fmt.Errorf("must have at least %d characters", f.minLength)
	case length > f.maxLength:
		return fmt.Errorf("must have at most %d characters", f.maxLength)
	case f.pattern != nil && !f.pattern.MatchString(text):
		return fmt.Errorf("must match the pattern %s", clip(f.pattern.String()))
	}
	return nil
}
