package rawjson

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is one JSON value as it stands in a text that [Parse] or [ParseLenient]
// has accepted, without white space around it. The nil Value stands for "not
// there". Methods never modify the bytes in place.
type Value []byte

// Kind is the first byte of a JSON value, with all numbers as '0': '{', '[',
// '"', '0', 't', 'f', 'n', or 0 for the absent value.
type Kind byte

// The kinds of a [Value].
const (
	Absent Kind = 0
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	True   Kind = 't'
	False  Kind = 'f'
	Null   Kind = 'n'
)

// Kind tells what v is.
func (v Value) Kind() Kind {
	if len(v) == 0 {
		return Absent
	}
	switch c := v[0]; c {
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return Number
	default:
		return Kind(c)
	}
}

// Exists reports whether v is there at all; null exists.
func (v Value) Exists() bool { return len(v) > 0 }

// Text returns the unescaped string, and false if v is not a string.
func (v Value) Text() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	// An unpaired surrogate makes AppendUnquote complain, yet it still gives
	// the text with U+FFFD in its place, which is what clients see as well.
	text, _ := jsontext.AppendUnquote(nil, []byte(v))
	return string(text), true
}

// TextIs reports whether v is the string s. Unlike [Value.Text] it costs no
// memory.
func (v Value) TextIs(s string) bool { return v.Kind() == String && nameIs(v, s) }

// Bool returns the value of a JSON boolean, and false, false for anything else.
func (v Value) Bool() (value, ok bool) {
	return v.Kind() == True, v.Kind() == True || v.Kind() == False
}

// Get walks down through objects and returns the member at the end of path, or
// nil if any step is missing or not an object. Names match byte for byte after
// unescaping.
func (v Value) Get(path ...string) Value {
	for _, name := range path {
		span, ok := v.find(name)
		if !ok {
			return nil
		}
		v = v[span.value:span.end]
	}
	return v
}

// Span returns the offsets of a member's value in v, and false if there is none.
func (v Value) Span(name string) (start, end int, ok bool) {
	m, ok := v.find(name)
	return m.value, m.end, ok
}

// Members yields the members of an object in their order, names unescaped;
// nothing for any other kind.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for m := range v.spans() {
			name, _ := v[m.start:m.nameEnd].Text()
			if !yield(name, v[m.value:m.end]) {
				return
			}
		}
	}
}

// Elements yields the elements of an array in their order; nothing for any
// other kind.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for start, end := range v.elementSpans() {
			if !yield(v[start:end]) {
				return
			}
		}
	}
}

// Len counts the members of an object or the elements of an array.
func (v Value) Len() int {
	n := 0
	for range v.spans() {
		n++
	}
	for range v.elementSpans() {
		n++
	}
	return n
}

// Empty reports whether v is an object or an array with nothing in it.
func (v Value) Empty() bool {
	if v.Kind() != Object && v.Kind() != Array {
		return false
	}
	return skipSpace(v, 1) == len(v)-1
}

// Is reports whether two values are the same bytes in memory, which says
// without a comparison that nothing was changed.
func (v Value) Is(other Value) bool {
	return len(v) == len(other) && (len(v) == 0 || &v[0] == &other[0])
}

// Quote returns s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func Quote(s string) Value {
	quoted, _ := jsontext.AppendQuote(nil, s)
	return quoted
}
