package openai

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// maxStatus bounds the status texts of a running tool, in characters.
// (Apps SDK reference, tool descriptor, toolInvocation.)
const maxStatus = 64

func compileTools(list []Tool) error {
	var errs []error
	for i, t := range list {
		fail := func(err error) {
			if err != nil {
				errs = append(errs, fmt.Errorf("tool %s: %w", t.Name, err))
			}
		}
		exact := !strings.Contains(t.Name, "*")
		if !visibleText(t.Name, maxToolName) {
			fail(fmt.Errorf("write a name or pattern of at most %d characters", maxToolName))
		}
		if slices.ContainsFunc(list[:i], func(other Tool) bool { return other.Name == t.Name && other.overlaps(t) }) {
			fail(errors.New("the same is declared twice: keep one"))
		}
		fail(t.checkHints())
		if t.Title != "" && !exact {
			fail(errors.New("a title belongs to one tool: write its exact name"))
		}
		if t.Title != "" && !visibleText(t.Title, maxTitle) {
			fail(fmt.Errorf("the title must be visible text of at most %d characters", maxTitle))
		}
		if t.Description != "" && strings.TrimSpace(t.Description) == "" {
			fail(errors.New("the description is blank: leave it out, or write one"))
		}
		for _, status := range []string{t.Invoking, t.Invoked} {
			if status != "" && !visibleText(status, maxStatus) {
				fail(fmt.Errorf("a status text must be visible text of at most %d characters", maxStatus))
			}
		}
		if t.Visibility != nil {
			fail(checkVisibility(t.Visibility))
		}
	}
	return errors.Join(errs...)
}

// overlaps reports whether two declarations of one name set the same member.
func (t Tool) overlaps(other Tool) bool {
	return t.hasHints() && other.hasHints() || t.Description != "" && other.Description != "" ||
		t.Title != "" && other.Title != "" || t.Invoking != "" && other.Invoking != "" ||
		t.Invoked != "" && other.Invoked != "" || t.Visibility != nil && other.Visibility != nil
}

func checkVisibility(names []string) error {
	for i, name := range names {
		if name != "model" && name != "app" || slices.Contains(names[:i], name) {
			return errors.New("visibility must list model, app or both, each once")
		}
	}
	if len(names) == 0 {
		return errors.New("visibility must list model, app or both: an empty list hides the tool from everybody")
	}
	return nil
}

// toolFor collects what the most specific declarations say about a tool, member
// by member. Hints are looked up apart, as a whole.
func (o *Overlay) toolFor(name string) Tool {
	pick := func(has func(Tool) bool) Tool {
		t, _ := mostSpecific(o.tools, name, func(t Tool) (pattern, bool) { return pattern(t.Name), has(t) })
		return t
	}
	described := pick(func(t Tool) bool { return t.Description != "" })
	return Tool{
		Name:        described.Name, // tells whether the description is for this tool alone
		Description: described.Description,
		Title:       pick(func(t Tool) bool { return t.Title != "" }).Title,
		Invoking:    pick(func(t Tool) bool { return t.Invoking != "" }).Invoking,
		Invoked:     pick(func(t Tool) bool { return t.Invoked != "" }).Invoked,
		Visibility:  pick(func(t Tool) bool { return t.Visibility != nil }).Visibility,
	}
}

// declareTool writes title, description, status texts and visibility.
func (o *Overlay) declareTool(tool rawjson.Value, name string, found *findings) rawjson.Value {
	if len(o.tools) == 0 {
		return tool
	}
	t := o.toolFor(name)
	e := edits{tool, nil}
	if t.Title != "" {
		e.set(rawjson.Quote(t.Title), "title")
	}
	if own, _ := tool.Get("description").Text(); t.Description != "" && (t.Name == name || own == "") {
		e.set(rawjson.Quote(t.Description), "description")
	}
	if t.Invoking != "" {
		e.set(rawjson.Quote(t.Invoking), "_meta", "openai/toolInvocation/invoking")
	}
	if t.Invoked != "" {
		e.set(rawjson.Quote(t.Invoked), "_meta", "openai/toolInvocation/invoked")
	}
	if t.Visibility != nil {
		e.set(textArray(t.Visibility), "_meta", "ui", "visibility")
		o.mirrorVisibility(&e)
	}
	if e.err != nil {
		found.add("tool-bad-meta", name, "the server's _meta is not built of objects, so nothing can be added to it", "correct the server")
		return tool
	}
	return e.v
}

