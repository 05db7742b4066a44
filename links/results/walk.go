package results

import (
	"slices"
	"strconv"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

const (
	// maxFindings is enough to see what is wrong with a server; the links beyond
	// it are dropped all the same.
	maxFindings = 32

	// maxPointer bounds a pointer, whose steps are a server's member names, in
	// bytes.
	maxPointer = 256
)

// walk goes through one result.
type walk struct {
	Checker
	findings []Finding
	faulty   []rawjson.Value // strings of structured content, in their order
}

// content goes through the blocks that a result shows.
func (w *walk) content(result rawjson.Value) rawjson.Value {
	i := -1
	blocks := result.Get("content")
	kept := blocks.MapElements(func(block rawjson.Value) (rawjson.Value, bool) {
		i++

		if kind, _ := block.Get("type").Text(); kind != "resource_link" {
			return block, true
		}

		uri, _ := block.Get("uri").Text()

		return block, w.works(uri, "/content/"+strconv.Itoa(i)+"/uri") || !w.Drop
	})

	if slices.Equal(kept, blocks) {
		return result
	}

	// The member is there, so that setting it cannot fail.
	result, _ = result.Set(kept, "content")

	return result
}

// structured goes through structured content. All faulty strings are emptied in
// one pass: a copy of the result for each would be too much for a long list.
func (w *walk) structured(result rawjson.Value) rawjson.Value {
	w.value(result.Get("structuredContent"), "/structuredContent")

	if !w.Drop || len(w.faulty) == 0 {
		return result
	}

	out := make(rawjson.Value, 0, len(result))
	at := 0

	for _, text := range w.faulty {
		// Both are windows on the same array, up to whose end their capacity
		// reaches.
		start := cap(result) - cap(text)
		out = append(out, result[at:start]...)
		out = append(out, `""`...)
		at = start + len(text)
	}

	return append(out, result[at:]...)
}

func (w *walk) value(v rawjson.Value, pointer string) {
	switch v.Kind() {
	case rawjson.String:
		if text, _ := v.Text(); !w.works(text, pointer) {
			w.faulty = append(w.faulty, v)
		}
	case rawjson.Array:
		i := 0
		for element := range v.Elements() {
			w.value(element, pointer+"/"+strconv.Itoa(i))
			i++
		}
	case rawjson.Object:
		for name, member := range v.Members() {
			w.value(member, pointer+"/"+escapePointer(name))
		}
	}
}

// works reports whether a string is no faulty link, and notes it otherwise.
func (w *walk) works(text, pointer string) bool {
	own, err := w.Link(text)
	if !own || err == nil {
		return true
	}

	if len(w.findings) < maxFindings {
		if len(pointer) > maxPointer {
			pointer = strings.ToValidUTF8(pointer[:maxPointer], "") + "…"
		}

		w.findings = append(w.findings, Finding{pointer, err})
	}

	return false
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
