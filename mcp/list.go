package mcp

import (
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// maxPulledPages bounds how many pages are read on behalf of a client whose
// first page became empty.
const maxPulledPages = 20

// filterLists filters and decorates every list that a result holds, whatever
// was asked, and reports whether it held one.
func (w *Rewriter) filterLists(result rawjson.Value, m *resultValues) (filtered rawjson.Value, found bool, err error) {
	cursor := m[nextCursorMember]
	for list := toolsMember; list <= contentsMember; list++ {
		elements, member := m[list], resultMembers[list]
		if !elements.Exists() || elements.Kind() == rawjson.Null {
			continue
		}
		if elements.Kind() != rawjson.Array {
			return nil, false, fmt.Errorf("%w: result member %q is not an array", ErrUnfilterable, member)
		}
		found = true
		kept := w.mapList(list, elements)
		if kept.Empty() && !elements.Empty() && list != contentsMember {
			result, kept = w.pullOn(result, list)
			elements, cursor = result.Get(member), result.Get("nextCursor")
		}
		if result, err = replaceIfChanged(result, elements, kept, member); err != nil {
			return nil, false, err
		}
	}
	result, err = w.sealCursor(result, cursor)
	return result, found, err
}

func (w *Rewriter) mapList(list int, elements rawjson.Value) rawjson.Value {
	return elements.MapElements(func(e rawjson.Value) (rawjson.Value, bool) { return w.element(list, e) })
}

// pullOn reads further pages until one has something to show, and returns the
// result with the cursor of that page. If a page cannot be had, the client gets
// the empty page and its cursor, as the server would have paged.
func (w *Rewriter) pullOn(result rawjson.Value, list int) (rawjson.Value, rawjson.Value) {
	none := rawjson.ArrayOf()
	for range maxPulledPages {
		cursor, more := result.Get("nextCursor").Text()
		if !more || w.Next == nil {
			return result, none
		}
		next, err := w.Next(cursor)
		if err != nil {
			return result, none
		}
		m, variant := openResult(next)
		if variant != "" || m[list].Kind() != rawjson.Array {
			return result, none
		}
		result = result.Delete("nextCursor")
		if following := m[nextCursorMember]; following.Exists() {
			// Both are objects that were parsed, so that this cannot fail.
			result, _ = result.Set(following, "nextCursor")
		}
		if kept := w.mapList(list, m[list]); !kept.Empty() {
			return result, kept
		}
	}
	return result, none
}

// sealCursor hides what is in a cursor: some servers put the name of the last
// element there, which may be a hidden one.
func (w *Rewriter) sealCursor(result, cursor rawjson.Value) (rawjson.Value, error) {
	text, ok := cursor.Text()
	if !ok || w.Seal == nil {
		return result, nil
	}
	return replaceIfChanged(result, cursor, rawjson.Quote(w.Seal(text)), "nextCursor")
}

// element returns what the caller may get of one element of a list, and false
// for what is hidden.
func (w *Rewriter) element(list int, e rawjson.Value) (rawjson.Value, bool) {
	shown := func(member string, shows func(string) bool) bool {
		name, ok := elementName(e, member)
		return ok && shows(name)
	}
	switch list {
	case toolsMember:
		if !shown("name", w.Shower.ShowsTool) {
			return nil, false
		}
		return w.Decorate.Tool(e), true
	case promptsMember:
		return e, shown("name", w.Shower.ShowsPrompt)
	case resourcesMember:
		if !shown("uri", w.Shower.ShowsResource) {
			return nil, false
		}
		return w.Decorate.Entry(e), true
	case resourceTemplatesMember:
		return e, shown("uriTemplate", w.Shower.ShowsTemplate)
	default: // contents
		if e.Kind() == rawjson.Object {
			e = w.Decorate.Content(e)
		}
		return e, true
	}
}

// hasMemberLike reports whether an object has a member of this name, whatever
// its case and its value.
func hasMemberLike(object rawjson.Value, member string) bool {
	names, found := [1]string{member}, [1]rawjson.Value{}
	return object.Pick(names[:], found[:]) != "" || found[0].Exists()
}

// elementName returns the name under which a list element is judged. Elements
// that a client could read in two ways have none and are left out.
func elementName(e rawjson.Value, member string) (string, bool) {
	names, found := [1]string{member}, [1]rawjson.Value{}
	if variant := e.Pick(names[:], found[:]); variant != "" {
		return "", false
	}
	return found[0].Text()
}