// mirrorTool writes the older spellings of what the tool says in the standard
// ones, and the standard resource link where only the older one is there. A
// host drops a widget whose two links differ. (Apps SDK reference, tool descriptor.)
func (o *Overlay) mirrorTool(tool rawjson.Value) rawjson.Value {
	if !o.mirror {
		return tool
	}
	e := edits{tool, nil}
	if uri, ok := uiResource(tool); ok {
		e.set(rawjson.Quote(uri), "_meta", "ui", "resourceUri")
		e.set(rawjson.Quote(uri), "_meta", "openai/outputTemplate")
	}
	o.mirrorVisibility(&e)
	if e.err != nil {
		return tool
	}
	return e.v
}

// mirrorVisibility derives the two older switches from ui.visibility.
func (o *Overlay) mirrorVisibility(e *edits) {
	names, ok := texts(e.v.Get("_meta", "ui", "visibility"))
	if !ok {
		return
	}
	older := "private"
	if slices.Contains(names, "model") {
		older = "public"
	}
	e.set(boolean(slices.Contains(names, "app")), "_meta", "openai/widgetAccessible")
	e.set(rawjson.Quote(older), "_meta", "openai/visibility")
}

// reviewTool reports what hosts ignore or punish in the OpenAI members of a
// tool.
func (o *Overlay) reviewTool(tool rawjson.Value, name string, found *findings) {
	meta := tool.Get("_meta")
	if meta.Len() == 0 {
		return
	}
	if err := o.limits.checkMetadata(meta.Get(keyUI)); err != nil {
		found.add("metadata-limit", name, `_meta["openai/ui"]: `+err.Error(), "make it smaller")
	}
	standard, older := meta.Get("ui", "resourceUri"), meta.Get("openai/outputTemplate")
	if standard.Exists() && older.Exists() && !equal(standard, older) {
		found.add("ui-resource-mismatch", name, "ui.resourceUri and openai/outputTemplate differ, and ChatGPT then shows nothing", "make them the same, or switch mirror on")
	}
	if visibility := meta.Get("ui", "visibility"); visibility.Exists() {
		names, ok := texts(visibility)
		if err := checkVisibility(names); !ok || err != nil {
			found.add("visibility-invalid", name, "_meta.ui.visibility is not a list of model and app", "list model, app or both")
		}
	}
	for _, key := range []string{"openai/toolInvocation/invoking", "openai/toolInvocation/invoked"} {
		if status := meta.Get(key); status.Exists() {
			if text, _ := status.Text(); !visibleText(text, maxStatus) {
				found.add("status-text", name, fmt.Sprintf("%s must be text of at most %d characters, and has %d", key, maxStatus, utf8.RuneCountInString(text)), "shorten it")
			}
		}
	}
	if meta.Get("ui", "csp").Exists() || meta.Get("openai/widgetCSP").Exists() {
		found.add("csp-on-tool", name, "a content security policy stands on the tool, where hosts do not look", "put it on the content item of the UI resource")
	}
	if parameters := meta.Get("openai/fileParams"); parameters.Exists() {
		if err := checkFileParams(parameters, tool.Get("inputSchema")); err != nil {
			found.add("file-params", name, "openai/fileParams: "+err.Error(), "name top-level properties that are objects with download_url and file_id")
		}
	}
}

// checkFileParams checks that every file parameter is a declared object.
func checkFileParams(parameters, schema rawjson.Value) error {
	names, ok := texts(parameters)
	if !ok {
		return errors.New("must be an array of names")
	}
	for _, name := range names {
		property := schema.Get("properties", name)
		if kind, _ := property.Get("type").Text(); kind != "object" {
			return fmt.Errorf("%q is no top-level property of type object", clip(name))
		}
		for _, required := range []string{"download_url", "file_id"} {
			if properties := property.Get("properties"); properties.Exists() && !properties.Get(required).Exists() {
				return fmt.Errorf("%q does not declare %s", clip(name), required)
			}
		}
	}
	return nil
}
