package rawjson

import (
	"bytes"
	"iter"
)

// The scanner below trusts its input: every Value comes from a text that was
// checked whole, so that brackets match and strings end.

// memberSpan holds the offsets of one member inside its object: the quoted name
// is [start:nameEnd], the value [value:end].
type memberSpan struct{ start, nameEnd, value, end int }

// spans yields the members of an object as offsets.
func (v Value) spans() iter.Seq[memberSpan] {
	return func(yield func(memberSpan) bool) {
		if v.Kind() != Object {
			return
		}
		for i := skipSpace(v, 1); v[i] != '}'; {
			m := memberSpan{start: i, nameEnd: skipString(v, i)}
			m.value = skipSpace(v, skipSpace(v, m.nameEnd)+1) // past the colon
			m.end = skipValue(v, m.value)
			if !yield(m) {
				return
			}
			if i = skipSpace(v, m.end); v[i] == ',' {
				i = skipSpace(v, i+1)
			}
		}
	}
}

// elementSpans yields the elements of an array as offsets.
func (v Value) elementSpans() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		if v.Kind() != Array {
			return
		}
		for i := skipSpace(v, 1); v[i] != ']'; {
			end := skipValue(v, i)
			if !yield(i, end) {
				return
			}
			if i = skipSpace(v, end); v[i] == ',' {
				i = skipSpace(v, i+1)
			}
		}
	}
}

// find returns the member called name.
func (v Value) find(name string) (memberSpan, bool) {
	for m := range v.spans() {
		if nameIs(v[m.start:m.nameEnd], name) {
			return m, true
		}
	}
	return memberSpan{}, false
}

// nameIs compares a quoted name with a plain one, without allocating for names
// that hold no escapes.
func nameIs(quoted Value, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if string(inner) == name {
		return true
	}
	if bytes.IndexByte(inner, '\\') < 0 {
		return false
	}
	text, _ := quoted.Text()
	return text == name
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func skipSpace(src []byte, i int) int {
	for isSpace(src[i]) {
		i++
	}
	return i
}

// skipString returns the offset behind the string that begins at i.
func skipString(src []byte, i int) int {
	// Most strings are short, and long ones have few quotes in them.
	for i++; ; i++ {
		i += bytes.IndexByte(src[i:], '"')
		escapes := 0
		for src[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the offset behind the value that begins at i.
func skipValue(src []byte, i int) int {
	switch src[i] {
	case '"':
		return skipString(src, i)
	case '{', '[':
		for depth := 0; ; {
			switch src[i] {
			case '"':
				i = skipString(src, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if i++; depth == 0 {
				return i
			}
		}
	default: // number, true, false, null: ends at white space, a delimiter or the text
		for i < len(src) && !isSpace(src[i]) && src[i] != ',' && src[i] != '}' && src[i] != ']' {
			i++
		}
		return i
	}
}
