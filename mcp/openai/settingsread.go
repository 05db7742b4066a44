package openai

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// SettingsContext is what a settings result is judged by.
type SettingsContext struct {
	// Catalog holds the caller's tools. nil means that they could not be had:
	// no tool item stays in the layout.
	Catalog Catalog

	// Modern tells that the caller speaks protocol 2026-07-28 or newer.
	Modern bool

	// Schema is what an update is checked against: the schema this caller last
	// read, or [Overlay.UpdateSchema] of the tool. nil checks the form alone.
	Schema *SettingsSchema
}

// SettingsRead checks the structured content of a settings read and answers it
// as this caller may see it, with the schema to remember for the caller's next
// update. Anything wrong fails the whole: a settings page that is half right
// would offer what cannot be saved. (Extensions, Read Settings Tool.)
func (o *Overlay) SettingsRead(structured rawjson.Value, c SettingsContext) (rawjson.Value, *SettingsSchema, []Finding, error) {
	if err := closed(structured, "schema", "values", "layout"); err != nil {
		return nil, nil, nil, fmt.Errorf("settings result: %w", err)
	}
	schema, err := o.SettingsSchema(structured.Get("schema"))
	if err != nil {
		return nil, nil, nil, err
	}
	if o.settings != nil && o.settings.pinned != nil && !o.settings.pinned.Equal(schema) {
		return nil, nil, nil, errors.New("the settings schema is not the one that was pinned in the configuration")
	}
	if err := schema.Check(structured.Get("values"), false); err != nil {
		return nil, nil, nil, err
	}
	var found findings
	if schema.defaults {
		found.add("settings-default", keySettings, "a setting has the keyword default, which the official SDKs refuse", "give the default in values instead")
	}
	if schema.unportable != nil {
		found.add("settings-pattern", keySettings, "not every host reads a pattern of the settings alike: "+schema.unportable.Error(), "use what RE2, Python and ECMAScript share")
	}
	layout := structured.Get("layout")
	if !layout.Exists() {
		return structured, schema, found, nil
	}
	if err := o.checkLayout(layout, schema, c.Modern); err != nil {
		return nil, nil, nil, err
	}
	kept, err := fragment(o.filterLayout(layout, c.Catalog, &found)).inside(structured, "layout")
	return kept, schema, found, err
}

// SettingsReadResult applies [Overlay.SettingsRead] to a whole tools/call
// result. Failures of the server pass, with a neutral text if configured. The
// content beside the structure is written anew where the structure changed, so
// that it cannot name what was filtered out.
func (o *Overlay) SettingsReadResult(result rawjson.Value, c SettingsContext) (rawjson.Value, *SettingsSchema, []Finding, error) {
	if out, done := o.passed(result); done {
		return out, nil, nil, nil
	}
	structured := result.Get("structuredContent")
	checked, schema, found, err := o.SettingsRead(structured, c)
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := o.replaceStructure(result, checked)
	return out, schema, found, err
}

// SettingsUpdate checks the arguments of a settings update before the server
// sees them: only set, in it at least one setting, each with an absolute value.
// (Extensions, Update Settings, SettingsUpdateArguments.)
func (o *Overlay) SettingsUpdate(arguments rawjson.Value, c SettingsContext) error {
	if err := closed(arguments, "set"); err != nil {
		return fmt.Errorf("settings update: %w", err)
	}
	set := arguments.Get("set")
	switch n := set.Len(); {
	case set.Kind() != rawjson.Object || n == 0:
		return errors.New("settings update: set must be an object with at least one setting")
	case n > o.limits.SettingsFields:
		return fmt.Errorf("%w: a settings update has at most %d settings", ErrTooLarge, o.limits.SettingsFields)
	}
	if schema := o.schemaFor(c); schema != nil {
		return schema.Check(set, true)
	}
	anyText := settingsField{kind: "string", maxLength: o.limits.SettingsString}
	for name, value := range set.Members() {
		kind := settingsField{kind: "boolean"}
		switch value.Kind() {
		case rawjson.String:
			kind = anyText
		case rawjson.Number:
			kind = settingsField{kind: "number"}
		}
		if err := kind.check(value); err != nil {
			return fmt.Errorf("setting %q: %w", clip(name), errors.New("must be a string, a number, true or false, of bounded size"))
		}
	}
	return nil
}

// SettingsUpdateResult checks the result of a settings update. By then the
// server has saved: a result that is wrong is reported, not refused, and the
// call is never repeated.
func (o *Overlay) SettingsUpdateResult(result rawjson.Value, c SettingsContext) (rawjson.Value, []Finding) {
	if out, done := o.passed(result); done {
		return out, nil
	}
	structured := result.Get("structuredContent")
	err := closed(structured, "values")
	if schema := o.schemaFor(c); err == nil && schema != nil {
		err = schema.Check(structured.Get("values"), false)
	}
	if err == nil {
		var out rawjson.Value
		if out, err = o.replaceStructure(result, structured); err == nil {
			return out, nil
		}
	}
	return result, []Finding{{
		"settings-update-result", keySettings, "the update was carried out, but its result is not what hosts expect: " + err.Error(),
		"answer {values} with the value of every setting",
	}}
}

// schemaFor is the schema that values are checked against, nil if none is
// known.
func (o *Overlay) schemaFor(c SettingsContext) *SettingsSchema {
	if c.Schema == nil && o.settings != nil {
		return o.settings.pinned
	}
	return c.Schema
}
