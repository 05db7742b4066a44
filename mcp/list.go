package mcp

import (
	"fmt"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// maxPulledPages bounds how many pages are read on behalf of a client whose
// first page became empty.
const maxPulledPages = 20

// elementList is one list of a result and what happens to its elements.
type elementList struct {
	member  string
	element func(rawjson.Value) (rawjson.Value, bool)
}

// filterLists filters and decorates every list that a result holds, whatever
// was asked, and reports whether it held one.
func (w *Rewriter) filterLists(result rawjson.Value) (filtered rawjson.Value, found bool, err error) {
	for _, list := range w.lists() {
		elements := result.Get(list.member)
		if !elements.Exists() || elements.Kind() == rawjson.Null {
			continue
		}
		if elements.Kind() != rawjson.Array {
			return nil, false, fmt.Errorf("%w: result member %q is not an array", ErrUnfilterable, list.member)
		}
		found = true
		kept := elements.MapElements(list.element)
		if kept.Len() == 0 && elements.Len() > 0 && list.member != "contents" {
			result, kept = w.pullOn(result, list)
			elements = result.Get(list.member)
		}
		if result, err = replaceIfChanged(result, elements, kept, list.member); err != nil {
			return nil, false, err
		}
	}
	result, err = w.sealCursor(result)
	return result, found, err
}

// pullOn reads further pages until one has something to show, and returns the
// result with the cursor of that page. If a page cannot be had, the client gets
// the empty page and its cursor, as the server would have paged.
func (w *Rewriter) pullOn(result rawjson.Value, list elementList) (rawjson.Value, rawjson.Value) {
	none := rawjson.ArrayOf()
	for range maxPulledPages {
		cursor, more := result.Get("nextCursor").Text()
		if !more || w.Next == nil {
			return result, none
		}
		next, err := w.Next(cursor)
		if err != nil || next.Get(list.member).Kind() != rawjson.Array || caseVariant(next, resultMembers) != "" {
			return result, none
		}
		result = result.Delete("nextCursor")
		if following := next.Get("nextCursor"); following.Exists() {
			// Both are objects that were parsed, so that this cannot fail.
			result, _ = result.Set(following, "nextCursor")
		}
		if kept := next.Get(list.member).MapElements(list.element); kept.Len() > 0 {
			return result, kept
		}
	}
	return result, none
}

// sealCursor hides what is in a cursor: some servers put the name of the last
// element there, which may be a hidden one.
func (w *Rewriter) sealCursor(result rawjson.Value) (rawjson.Value, error) {
	cursor := result.Get("nextCursor")
	text, ok := cursor.Text()
	if !ok || w.Seal == nil {
		return result, nil
	}
	return replaceIfChanged(result, cursor, rawjson.Quote(w.Seal(PurposeCursor, text)), "nextCursor")
}

func (w *Rewriter) lists() []elementList {
	show := func(member string, shows func(string) bool) func(rawjson.Value) (rawjson.Value, bool) {
		return func(e rawjson.Value) (rawjson.Value, bool) {
			name, ok := elementName(e, member)
			return e, ok && shows(name)
		}
	}
	return []elementList{
		{"tools", func(e rawjson.Value) (rawjson.Value, bool) {
			name, ok := elementName(e, "name")
			if !ok || !w.Shower.ShowsTool(name) {
				return nil, false
			}
			return w.Decorate.Tool(e), true
		}},
		{"prompts", show("name", w.Shower.ShowsPrompt)},
		{"resources", func(e rawjson.Value) (rawjson.Value, bool) {
			uri, ok := elementName(e, "uri")
			if !ok || !w.Shower.ShowsResource(uri) {
				return nil, false
			}
			return w.Decorate.Entry(e), true
		}},
		{"resourceTemplates", show("uriTemplate", w.Shower.ShowsTemplate)},
		{"contents", func(e rawjson.Value) (rawjson.Value, bool) {
			if e.Kind() != rawjson.Object {
				return e, true
			}
			return w.Decorate.Content(e), true
		}},
	}
}

// elementName returns the name under which a list element is judged. Elements
// that a client could read in two ways have none and are left out.
func elementName(e rawjson.Value, member string) (string, bool) {
	if e.Kind() != rawjson.Object {
		return "", false
	}
	for name := range e.Members() {
		if name != member && strings.EqualFold(name, member) {
			return "", false
		}
	}
	return e.Get(member).Text()
}
