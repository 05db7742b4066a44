package openai

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// quickAction is a checked quick action with the JSON it becomes.
//
// The member stands in both official SDKs and in the sample plugin, but in no
// revision of the specification text.
type quickAction struct {
	tool string
	json rawjson.Value
}

func compileQuickAction(q QuickAction, limits Limits) (*quickAction, error) {
	if !visibleText(q.Title, maxTitle) {
		return nil, fmt.Errorf("the title must be visible text of at most %d characters", maxTitle)
	}
	if len(q.Icons) == 0 {
		return nil, errors.New("at least one icon is needed: add one with an https or data:image address")
	}
	icons, err := compileIcons(q.Icons)
	if err != nil {
		return nil, err
	}
	if err := checkToolName(q.Tool); err != nil {
		return nil, err
	}
	target := must(rawjson.Value(`{"type":"tool"}`).Set(rawjson.Quote(q.Tool), "name"))
	if len(q.Arguments) > 0 {
		arguments, err := limits.Metadata(q.Arguments)
		if err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		if arguments.Kind() != rawjson.Object {
			return nil, errors.New("arguments must be an object: write {\"name\": value}")
		}
		target = must(target.Set(arguments, "arguments"))
	}
	action := must(rawjson.Value("{}").Set(rawjson.Quote(q.Title), "title"))
	action = must(action.Set(icons, "icons"))
	action = must(action.Set(target, "target"))
	return &quickAction{q.Tool, action}, nil
}

// checkQuickAction checks a quick action as the official SDKs do: a closed
// object.
func checkQuickAction(action rawjson.Value) error {
	if err := closed(action, "title", "icons", "target"); err != nil {
		return fmt.Errorf("quickAction: %w", err)
	}
	if title, _ := action.Get("title").Text(); !visibleText(title, maxTitle) {
		return errors.New("quickAction.title must be visible text")
	}
	icons := action.Get("icons")
	if icons.Kind() != rawjson.Array || icons.Len() == 0 {
		return errors.New("quickAction.icons needs at least one icon")
	}
	if err := checkIcons(icons, maxIcons); err != nil {
		return fmt.Errorf("quickAction: %w", err)
	}
	target := action.Get("target")
	if err := closed(target, "type", "name", "arguments"); err != nil {
		return fmt.Errorf("quickAction.target: %w", err)
	}
	if kind, _ := target.Get("type").Text(); kind != "tool" {
		return errors.New(`quickAction.target.type must be "tool"`)
	}
	if name, _ := target.Get("name").Text(); !visibleText(name, maxToolName) {
		return errors.New("quickAction.target.name must name a tool")
	}
	if arguments := target.Get("arguments"); arguments.Exists() && arguments.Kind() != rawjson.Object {
		return errors.New("quickAction.target.arguments must be an object")
	}
	return nil
}

// reviewQuickAction takes the quick action out of an entrypoint if its target
// is hidden from the caller: the button could not work, and its name would
// tell what is there.
func (p *Page) reviewQuickAction(e rawjson.Value, name string, found *findings) rawjson.Value {
	target, ok := e.Get("quickAction", "target", "name").Text()
	if !ok || p.options.Visible == nil || p.options.Visible(target) {
		return e
	}
	found.add("quickaction-hidden", name, "the quick action was left out, because its target is not in this caller's catalog",
		"nothing, if the caller is meant not to see the target; otherwise show it with a policy rule")
	return e.Delete("quickAction")
}
