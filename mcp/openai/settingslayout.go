package openai

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// checkLayout checks the layout of a settings read result: groups of property
// and tool items, closed objects, each property at most once over all groups.
// (Extensions, Structured Settings, SettingsGroup.)
func (o *Overlay) checkLayout(layout rawjson.Value, schema *SettingsSchema, modern bool) error {
	if layout.Kind() != rawjson.Array {
		return errors.New("layout must be an array of groups")
	}
	if n := layout.Len(); n > o.limits.LayoutGroups {
		return fmt.Errorf("%w: a layout has at most %d groups, not %d", ErrTooLarge, o.limits.LayoutGroups, n)
	}
	placed := make(map[string]bool)
	for group := range layout.Elements() {
		if err := closed(group, "kind", "title", "items"); err != nil {
			return fmt.Errorf("layout group: %w", err)
		}
		if kind, _ := group.Get("kind").Text(); kind != "group" {
			return errors.New(`layout group: kind must be "group"`)
		}
		title, _ := group.Get("title").Text()
		if !visibleText(title, maxTitle) {
			return fmt.Errorf("layout group: title must be visible text of at most %d characters", maxTitle)
		}
		items := group.Get("items")
		if items.Kind() != rawjson.Array || items.Len() > o.limits.LayoutItems {
			return fmt.Errorf("layout group %q: items must be an array of at most %d", clip(title), o.limits.LayoutItems)
		}
		for item := range items.Elements() {
			if err := o.checkLayoutItem(item, schema, placed, modern); err != nil {
				return fmt.Errorf("layout group %q: %w", clip(title), err)
			}
		}
	}
	return nil
}

func (o *Overlay) checkLayoutItem(item rawjson.Value, schema *SettingsSchema, placed map[string]bool, modern bool) error {
	switch kind, _ := item.Get("kind").Text(); kind {
	case "property":
		if err := closed(item, "kind", "property"); err != nil {
			return fmt.Errorf("property item: %w", err)
		}
		name, _ := item.Get("property").Text()
		if _, known := schema.fields[name]; !known {
			return fmt.Errorf("property item: there is no setting %q", clip(name))
		}
		if placed[name] {
			return fmt.Errorf("property item: the setting %q is there twice", clip(name))
		}
		placed[name] = true
	case "tool":
		if err := closed(item, "kind", "tool", "title", "description"); err != nil {
			return fmt.Errorf("tool item: %w", err)
		}
		if name, _ := item.Get("tool").Text(); !visibleText(name, maxToolName) {
			return fmt.Errorf("tool item: tool must name a tool in at most %d characters", maxToolName)
		}
		title := item.Get("title")
		text, isText := title.Text()
		switch {
		case !modern && o.revision.has(layoutToolTitle) && !visibleText(text, maxTitle):
			return fmt.Errorf("tool item: title must be visible text of at most %d characters", maxTitle)
		case title.Exists() && (!isText || utf8.RuneCountInString(text) > maxTitle):
			return fmt.Errorf("tool item: title must be text of at most %d characters", maxTitle)
		}
		if description := item.Get("description"); description.Exists() {
			if text, ok := description.Text(); !ok || utf8.RuneCountInString(text) > maxDescription {
				return fmt.Errorf("tool item: description must be text of at most %d characters", maxDescription)
			}
		}
	default:
		return errors.New(`an item must be of kind "property" or "tool"`)
	}
	return nil
}

// filterLayout drops the tool items that this caller cannot use, and the groups
// that become empty by it. A nil catalog drops them all.
func (o *Overlay) filterLayout(layout rawjson.Value, catalog Catalog, found *findings) rawjson.Value {
	return layout.MapElements(func(group rawjson.Value) (rawjson.Value, bool) {
		items := group.Get("items")
		kept := items.MapElements(func(item rawjson.Value) (rawjson.Value, bool) {
			name, ok := item.Get("tool").Text()
			return item, !ok || o.usableInLayout(name, catalog, found)
		})
		if kept.Len() == items.Len() {
			return group, true
		}
		return must(group.Set(kept, "items")), kept.Len() > 0
	})
}

func (o *Overlay) usableInLayout(name string, catalog Catalog, found *findings) bool {
	if catalog == nil {
		found.add("settings-layout-tool-hidden", name, "left out of the settings page: the caller's tools could not be listed", "see why the server does not answer tools/list")
		return false
	}
	tool, err := o.tool(catalog, name)
	if err != nil {
		found.add("settings-layout-tool-hidden", name, "left out of the settings page: the caller does not have this tool", "nothing, if that is meant; otherwise show the tool with a policy rule")
		return false
	}
	if err := acceptsEmpty(tool.Get("inputSchema")); err != nil {
		found.add("settings-layout-needs-arguments", name, "left out of the settings page: it does not provably accept {}: "+err.Error(), "make every argument of the tool optional")
		return false
	}
	return true
}
