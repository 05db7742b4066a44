package openai

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// settingsPair is a checked settings declaration.
type settingsPair struct {
	Settings
	pinned *SettingsSchema // nil if any schema will do
}

func compileSettings(s *Settings, limits Limits) (*settingsPair, error) {
	if s == nil {
		return nil, nil
	}
	pair := &settingsPair{Settings: *s}
	var errs []error
	for _, name := range []string{s.ReadTool, s.UpdateTool} {
		if err := checkToolName(name); err != nil {
			errs = append(errs, fmt.Errorf("settings: %w", err))
		}
	}
	if s.ReadTool == s.UpdateTool {
		errs = append(errs, fmt.Errorf("settings: %q both reads and updates: write settings <read-tool> <update-tool> with two tools", s.ReadTool))
	}
	if len(s.Schema) > 0 {
		schema, err := limits.Metadata(s.Schema)
		if err == nil {
			pair.pinned, err = limits.settingsSchema(schema, true)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("settings: schema: %w: write the schema member of the read tool's answer", err))
		}
	}
	return pair, errors.Join(errs...)
}

// capability is the value to advertise.
func (s *settingsPair) capability() rawjson.Value {
	value := must(rawjson.Value("{}").Set(rawjson.Quote(s.ReadTool), "readTool"))
	return must(value.Set(rawjson.Quote(s.UpdateTool), "updateTool"))
}

// settingsFit tells why an advertisement of openai/settings must not reach a
// caller with this catalog. (Extensions, Structured Settings.)
func (o *Overlay) settingsFit(value rawjson.Value, catalog Catalog) error {
	readName, _ := value.Get("readTool").Text()
	updateName, _ := value.Get("updateTool").Text()
	if !visibleText(readName, maxToolName) || !visibleText(updateName, maxToolName) {
		return errors.New("readTool and updateTool must name two tools")
	}
	if readName == updateName {
		return errors.New("readTool and updateTool are the same tool")
	}
	read, err := o.tool(catalog, readName)
	if err != nil {
		return err
	}
	update, err := o.tool(catalog, updateName)
	if err != nil {
		return err
	}
	if err := fitsSettingsRead(read); err != nil {
		return fmt.Errorf("%s cannot read settings: %w", readName, err)
	}
	if err := fitsSettingsUpdate(update); err != nil {
		return fmt.Errorf("%s cannot update settings: %w", updateName, err)
	}
	return nil
}

// fitsSettingsRead checks the declaration of a settings read tool: it accepts
// {}, only reads, and declares what it answers.
func fitsSettingsRead(tool rawjson.Value) error {
	if err := acceptsEmpty(tool.Get("inputSchema")); err != nil {
		return fmt.Errorf("it does not provably accept {}: %w", err)
	}
	if readOnly, _ := tool.Get("annotations", "readOnlyHint").Bool(); !readOnly {
		return errors.New("it does not say readOnlyHint true")
	}
	output := tool.Get("outputSchema")
	if kind, _ := output.Get("type").Text(); kind != "object" {
		return errors.New("it has no outputSchema of type object")
	}
	if properties := output.Get("properties"); properties.Exists() {
		for _, name := range []string{"schema", "values"} {
			if !properties.Get(name).Exists() {
				return fmt.Errorf("its outputSchema does not declare %s", name)
			}
		}
	}
	return nil
}

// fitsSettingsUpdate checks the declaration of a settings update tool: it takes
// an object called set and needs nothing else.
func fitsSettingsUpdate(tool rawjson.Value) error {
	set, err := acceptsOnly(tool.Get("inputSchema"), "set")
	if err != nil {
		return fmt.Errorf("it does not provably accept {set}: %w", err)
	}
	if kind, _ := set.Get("type").Text(); kind != "object" {
		return errors.New("its argument set is not declared as an object")
	}
	if set.Get("required").Len() > 0 {
		return errors.New("its argument set requires members, but an update carries only what changed")
	}
	if readOnly, _ := tool.Get("annotations", "readOnlyHint").Bool(); readOnly {
		return errors.New("it says readOnlyHint true, but an update writes")
	}
	return nil
}
