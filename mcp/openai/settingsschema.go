package openai

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Bounds of a settings schema that no configuration changes.
const (
	maxFieldName   = 128
	maxDescription = 2048
	maxEnum        = 64
	maxPattern     = 1024
)

// SettingsSchema is a checked settings schema, ready to check values. It is
// immutable and safe for concurrent use.
type SettingsSchema struct {
	raw        rawjson.Value
	fields     map[string]settingsField
	defaults   bool  // some field has a default, which the official SDKs refuse
	unportable error // why some pattern is not read alike everywhere
}

// settingsField is one setting: a primitive with its bounds.
type settingsField struct {
	kind                         string // boolean, string, number or integer
	enum                         []string
	minLength, maxLength         int
	pattern                      *regexp.Regexp
	minimum, maximum, multipleOf *number
}

// SettingsSchema checks the schema member of a settings read result: an object
// of titled primitives, each with the bounds of its type and nothing else.
// Annotations, $schema and additionalProperties are tolerated, because the
// official helpers write them. A pattern must be one that RE2 can match, which
// leaves out look-around and back-references.
// (Extensions, Structured Settings, SettingSchema.)
func (o *Overlay) SettingsSchema(schema rawjson.Value) (*SettingsSchema, error) {
	return o.limits.settingsSchema(schema, true)
}

// UpdateSchema makes a schema from what a settings update tool declares for its
// argument set, for updates that come before the first read. It answers nil
// where the declaration is not a list of primitives; then only the form of an
// update can be checked.
func (o *Overlay) UpdateSchema(tool rawjson.Value) *SettingsSchema {
	input := tool.Get("inputSchema")
	set := dereference(input, input.Get("properties", "set"))
	set = set.Delete("minProperties").Delete("maxProperties")
	if !set.Exists() || set.Get("properties").Len() == 0 {
		return nil
	}
	schema, err := o.limits.settingsSchema(set, false)
	if err != nil {
		return nil
	}
	return schema
}

// Equal reports whether two schemas mean the same; the order of object members
// does not matter.
func (s *SettingsSchema) Equal(other *SettingsSchema) bool { return equal(s.raw, other.raw) }

func (l Limits) settingsSchema(schema rawjson.Value, titled bool) (*SettingsSchema, error) {
	if schema.Kind() != rawjson.Object {
		return nil, errors.New("the settings schema must be an object")
	}
	if err := l.checkMetadata(schema); err != nil {
		return nil, fmt.Errorf("settings schema: %w", err)
	}
	for keyword, value := range schema.Members() {
		switch keyword {
		case "type", "properties", "required":
		case "additionalProperties":
			if _, ok := value.Bool(); !ok {
				return nil, errors.New("settings schema: additionalProperties must be true or false")
			}
		case "$schema":
			if dialect, _ := value.Text(); !knownDialect(dialect) {
				return nil, fmt.Errorf("settings schema: unknown dialect %q", clip(dialect))
			}
		default:
			if !isAnnotation(keyword, value) {
				return nil, fmt.Errorf("settings schema: unsupported keyword %q", clip(keyword))
			}
		}
	}
	if kind, _ := schema.Get("type").Text(); kind != "object" {
		return nil, errors.New(`settings schema: type must be "object"`)
	}
	properties := schema.Get("properties")
	if properties.Kind() != rawjson.Object {
		return nil, errors.New("settings schema: properties must be an object")
	}
	s := &SettingsSchema{raw: schema, fields: make(map[string]settingsField)}
	for name, property := range properties.Members() {
		if len(s.fields) == l.SettingsFields {
			return nil, fmt.Errorf("%w: a settings schema has at most %d properties", ErrTooLarge, l.SettingsFields)
		}
		if !visibleText(name, maxFieldName) {
			return nil, fmt.Errorf("settings schema: property name %q must be visible text of at most %d characters", clip(name), maxFieldName)
		}
		field, err := l.settingsField(property, titled)
		if err != nil {
			return nil, fmt.Errorf("setting %q: %w", clip(name), err)
		}
		s.fields[name] = field
		s.defaults = s.defaults || property.Get("default").Exists()
		if field.pattern != nil && s.unportable == nil {
			s.unportable = portablePattern(field.pattern.String())
		}
	}
	if required := schema.Get("required"); required.Exists() {
		names, ok := texts(required)
		if !ok {
			return nil, errors.New("settings schema: required must be an array of names")
		}
		for i, name := range names {
			if _, known := s.fields[name]; !known || slices.Contains(names[:i], name) {
				return nil, fmt.Errorf("settings schema: required names %q, which is unknown or there twice", clip(name))
			}
		}
	}
	return s, nil
}

