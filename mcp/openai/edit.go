package openai

import (
	"iter"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// fragment is a value on its way into a message.
type fragment rawjson.Value

// inside sets the fragment at path, unless what stands there means the same:
// then v comes back as it is, bytes and all.
func (f fragment) inside(v rawjson.Value, path ...string) (rawjson.Value, error) {
	if equal(v.Get(path...), rawjson.Value(f)) {
		return v, nil
	}
	return v.Set(rawjson.Value(f), path...)
}

// setText sets a string at path under the same rule.
func setText(v rawjson.Value, text string, path ...string) (rawjson.Value, error) {
	return fragment(rawjson.Quote(text)).inside(v, path...)
}

// textArray makes an array of strings.
func textArray(list []string) rawjson.Value {
	quoted := make([]rawjson.Value, len(list))
	for i, text := range list {
		quoted[i] = rawjson.Quote(text)
	}
	return rawjson.ArrayOf(quoted...)
}

// joinElements yields the elements of list and then more.
func joinElements(list rawjson.Value, more ...rawjson.Value) iter.Seq[rawjson.Value] {
	return func(yield func(rawjson.Value) bool) {
		for element := range list.Elements() {
			if !yield(element) {
				return
			}
		}
		for _, element := range more {
			if !yield(element) {
				return
			}
		}
	}
}

// same reports whether two values are the same bytes in memory, which is how an
// edit says that it changed nothing.
func same(a, b rawjson.Value) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// must is for edits of values that are known to be objects.
func must(v rawjson.Value, err error) rawjson.Value {
	if err != nil {
		panic(err)
	}
	return v
}

// edits applies several edits and keeps the first error.
type edits struct {
	v   rawjson.Value
	err error
}

func (e *edits) set(value rawjson.Value, path ...string) {
	if e.err == nil {
		e.v, e.err = fragment(value).inside(e.v, path...)
	}
}

// mirror copies a member to its other spelling: the first wins where both are
// there, and either serves where one is missing.
func (e *edits) mirror(first, second []string) {
	if value := e.v.Get(first...); value.Exists() {
		e.set(value, second...)
	} else if value := e.v.Get(second...); value.Exists() {
		e.set(value, first...)
	}
}

func boolean(b bool) rawjson.Value {
	if b {
		return rawjson.Value("true")
	}
	return rawjson.Value("false")
}
