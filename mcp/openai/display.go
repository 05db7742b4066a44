package openai

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// displayModes are the modes ChatGPT has; picture-in-picture is none of them.
var displayModes = []string{"inline", "fullscreen"}

// displayRule is one checked display declaration.
type displayRule struct {
	uri       pattern
	available []string
	prefer    string
}

// CheckDisplay checks the two display members as they stand in
// _meta["openai/ui"] of a content item: a closed object, modes inline and
// fullscreen without repetition, the preference among the list if there is
// one. (Extensions, Display Modes.)
func CheckDisplay(ui rawjson.Value) error {
	if err := closed(ui, "availableDisplayModes", "preferredDisplayMode"); err != nil {
		return err
	}
	return checkDisplayMembers(ui)
}

func checkDisplayMembers(ui rawjson.Value) error {
	available, preferred := ui.Get("availableDisplayModes"), ui.Get("preferredDisplayMode")
	var modes []string
	if available.Exists() {
		var ok bool
		if modes, ok = texts(available); !ok || len(modes) == 0 {
			return errors.New("availableDisplayModes must be a list of inline, fullscreen or both")
		}
		for i, mode := range modes {
			if !slices.Contains(displayModes, mode) {
				return fmt.Errorf("unknown display mode %q: ChatGPT has inline and fullscreen", clip(mode))
			}
			if slices.Contains(modes[:i], mode) {
				return fmt.Errorf("display mode %s is there twice", mode)
			}
		}
	}
	if preferred.Exists() {
		mode, _ := preferred.Text()
		if !slices.Contains(displayModes, mode) {
			return fmt.Errorf("unknown preferred display mode %q: ChatGPT has inline and fullscreen", clip(mode))
		}
		if modes != nil && !slices.Contains(modes, mode) {
			return fmt.Errorf("the preferred display mode %s is not among the available ones", mode)
		}
	}
	return nil
}

// compileDisplay checks the display declarations.
func compileDisplay(list []Display) ([]displayRule, error) {
	var rules []displayRule
	var errs []error
	seen := make(map[string]bool)
	for _, d := range list {
		if err := checkUIPattern(d.URI); err != nil {
			errs = append(errs, fmt.Errorf("display: %w", err))
		}
		if seen[d.URI] {
			errs = append(errs, fmt.Errorf("display %s: declared twice: keep one line", d.URI))
		}
		seen[d.URI] = true
		rule := displayRule{pattern(d.URI), d.Available, d.Prefer}
		switch {
		case len(d.Available) == 0 && d.Prefer == "":
			errs = append(errs, fmt.Errorf("display %s: says nothing: add inline, fullscreen, or prefer one of them", d.URI))
		default:
			if err := checkDisplayMembers(must(rule.apply(rawjson.Value("{}")))); err != nil {
				errs = append(errs, fmt.Errorf("display %s: %w: write inline, fullscreen or both, and prefer one of those", d.URI, err))
			}
		}
		rules = append(rules, rule)
	}
	return rules, errors.Join(errs...)
}

// checkUIPattern checks the address pattern of a resource declaration.
func checkUIPattern(uri string) error {
	if rest, ok := strings.CutPrefix(uri, "ui://"); !ok || rest == "" || !printable(uri) || strings.ContainsAny(uri, " \\") {
		return fmt.Errorf("the address %q must begin with ui://: write it as resources/list gives it, with * for any part", uri)
	}
	return nil
}

// declareDisplay sets the configured display members of a content item and
// keeps what else the server says there.
func (o *Overlay) declareDisplay(item rawjson.Value, uri string, found *findings) rawjson.Value {
	own := item.Get("_meta", keyUI)
	if own.Exists() {
		if err := checkDisplayMembers(own); err != nil {
			found.add("display-invalid", uri, "the server's own display modes are not those of ChatGPT: "+err.Error(), "use inline and fullscreen")
		}
	}
	rule, ok := mostSpecific(o.display, uri, func(r displayRule) (pattern, bool) { return r.uri, true })
	if !ok {
		return item
	}
	if len(rule.available) == 0 && o.revision.has(preferenceNarrows) && !own.Get("availableDisplayModes").Exists() {
		rule.available = displayModes // in this revision a lone preference would forbid the other mode
	}
	ui := own
	if !ui.Exists() {
		ui = rawjson.Value("{}")
	}
	ui, err := rule.apply(ui)
	out := item
	if err == nil {
		out, err = fragment(ui).inside(item, "_meta", keyUI)
	}
	if err != nil {
		found.add("display-bad-meta", uri, "the server's _meta is not built of objects, so nothing can be added to it", "correct the server")
		return item
	}
	if err := checkDisplayMembers(ui); err != nil {
		found.add("display-contradiction", uri, "display modes not declared: with the server's own they contradict: "+err.Error(),
			"declare the available modes and the preferred one together")
		return item
	}
	return out
}

// apply sets the configured members in an openai/ui object.
func (r displayRule) apply(ui rawjson.Value) (rawjson.Value, error) {
	var err error
	if len(r.available) > 0 {
		if ui, err = fragment(textArray(r.available)).inside(ui, "availableDisplayModes"); err != nil {
			return ui, err
		}
	}
	if r.prefer != "" {
		ui, err = setText(ui, r.prefer, "preferredDisplayMode")
	}
	return ui, err
}
