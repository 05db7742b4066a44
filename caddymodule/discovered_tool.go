package caddymodule

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// discoveredTool is one tool as a server declares it.
type discoveredTool struct{ rawjson.Value }

func (t discoveredTool) text(path ...string) string {
	text, _ := t.Get(path...).Text()
	return text
}

func (t discoveredTool) name() string { return t.text("name") }

// title is what hosts show.
func (t discoveredTool) title() string {
	return cmp.Or(t.text("title"), t.text("annotations", "title"))
}

// hints sums up the annotations: what is true, and, where all of them would be
// known, how many of those that a review asks for are missing.
func (t discoveredTool) hints(allKnown bool) string {
	var hints []string
	missing := 0
	for _, hint := range []struct {
		member, word string
		required     bool
	}{
		{"readOnlyHint", "read-only", true},
		{"destructiveHint", "destructive", true},
		{"openWorldHint", "open-world", true},
		{"idempotentHint", "idempotent", false},
	} {
		yes, ok := t.Get("annotations", hint.member).Bool()
		switch {
		case yes:
			hints = append(hints, hint.word)
		case !ok && hint.required:
			missing++
		}
	}
	if allKnown && missing > 0 {
		hints = append(hints, strconv.Itoa(missing)+" missing")
	}
	return cmp.Or(strings.Join(hints, ", "), "-")
}

// entrypoints are where ChatGPT offers the tool.
func (t discoveredTool) entrypoints() string {
	var list []string
	for entrypoint := range t.Get("_meta", "openai/ui", "entrypoints").Elements() {
		text, _ := entrypoint.Get("type").Text()
		for extension := range entrypoint.Get("extensions").Elements() {
			name, _ := extension.Text()
			text += " " + name
		}
		list = append(list, text)
	}
	return cmp.Or(strings.Join(list, ", "), "-")
}

// maxShownInputs bounds how many arguments the table names.
const maxShownInputs = 8

// input sums up the arguments: required ones are marked.
func (t discoveredTool) input() string {
	schema := t.Get("inputSchema")
	required := make(map[string]bool)
	for name := range schema.Get("required").Elements() {
		text, _ := name.Text()
		required[text] = true
	}
	var list []string
	for name, property := range schema.Get("properties").Members() {
		if len(list) == maxShownInputs {
			list = append(list, "…")
			break
		}
		if required[name] {
			name += "*"
		}
		list = append(list, strings.TrimSuffix(name+":"+typeOf(property), ":"))
	}
	return cmp.Or(strings.Join(list, " "), "-")
}

// typeOf is the type of a schema, if it says so plainly.
func typeOf(schema rawjson.Value) string {
	if text, ok := schema.Get("type").Text(); ok {
		return text
	}
	var types []string
	for one := range schema.Get("type").Elements() {
		text, _ := one.Text()
		types = append(types, text)
	}
	return strings.Join(types, "|")
}