// settingsField checks one property.
func (l Limits) settingsField(v rawjson.Value, titled bool) (settingsField, error) {
	f := settingsField{maxLength: l.SettingsString}
	if v.Kind() != rawjson.Object {
		return f, errors.New("must be an object")
	}
	f.kind, _ = v.Get("type").Text()
	var own []string
	switch f.kind {
	case "boolean":
	case "string":
		own = []string{"enum", "minLength", "maxLength", "pattern"}
	case "number", "integer":
		own = []string{"minimum", "maximum", "multipleOf"}
	default:
		return f, errors.New("type must be boolean, string, number or integer")
	}
	for keyword, value := range v.Members() {
		if keyword != "type" && !slices.Contains(own, keyword) && !isAnnotation(keyword, value) {
			return f, fmt.Errorf("%q cannot stand at type %s", clip(keyword), f.kind)
		}
	}
	if title := v.Get("title"); titled || title.Exists() {
		if text, _ := title.Text(); !visibleText(text, maxTitle) {
			return f, fmt.Errorf("title must be visible text of at most %d characters", maxTitle)
		}
	}
	if description := v.Get("description"); description.Exists() {
		if text, ok := description.Text(); !ok || utf8.RuneCountInString(text) > maxDescription {
			return f, fmt.Errorf("description must be text of at most %d characters", maxDescription)
		}
	}
	switch f.kind {
	case "string":
		return f, f.readText(v, l)
	case "number", "integer":
		return f, f.readNumeric(v)
	}
	return f, nil
}

// isAnnotation reports whether a keyword only describes, and its value is of
// the type that JSON Schema gives it. Definitions are none: nothing may refer
// to them here.
func isAnnotation(keyword string, value rawjson.Value) bool {
	switch keyword {
	case "$comment", "title", "description":
		return value.Kind() == rawjson.String
	case "deprecated", "readOnly", "writeOnly":
		_, ok := value.Bool()
		return ok
	case "examples":
		return value.Kind() == rawjson.Array
	case "default":
		return true
	}
	return strings.HasPrefix(keyword, "x-")
}

// knownDialect reports whether $schema names a draft of JSON Schema. All of
// them read the keywords of a settings schema alike.
func knownDialect(dialect string) bool {
	_, draft, ok := strings.Cut(strings.TrimSuffix(dialect, "#"), "://json-schema.org/")
	return ok && slices.Contains([]string{"draft-04/schema", "draft-06/schema", "draft-07/schema", "draft/2019-09/schema", "draft/2020-12/schema"}, draft)
}

// readText reads the bounds of a string.
func (f *settingsField) readText(v rawjson.Value, l Limits) error {
	for keyword, length := range map[string]*int{"minLength": &f.minLength, "maxLength": &f.maxLength} {
		if bound := v.Get(keyword); bound.Exists() {
			n, ok := smallInt(bound)
			if !ok || n > l.SettingsString {
				return fmt.Errorf("%s must be an integer from 0 to %d", keyword, l.SettingsString)
			}
			*length = n
		}
	}
	if f.minLength > f.maxLength {
		return errors.New("minLength is above maxLength")
	}
	if p := v.Get("pattern"); p.Exists() {
		text, ok := p.Text()
		if !ok || len(text) > maxPattern {
			return fmt.Errorf("pattern must be text of at most %d bytes", maxPattern)
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return fmt.Errorf("pattern cannot be checked in linear time (RE2): %w", err)
		}
		f.pattern = re
	}
	if e := v.Get("enum"); e.Exists() {
		values, ok := texts(e)
		if !ok || len(values) == 0 || len(values) > maxEnum {
			return fmt.Errorf("enum must be an array of 1 to %d strings", maxEnum)
		}
		for i, value := range values {
			if slices.Contains(values[:i], value) {
				return fmt.Errorf("enum has %q twice", clip(value))
			}
			if err := f.checkText(value); err != nil {
				return fmt.Errorf("enum value %q: %w", clip(value), err)
			}
		}
		f.enum = values
	}
	return nil
}

// readNumeric reads the bounds of a number.
func (f *settingsField) readNumeric(v rawjson.Value) error {
	for keyword, target := range map[string]**number{"minimum": &f.minimum, "maximum": &f.maximum, "multipleOf": &f.multipleOf} {
		if bound := v.Get(keyword); bound.Exists() {
			n, ok := parseNumber(bound)
			if !ok {
				return fmt.Errorf("%s must be a number that a double can hold", keyword)
			}
			*target = &n
		}
	}
	if f.multipleOf != nil && f.multipleOf.float <= 0 {
		return errors.New("multipleOf must be above 0")
	}
	low, high := math.Inf(-1), math.Inf(1)
	if f.minimum != nil {
		low = f.minimum.float
	}
	if f.maximum != nil {
		high = f.maximum.float
	}
	if f.kind == "integer" {
		low, high = math.Ceil(low), math.Floor(high)
	}
	if low > high {
		return errors.New("no value lies between minimum and maximum")
	}
	return nil
}
